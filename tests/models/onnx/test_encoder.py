from __future__ import annotations

import hashlib

import numpy as np
import pytest

from dragoman.core.errors import ConfigError, WeightsError
from dragoman.models.onnx.encoder import OnnxEncoder
from dragoman.models.part import Part, write_part
from dragoman.testing import EncoderConformance


@pytest.fixture(scope="module")
def shared():
    return OnnxEncoder(cache=8)


@pytest.mark.integration
class TestOnnxConforms(EncoderConformance):
    @pytest.fixture
    def encoder(self, shared):
        return shared


def test_making_one_loads_nothing_and_bad_options_are_refused():
    OnnxEncoder(weights="/nowhere/at/all")
    with pytest.raises(ConfigError):
        OnnxEncoder(batch=0)


def test_a_folder_without_the_files_is_named(tmp_path):
    with pytest.raises(WeightsError, match=r"needs .*tokenizer\.json"):
        OnnxEncoder(weights=str(tmp_path)).encode(["x"])


@pytest.mark.integration
def test_a_pulled_encoder_is_found_by_its_name(weights_home, monkeypatch, tmp_path):
    whole = weights_home / "models" / "all-minilm-l6-v2-int8"
    folder = tmp_path / "parts" / "ana" / "encoder"
    folder.mkdir(parents=True)
    for name in ("model.onnx", "tokenizer.json"):
        (folder / name).write_bytes((whole / name).read_bytes())
    write_part(Part(folder, "retriever.bi", {}, {"max_tokens": 16}), ("model.onnx", "tokenizer.json"))
    monkeypatch.setenv("DRAGOMAN_HOME", str(tmp_path))
    by_name = OnnxEncoder(weights="ana/encoder").encode(["The ferry leaves at nine."])
    assert np.allclose(by_name, OnnxEncoder(weights=str(folder)).encode(["The ferry leaves at nine."]), atol=1e-6)


@pytest.mark.integration
def test_a_damaged_model_is_an_error(tmp_path, weights_home):
    whole = weights_home / "models" / "all-minilm-l6-v2-int8"
    (tmp_path / "tokenizer.json").write_bytes((whole / "tokenizer.json").read_bytes())
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(WeightsError, match="cannot be loaded"):
        OnnxEncoder(weights=str(tmp_path)).encode(["x"])


@pytest.mark.integration
def test_a_trained_part_says_how_many_tokens_are_read(tmp_path, weights_home, shared):
    whole = weights_home / "models" / "all-minilm-l6-v2-int8"
    for name in ("tokenizer.json", "model.onnx"):
        (tmp_path / name).symlink_to(whole / name)
    write_part(Part(tmp_path, "retriever.bi", {}, {"max_tokens": 16}), ("tokenizer.json", "model.onnx"))
    assert OnnxEncoder(weights=str(tmp_path)).max_tokens == 16
    assert shared.max_tokens == 256


@pytest.mark.integration
def test_nothing_gives_no_rows_of_384(shared):
    assert shared.encode([]).shape == (0, 384)


@pytest.mark.integration
def test_meaning_counts_more_than_words(shared):
    ferry, boat, bank = shared.encode(["When does the ferry leave?", "What time is the boat?", "The bank is closed."])
    assert ferry @ boat > ferry @ bank + 0.2


@pytest.mark.integration
def test_a_known_text_is_not_computed_again_until_it_is_forgotten(shared, monkeypatch):
    runs = []
    run = shared._run
    monkeypatch.setattr(shared, "_run", lambda texts: (runs.append(list(texts)), run(texts))[1])
    first = shared.encode(["the tide", "the tide", "the moon"])
    assert runs.pop() == ["the tide", "the moon"]
    assert np.array_equal(shared.encode(["the moon", "the tide"]), first[[2, 0]])
    assert runs.pop() == []
    shared.forget(["the tide"])
    shared.encode(["the tide", "the moon"])
    assert runs.pop() == ["the tide"]
    shared.clear_cache()
    shared.encode(["the moon"])
    assert runs.pop() == ["the moon"]


@pytest.mark.integration
def test_the_cache_is_bounded_and_holds_no_text(shared):
    shared.encode([f"text {n}" for n in range(20)])
    assert len(shared._cache) == 8
    assert hashlib.sha256(b"text 19").digest() in shared._cache


@pytest.mark.integration
def test_changing_a_vector_does_not_change_the_cache(shared):
    shared.encode(["the pier"])[:] = 0
    assert np.linalg.norm(shared.encode(["the pier"])) == pytest.approx(1, abs=1e-3)


@pytest.mark.integration
def test_rows_keep_the_order_of_the_texts(shared):
    texts = ["long " * n + "word" for n in (30, 1, 200, 5)]
    together = OnnxEncoder(cache=0, batch=2).encode(texts)
    for text, vector in zip(texts, together, strict=True):
        assert vector @ shared.encode([text])[0] > 0.99


@pytest.mark.integration
def test_a_vector_does_not_depend_on_what_is_read_beside_it():
    texts = ["the pier " * n + word for n in range(1, 12) for word in ("is closed", "was open", "ferry")]
    encoder = OnnxEncoder(cache=0)
    together, tokens = encoder.encode(texts), encoder.tokens(texts)
    for text, vector, states in zip(texts, together, tokens, strict=True):
        assert (vector == encoder.encode([text])[0]).all()
        assert (states == encoder.tokens([text])[0]).all()


@pytest.mark.integration
def test_odd_text_has_a_vector(shared):
    vectors = shared.encode(["\ud800", "\x00", "x" * 1_000_000])
    assert np.isfinite(vectors).all()
