"""Language models in one line: a name as it stands in `models.language` or after `--model`, as a component's table.

ollama:qwen3:4b                        a model of a vendor or server, at its usual address
vllm:Qwen/Qwen3-8B@http://gpu:8000/v1  the same at another address
my-model@http://localhost:9000/v1      any endpoint; its profile is found out
smollm2-135m-instruct                  weights by name
~/models/mine.gguf                     weights by path
hf:OWNER/REPO/FILE.gguf                weights fetched by `dragoman models pull`
"""

from __future__ import annotations

from typing import Any

VENDORS = (
    "openai-reasoning",
    "openai",
    "anthropic",
    "gemini",
    "ollama",
    "lmstudio",
    "llamacpp",
    "vllm",
    "openrouter",
    "plain",
)
"""Profiles of `model.remote.v1` that a name may begin with."""
_SCHEMES = ("http://", "https://")


def model_table(name: str) -> dict[str, Any]:
    """The table of the language model with this name."""
    vendor, colon, rest = name.partition(":")
    if not colon or vendor not in VENDORS:
        vendor, rest = "", name
    starts = [place for scheme in _SCHEMES if (place := rest.find(scheme)) >= 0]
    if not vendor and (not starts or rest.endswith(".gguf")):  # a file by its URL is weights too
        return {"kind": "model.llamacpp.v1", "weights": name}
    table: dict[str, Any] = {"kind": "model.remote.v1"}
    if vendor:
        table["profile"] = vendor
    if not starts:
        return table | {"model": rest}
    start = min(starts)
    return table | {"model": rest[:start].removesuffix("@") or "default", "url": rest[start:]}
