from __future__ import annotations

import pytest

from dragoman.config import AgentConfig
from dragoman.core.model_names import VENDORS, model_table
from dragoman.models.remote.profiles import PROFILES


def test_every_profile_has_a_name():
    assert set(VENDORS) == set(PROFILES) - {"auto"}


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("ollama:qwen3:4b", {"kind": "model.remote.v1", "profile": "ollama", "model": "qwen3:4b"}),
        ("openai:gpt-4.1-mini", {"kind": "model.remote.v1", "profile": "openai", "model": "gpt-4.1-mini"}),
        (
            "vllm:Qwen/Qwen3-8B@http://gpu:8000/v1",
            {"kind": "model.remote.v1", "profile": "vllm", "model": "Qwen/Qwen3-8B", "url": "http://gpu:8000/v1"},
        ),
        ("mine@https://m.test/v1", {"kind": "model.remote.v1", "model": "mine", "url": "https://m.test/v1"}),
        ("http://m.test/v1", {"kind": "model.remote.v1", "model": "default", "url": "http://m.test/v1"}),
        ("smollm2-135m-instruct", {"kind": "model.llamacpp.v1", "weights": "smollm2-135m-instruct"}),
        ("~/m/mine.gguf", {"kind": "model.llamacpp.v1", "weights": "~/m/mine.gguf"}),
        ("https://m.test/f.gguf", {"kind": "model.llamacpp.v1", "weights": "https://m.test/f.gguf"}),
        ("hf:o/r/f.gguf", {"kind": "model.llamacpp.v1", "weights": "hf:o/r/f.gguf"}),
    ],
)
def test_one_line_names_a_model(name, table):
    assert model_table(name) == table


def test_a_config_takes_a_name_for_the_language_model():
    config = AgentConfig.model_validate({"name": "Robin", "models": {"language": "ollama:qwen3:4b"}})
    assert config.models.language == {"kind": "model.remote.v1", "profile": "ollama", "model": "qwen3:4b"}
