"""A table of token vectors: a text's vector by hand, what is refused, and who reads what."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.models.static_part import write_static, write_teacher

from dragoman.core.caches import clear_caches
from dragoman.core.errors import ConfigError, WeightsError
from dragoman.core.protocols import passage_vectors
from dragoman.models.onnx.encoder import OnnxEncoder
from dragoman.models.part import sha256
from dragoman.models.scripted import ScriptedEncoder
from dragoman.models.static_encoder import StaticEncoder
from dragoman.testing import EncoderConformance

ROWS = {"ferry": (3.0, 0.0), "nine": (0.0, 4.0), "the": (0.25, 0.25)}
MINILM = "all-minilm-l6-v2-int8"


def made(folder, **options):
    return StaticEncoder(part=str(folder), queries="table", **options)


def test_a_text_is_the_weighted_mean_of_its_words_at_unit_length(tmp_path):
    write_static(tmp_path, ROWS)
    one, two, three = made(tmp_path).encode(["ferry nine", "Ferry ferry nine", "the the"])
    assert one == pytest.approx([0.6, 0.8])  # (3, 4) / 5
    assert two == pytest.approx([6 / math.sqrt(52), 4 / math.sqrt(52)])
    assert three == pytest.approx([math.sqrt(0.5), math.sqrt(0.5)])


def test_marks_and_unknown_words_have_rows_like_any_other(tmp_path):
    write_static(tmp_path, ROWS | {"[UNK]": (0.0, 3.0), "[CLS]": (1.0, 0.0)})
    empty, unknown = made(tmp_path).encode(["", "zeppelin"])
    assert empty == pytest.approx([1.0, 0.0])
    assert unknown == pytest.approx([1 / math.sqrt(10), 3 / math.sqrt(10)])


def test_a_text_without_any_direction_has_the_first_axis(tmp_path):
    write_static(tmp_path, ROWS)
    assert made(tmp_path).encode(["", "zeppelin"]).tolist() == [[1.0, 0.0], [1.0, 0.0]]


def test_no_more_tokens_are_read_than_the_part_says(tmp_path):
    write_static(tmp_path, ROWS, max_tokens=4)  # two of them are marks
    assert made(tmp_path).encode(["ferry ferry nine nine nine"])[0] == pytest.approx([1.0, 0.0])


class TestStaticConforms(EncoderConformance):
    @pytest.fixture
    def encoder(self, tmp_path):
        words = "the ferry leaves at nine . boat departs long".split()
        chance = np.random.default_rng(0)
        write_static(tmp_path, {word: tuple(chance.normal(size=16)) for word in words} | {"[UNK]": (1.0,) * 16})
        return made(tmp_path)


class TestStaticWithATeacherConforms(EncoderConformance):
    @pytest.fixture
    def encoder(self, tmp_path, monkeypatch):
        words = "the ferry leaves at nine . boat departs long".split()
        chance = np.random.default_rng(0)
        digest = write_teacher(tmp_path / "teacher", words)
        rows = {word: tuple(chance.normal(size=256)) for word in words}
        write_static(tmp_path / "part", rows, teacher=str(tmp_path / "teacher"), digest=digest)
        monkeypatch.setattr("dragoman.models.static_encoder.OnnxEncoder", lambda **given: ScriptedEncoder())
        return StaticEncoder(part=str(tmp_path / "part"))


def test_making_one_reads_nothing_and_a_teacher_that_is_not_asked_is_refused():
    StaticEncoder(part="/nowhere/at/all")
    with pytest.raises(ConfigError, match="does not ask it"):
        StaticEncoder(part="x", queries="table", teacher=MINILM)


def test_another_kind_of_part_and_a_folder_without_one_are_refused(tmp_path):
    with pytest.raises(WeightsError, match="no trained part"):
        made(tmp_path).encode(["x"])
    with pytest.raises(WeightsError, match=r"not a encoder\.static"):
        made("english/gate").encode(["x"])


def test_a_table_of_another_width_than_the_part_says_is_refused(tmp_path):
    write_static(tmp_path, ROWS, dimensions=384)
    with pytest.raises(WeightsError, match=r"6 rows of 2 numbers.*384 numbers") as caught:
        made(tmp_path).encode(["x"])
    assert "dragoman models distil" in caught.value.remedy


def test_another_teacher_is_refused_by_its_hash_and_the_remedy_names_the_ways_out(tmp_path):
    write_teacher(tmp_path / "teacher", ["ferry"])
    write_static(tmp_path / "part", ROWS, teacher=str(tmp_path / "teacher"))
    encoder = StaticEncoder(part=str(tmp_path / "part"))
    assert passage_vectors(encoder, ["ferry nine"])[0] == pytest.approx([0.6, 0.8])  # the table needs no teacher
    with pytest.raises(WeightsError, match="is not the encoder") as caught:
        encoder.encode(["x"])
    assert 'queries = "table"' in caught.value.remedy


def test_a_teacher_that_is_gone_is_named(tmp_path):
    write_static(tmp_path, ROWS, teacher="gone")
    with pytest.raises(WeightsError, match="no encoder 'gone'") as caught:
        StaticEncoder(part=str(tmp_path)).encode(["x"])
    assert "`teacher`" in caught.value.remedy


def test_a_part_and_its_teacher_may_lie_beside_the_agent(tmp_path, monkeypatch):
    digest = write_teacher(tmp_path / "mine", ["ferry"])
    write_static(tmp_path / "quick", ROWS, teacher="mine", digest=digest)
    asked = {}
    monkeypatch.setattr(
        "dragoman.models.static_encoder.OnnxEncoder", lambda **given: asked.update(given) or ScriptedEncoder()
    )
    encoder = StaticEncoder(part="quick", folder=tmp_path)
    assert encoder.encode_passages(["ferry"]).shape == (1, 2)
    encoder.encode(["ferry"])
    assert asked["weights"] == str(tmp_path / "mine")  # the folder whose hash was compared, and no other


def test_who_reads_passages_as_everything_else_is_asked_for_nothing_more():
    encoder = ScriptedEncoder()
    assert np.array_equal(passage_vectors(encoder, ["a", "b"]), encoder.encode(["a", "b"]))


@pytest.mark.integration
def test_questions_go_to_the_teacher_whose_cache_forgetting_reaches(tmp_path, weights_home):
    digest = sha256(weights_home / "models" / MINILM / "model.onnx")
    row = tuple(np.random.default_rng(1).normal(size=384))
    write_static(tmp_path, {"ferry": row}, teacher=MINILM, digest=digest)
    encoder = StaticEncoder(part=str(tmp_path))
    (asked,) = encoder.encode(["ferry"])
    assert np.array_equal(asked, OnnxEncoder(cache=0).encode(["ferry"])[0])
    assert encoder.dimensions == len(asked) == 384
    assert abs(asked @ encoder.encode_passages(["ferry"])[0]) < 0.5
    assert len(encoder._taught._cache) == 1
    clear_caches()
    assert len(encoder._taught._cache) == 0
