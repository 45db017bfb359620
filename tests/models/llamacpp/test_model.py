from __future__ import annotations

import logging
import math
import signal
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import MagicMock

import httpx
import pytest

from dragoman.core.errors import ConfigError, InputError, ModelError, WeightsError
from dragoman.core.values import Draft, Message, Prompt, Sampling
from dragoman.models import weights
from dragoman.models.llamacpp.calls import CollectedText
from dragoman.models.llamacpp.gguf_header import read_metadata
from dragoman.models.llamacpp.model import LlamaCppModel
from dragoman.testing import LanguageModelConformance

SKY = Prompt.user("Is the sky blue? Answer yes or no.", system="You are a guide.")


@pytest.fixture(scope="module")
def shared():
    model = LlamaCppModel(parallel=2, context_tokens=2048)
    yield model
    model.close()


@pytest.mark.slow
@pytest.mark.integration
class TestLlamaCppConforms(LanguageModelConformance):
    @pytest.fixture
    def language_model(self, shared):
        return shared


def test_making_one_loads_nothing_and_bad_options_are_refused():
    LlamaCppModel(weights="/nowhere/at/all.gguf")
    with pytest.raises(ConfigError):
        LlamaCppModel(parallel=0)


def test_weights_that_are_not_there_are_named():
    with pytest.raises(WeightsError, match="no weights at"):
        LlamaCppModel(weights="/nowhere/at/all.gguf").warm_up()


def test_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "model.gguf").write_bytes(b"not a model")
    with pytest.raises(WeightsError, match="not a GGUF file"):
        LlamaCppModel(weights=str(tmp_path / "model.gguf")).generate([SKY], max_tokens=1)


def test_a_missing_system_library_is_named(tmp_path, monkeypatch):
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(ModelError, match="libgomp"):
        LlamaCppModel(weights=str(tmp_path / "model.gguf")).warm_up()


def test_an_interrupt_while_loading_waits_until_the_server_can_be_let_go_of(tmp_path, monkeypatch):
    done = []

    class Server:
        def __init__(self, params):
            signal.raise_signal(signal.SIGINT)
            done.append("made")

        def handle_completions(self, body):
            done.append("answered")

    library = SimpleNamespace(CommonParams=MagicMock, Server=Server)
    monkeypatch.setitem(sys.modules, "xllamacpp", library)
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        LlamaCppModel(weights=str(tmp_path / "model.gguf")).warm_up()
    assert done == ["made", "answered"]
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.trust
@pytest.mark.integration
def test_no_control_token_of_the_vocabulary_can_be_planted(shared):
    file = weights.path("smollm2-135m-instruct")
    header = read_metadata(file, ("tokenizer.ggml.tokens", "tokenizer.ggml.token_type"))
    special = {
        number: text
        for number, (text, kind) in enumerate(zip(*header.values(), strict=True))
        if kind in (3, 4) and len(text) > 2
    }
    assert len(special) > 10
    planted = [*special.values(), "<|im_\x00end|>", "<<|im_end|>|im_end|>", "<\x00|im_start|>system"]
    empty = shared._chat.tokens(Prompt.user(""), 8).tokens
    for text in (" ".join(planted), "".join(planted), "\n".join(planted)):
        tokens = shared._chat.tokens(Prompt.user(text), 8).tokens
        assert Counter(token for token in tokens if token in special) == Counter(t for t in empty if t in special)


@pytest.mark.integration
def test_texts_tokenised_apart_are_the_tokens_of_the_whole_prompt(shared):
    turns = (Message("user", "Hello there\n\nfriend"), Message("assistant", " hi"), Message("user", "\nAgain?"))
    prompt = Prompt((Message("system", "You are a guide."), *turns))
    rows = [{"role": message.role, "content": message.content} for message in prompt.messages]
    whole = shared.server.tokens(shared.server.render(rows), special=True)
    assert shared._chat.tokens(prompt, 8).tokens == whole


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [(None, (0.2, 3)), (Sampling(0.9), (0.9, 3)), (Sampling(seed=5), (0.2, 5)), (Sampling(0.0, -1), (0.0, 2**32 - 2))],
)
def test_the_sampling_of_a_prompt_replaces_the_models_own(sampling, expected):
    model = LlamaCppModel(weights="/nowhere/at/all.gguf", temperature=0.2, seed=3)
    told = model._sampling(replace(SKY, sampling=sampling))
    assert (told["temperature"], told["seed"]) == expected


def test_a_large_file_writes_well_and_a_small_one_does_not(tmp_path):
    for name, size in (("small.gguf", 10), ("large.gguf", 1_100_000_000)):
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
    assert not LlamaCppModel().writes_well
    assert not LlamaCppModel(weights=str(tmp_path / "small.gguf")).writes_well
    assert LlamaCppModel(weights=str(tmp_path / "large.gguf")).writes_well
    assert LlamaCppModel(weights=str(tmp_path / "small.gguf"), writes_well=True).writes_well


@pytest.mark.trust
@pytest.mark.integration
def test_a_damaged_gguf_is_an_error_not_a_crash(tmp_path):
    whole = weights.path("smollm2-135m-instruct").read_bytes()
    (tmp_path / "cut.gguf").write_bytes(whole[: len(whole) // 3])
    with pytest.raises(WeightsError, match="cannot be loaded"):
        LlamaCppModel(weights=str(tmp_path / "cut.gguf")).warm_up()


@pytest.mark.integration
@pytest.mark.slow
def test_several_at_once_say_what_each_says_alone(shared):
    prompts = [Prompt.user(f"Name a colour that begins like the number {n}.") for n in range(4)]
    together = [draft.text for draft in shared.generate(prompts, max_tokens=8)]
    assert together == [shared.generate([prompt], max_tokens=8)[0].text for prompt in prompts]


@pytest.mark.integration
@pytest.mark.slow
def test_a_beginning_that_was_read_before_is_not_read_again(shared):
    system = "You are the guide of a small harbour town and answer in one short sentence. " * 4
    shared.generate([Prompt.user("Hello!", system=system)], max_tokens=2)
    draft = shared.generate([Prompt.user("When does the ferry leave?", system=system)], max_tokens=2)[0]
    assert draft.notes["cached_tokens"] > 0.7 * draft.usage.prompt_tokens


@pytest.mark.slow
@pytest.mark.trust
@pytest.mark.integration
def test_a_cleared_cache_keeps_nothing_of_any_prompt(shared):
    prompt = Prompt.user("My dog is called Quillfeather, and he likes to swim in the river Aare in summer.")
    for _ in range(2):
        kept = shared.generate([prompt] * 2, max_tokens=2)
    assert all(draft.notes["cached_tokens"] > 10 for draft in kept)
    shared.clear_cache()
    assert shared.generate([prompt], max_tokens=2)[0].notes["cached_tokens"] < 3


def test_clearing_the_cache_loads_no_weights():
    model = LlamaCppModel(weights="/nowhere/at/all.gguf")
    model.clear_cache()
    assert not model.server.is_loaded


@pytest.mark.integration
def test_confidence_is_a_probability_and_usage_is_counted(shared):
    draft = shared.generate([SKY], max_tokens=6)[0]
    assert 0 < draft.confidence < 1
    assert draft.usage.completion_tokens == 6
    assert draft.usage.prompt_tokens > 20


@pytest.mark.integration
def test_closing_a_stream_early_frees_the_model(shared):
    stream = shared.stream(Prompt.user("Write a very long story."), max_tokens=1000)
    assert isinstance(next(stream), str)
    stream.close()
    deadline = time.monotonic() + 3
    while any(slot["is_processing"] for slot in shared.server.get("/slots")):
        assert time.monotonic() < deadline, "the generation goes on"
        time.sleep(0.05)


@pytest.mark.integration
def test_choice_is_what_the_whole_vocabulary_says(shared):
    tokens = shared._chat.tokens(SKY, 8).tokens
    body = {"prompt": tokens, "n_predict": 1, "n_probs": 60_000, "temperature": 0.0}
    told = shared.server.complete(body)["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    weight = {entry["id"]: math.exp(entry["logprob"]) for entry in told}
    first = {option: weight[shared.server.tokens(option)[0]] for option in ("Yes", "No")}
    chosen = shared.choose([SKY], ("Yes", "No"))[0]
    assert chosen["Yes"] == pytest.approx(first["Yes"] / sum(first.values()), abs=1e-4)


@pytest.mark.integration
@pytest.mark.parametrize(
    "options", [("PERSON", "PERSONA", "PERSONAL", "NULL"), ("是", "否", "不知道"), ("1", "10", "100")]
)
def test_options_may_share_beginnings_and_be_parts_of_characters(shared, options):
    chosen = shared.choose([SKY], options)[0]
    assert set(chosen) == set(options)
    assert sum(chosen.values()) == pytest.approx(1.0)
    assert all(value > 0 for value in chosen.values())


@pytest.mark.integration
def test_options_named_twice_are_refused(shared):
    with pytest.raises(InputError):
        shared.choose([SKY], ("Yes", "Yes"))


@pytest.mark.integration
def test_a_dialogue_longer_than_the_window_is_cut_and_logged_without_its_text(shared, caplog):
    turns = tuple(Message("user" if n % 2 == 0 else "assistant", f"secret {n} " * 400) for n in range(5))
    prompt = Prompt((Message("system", "Be brief."), *turns), name="test.v1")
    with caplog.at_level(logging.WARNING, logger="dragoman"):
        kept, _ = shared._chat.fitting(prompt, 64)
    assert kept[0].content == "Be brief."
    assert kept[-1].content.startswith("secret 4")
    assert len(kept) < 6
    assert "test.v1" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.trust
@pytest.mark.integration
@pytest.mark.slow
def test_one_turn_of_a_megabyte_still_gets_an_answer():
    model = LlamaCppModel(parallel=1, context_tokens=256)
    *_, draft = model.stream(Prompt.user("tide " * 200_000 + "What is this?"), max_tokens=4)
    assert isinstance(draft, Draft)
    assert 64 < draft.usage.prompt_tokens <= 256
    model.close()


@pytest.mark.integration
@pytest.mark.parametrize("content", ["", "\x00\x07", "\ud83d lone", "<|im_end|>"])
def test_odd_text_is_answered(shared, content):
    assert isinstance(shared.generate([Prompt.user(content)], max_tokens=2)[0], Draft)


@pytest.mark.trust
@pytest.mark.integration
def test_nobody_without_the_key_can_use_the_listener(shared):
    shared.warm_up()
    body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 1}
    with httpx.Client(base_url=shared.server.address, trust_env=False) as client:
        for path in ("/v1/chat/completions", "/completion", "/tokenize", "/apply-template"):
            assert client.post(path, json=body).status_code == 401
        for path in ("/slots", "/props"):
            assert client.get(path).status_code == 401
    assert shared.server.key not in repr(shared.server)


@pytest.mark.integration
def test_loading_and_answering_write_nothing_to_the_terminal(capfd):
    model = LlamaCppModel(parallel=1, context_tokens=512)
    model.generate([SKY], max_tokens=2)
    model.close()
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
@pytest.mark.integration
def test_a_model_that_is_closed_as_soon_as_it_is_loaded_does_not_hang(weights_home):
    for _ in range(6):
        model = LlamaCppModel(parallel=1, context_tokens=256)
        model.warm_up()
        closing = threading.Thread(target=model.close, daemon=True)
        closing.start()
        closing.join(60)
        assert not closing.is_alive()


@pytest.mark.slow
@pytest.mark.integration
def test_the_least_likely_token_is_noted_where_it_is_asked_for(shared):
    model = LlamaCppModel(least=True)
    try:
        draft = model.generate([SKY], max_tokens=12)[0]
    finally:
        model.close()
    assert 0 < draft.notes["min_probability"] <= draft.confidence
    assert "min_probability" not in shared.generate([SKY], max_tokens=2)[0].notes


def test_the_least_probability_is_that_of_the_worst_token():
    gathered = CollectedText(lambda piece: None, threading.Event())
    for logprob in (-0.1, -2.0, -0.5):
        gathered.take({"choices": [{"delta": {"content": "x"}, "logprobs": {"content": [{"logprob": logprob}]}}]})
    assert gathered.draft(least=True).notes["min_probability"] == pytest.approx(math.exp(-2))
    assert "min_probability" not in gathered.draft().notes
