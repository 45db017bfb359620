"""A static encoder from a teacher: each step by hand, the whole on a teacher that can be learned."""

from __future__ import annotations

import random
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest
from tests.models.static_part import StubTeacher, write_teacher, write_tokenizer

from dragoman.core.errors import TrainingError
from dragoman.core.examples import Example
from dragoman.core.values import Context, Passage, Source
from dragoman.models.part import open_part
from dragoman.models.static_encoder import StaticEncoder, unit
from dragoman.train.agent_tables import uses
from dragoman.train.contract import Corpus, Job
from dragoman.train.distil import static_encoder as under_test
from dragoman.train.distil.static_encoder import (
    Bags,
    descent,
    distil,
    fitted,
    inverse_frequencies,
    mapped,
    neighbours,
    sampled,
)
from dragoman.train.learners.encoder_static import EncoderStatic
from dragoman.train.recipe import load_recipe
from dragoman.train.run import train

WORDS = [f"w{i}" for i in range(30)]


def texts(count, seed=0):
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=chance.randint(3, 9))) for _ in range(count)]


@pytest.fixture
def teacher(tmp_path, monkeypatch):
    monkeypatch.setattr(under_test, "OnnxEncoder", StubTeacher)
    monkeypatch.setattr(StubTeacher, "read", [])
    monkeypatch.setattr(StubTeacher, "vocabularies", [])
    monkeypatch.setattr(StubTeacher, "stops_after", None)
    write_teacher(tmp_path / "teacher", WORDS)
    return str(tmp_path / "teacher")


def test_frequent_tokens_weigh_less():
    # of 100 tokens, 99 are the first: a / (a + p) with a = 0.01
    weights = inverse_frequencies([[0] * 99, [1]], 3)
    assert weights == pytest.approx([0.01 / (0.01 + 0.99), 0.01 / (0.01 + 0.01), 1.0])


def test_means_are_weighted_and_spread_is_their_transpose():
    bags = Bags.of([[0, 1], [1, 1, 2]], np.array([1.0, 0.5, 2.0], dtype=np.float32))
    table = np.array([[3.0], [6.0], [0.0]], dtype=np.float32)
    # (1*3 + 0.5*6) / 1.5, and (2 * 0.5*6 + 2*0) / 3
    assert bags.means(table).ravel() == pytest.approx([4.0, 2.0])
    matrix = np.array([[1 / 1.5, 0.5 / 1.5, 0], [0, 1 / 3, 2 / 3]])
    rows = np.array([[1.0, 2.0], [5.0, -1.0]], dtype=np.float32)
    assert bags.spread(rows) == pytest.approx(matrix.T @ rows)


def test_one_step_of_the_descent_by_hand():
    # two passages of one token each, weights 1: X is the identity, s = 1, so that one step ends at missing / 2
    bags = Bags.of([[0], [1]], np.ones(2, dtype=np.float32))
    first = next(descent(bags, np.array([[4.0], [2.0]], dtype=np.float32), strength=1.0))
    assert first.ravel() == pytest.approx([2.0, 1.0])


def test_the_descent_ends_at_the_solution_of_the_normal_equations():
    chance = np.random.default_rng(3)
    passages = [chance.integers(0, 6, size=chance.integers(1, 5)).tolist() for _ in range(12)]
    weights = chance.uniform(0.2, 1.0, 7).astype(np.float32)  # the last token is in no passage
    bags = Bags.of(passages, weights)
    missing = chance.normal(size=(12, 3)).astype(np.float32)
    matrix = bags.means(np.eye(7, dtype=np.float32))
    wanted = np.linalg.solve(matrix.T @ matrix + 0.1 * np.eye(7), matrix.T @ missing)
    found = list(islice(descent(bags, missing, strength=0.1), 30))[-1]
    assert found == pytest.approx(wanted, abs=1e-4)
    assert found[6].tolist() == [0.0, 0.0, 0.0]


def test_the_map_by_hand():
    # c = (2*2 + 2*0) / (2*2 + 2*2) = 1/2; on the first axis 2 - c*2 = 1 is missing: (2*2 + r) d = 2*1, r = 1
    means = np.diag([2.0, 2.0, 0.0]).astype(np.float32)
    found = mapped(means, np.diag([2.0, 0.0, 0.0]).astype(np.float32))
    assert np.diag(found) == pytest.approx([0.5 + 2 / 5, 0.5 - 2 / 5, 0.5])  # nothing is known of the third: c
    assert found - np.diag(np.diag(found)) == pytest.approx(np.zeros((3, 3)))


def test_neighbours_counts_what_the_teacher_would_have_found():
    wanted, others = chance_vectors(60, seed=1), chance_vectors(60, seed=2)
    assert neighbours(wanted, wanted) == 1.0
    assert neighbours(others, wanted) < 0.3  # ten of 59 by chance


def test_neighbours_says_nothing_of_a_few_passages():
    wanted, others = chance_vectors(6, seed=1), chance_vectors(6, seed=2)
    assert neighbours(others, wanted) is None
    _, metrics = fitted(chance_vectors(9), [[i % 9] for i in range(60)], chance_vectors(60))  # six are held out
    assert "neighbours" not in metrics


def chance_vectors(count, seed=0):
    return unit(np.random.default_rng(seed).normal(size=(count, 8)).astype(np.float32))


def test_fitting_finds_a_map_and_offsets_that_no_map_has():
    chance = np.random.default_rng(2)
    alone = chance.normal(size=(40, 8)).astype(np.float32)
    passages = [chance.integers(0, 39, size=6).tolist() for _ in range(600)]
    true = alone @ chance.normal(size=(8, 8)) + chance.normal(size=(40, 8))
    wanted = np.array([true[ids].mean(axis=0) for ids in passages])
    wanted = (wanted / np.linalg.norm(wanted, axis=1, keepdims=True)).astype(np.float32)
    table, metrics = fitted(alone, passages, wanted)
    assert metrics["cosine/vocabulary"] < metrics["cosine/map"] < metrics["cosine"]
    assert metrics["cosine"] > 0.97
    assert np.abs(table[39]).sum() > 0  # a token of no passage is moved by the map


def test_few_passages_are_refused_and_the_same_one_counts_once(tmp_path):
    with pytest.raises(TrainingError, match="only 1 different"):
        distil(["the same"] * 100 + [" "], tmp_path / "out", teacher=_unread(tmp_path))


def _unread(folder):
    write_teacher(folder / "teacher", WORDS)
    return str(folder / "teacher")


def test_the_sample_depends_on_the_seed_alone():
    given = texts(200)
    assert sampled(given, most=60, seed=1) == sampled(given[::-1], most=60, seed=1)
    assert sampled(given, most=60, seed=1) != sampled(given, most=60, seed=2)


def test_what_is_distilled_is_read_back_and_near_the_teacher(tmp_path, teacher):
    out = tmp_path / "quick"
    part = distil(texts(800), out, teacher=teacher, files=[{"name": "a.jsonl", "sha256": "f" * 64}])
    assert open_part(out) == part
    assert sorted(path.name for path in out.iterdir()) == ["README.md", "part.json", "table.npy", "tokenizer.json"]
    assert len(StubTeacher.vocabularies) == len(WORDS) + 3
    unseen = texts(50, seed=9)
    near = StaticEncoder(part=str(out), queries="table").encode(unseen)
    likeness = (near * StubTeacher(weights=teacher).encode(unseen)).sum(axis=1)
    assert likeness.mean() > 0.97
    assert part.made["metrics"]["cosine"] == pytest.approx(likeness.mean(), abs=0.02)
    card = (out / "README.md").read_text()
    assert part.options["teacher_sha256"] in card
    assert part.made["data"]["sha256"] in card
    assert "a.jsonl" in card


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path, teacher, monkeypatch):
    monkeypatch.setattr(under_test, "_CHUNK", 100)
    monkeypatch.setattr(StubTeacher, "stops_after", 150)
    with pytest.raises(KeyboardInterrupt):
        distil(texts(300), tmp_path / "quick", teacher=teacher)
    first = list(StubTeacher.read)
    assert len(first) == 100
    monkeypatch.setattr(StubTeacher, "stops_after", None)
    distil(texts(300), tmp_path / "quick", teacher=teacher)
    assert len(StubTeacher.read) == len(set(StubTeacher.read))
    assert not (tmp_path / "quick" / "work").exists()


def test_what_a_stopped_run_left_damaged_is_made_anew(tmp_path, teacher, monkeypatch):
    whole = distil(texts(300), tmp_path / "whole", teacher=teacher)
    monkeypatch.setattr(under_test, "_CHUNK", 100)
    monkeypatch.setattr(StubTeacher, "stops_after", 450)
    with pytest.raises(KeyboardInterrupt):
        distil(texts(300), tmp_path / "quick", teacher=teacher)
    (chunk,) = (tmp_path / "quick" / "work").rglob("passages-*.npy")
    chunk.write_bytes(chunk.read_bytes()[:300])
    (first,) = (tmp_path / "quick" / "work").rglob("vocabulary-*.npy")
    np.save(first, np.ones((2, 8), dtype=np.float32))  # whole, and not as many
    monkeypatch.setattr(StubTeacher, "stops_after", None)
    assert distil(texts(300), tmp_path / "quick", teacher=teacher).files == whole.files


def test_as_many_tokens_are_read_as_the_teacher_reads(tmp_path, teacher, monkeypatch):
    before = distil(texts(100), tmp_path / "long", teacher=teacher)
    bags = []
    monkeypatch.setattr(StubTeacher, "max_tokens", 4)  # two of them are marks
    monkeypatch.setattr(under_test, "fitted", lambda *given, **more: bags.extend(given[1]) or fitted(*given, **more))
    part = distil(texts(100), tmp_path / "short", teacher=teacher)
    assert (before.options["max_tokens"], part.options["max_tokens"]) == (256, 4)
    one, two = StaticEncoder(part=str(part.folder), queries="table").encode(["w1 w2 w3 w4", "w1 w2"])
    assert np.array_equal(one, two)
    assert {len(ids) for ids in bags} == {4}


@pytest.mark.parametrize("change", ["tokens", "tokenizer"])
def test_what_another_reading_left_is_not_gone_on_with(tmp_path, teacher, monkeypatch, change):
    monkeypatch.setattr(under_test, "_CHUNK", 100)
    monkeypatch.setattr(StubTeacher, "stops_after", 150)
    with pytest.raises(KeyboardInterrupt):
        distil(texts(300), tmp_path / "quick", teacher=teacher)
    monkeypatch.setattr(StubTeacher, "stops_after", None)
    if change == "tokens":
        monkeypatch.setattr(StubTeacher, "max_tokens", 8)
    else:
        write_tokenizer(tmp_path / "teacher", WORDS[::-1])
    distil(texts(300), tmp_path / "quick", teacher=teacher)
    assert len(StubTeacher.read) == 400  # the first hundred twice


def test_the_same_run_gives_the_same_table(tmp_path, teacher):
    one, two = (distil(texts(200), tmp_path / name, teacher=teacher) for name in ("one", "two"))
    assert one.files == two.files


def test_the_learner_reads_what_the_table_will_read(tmp_path, teacher):
    sources = (Source("PERSONA", about="bot"), Source("MEMORY", about="user", private=True), Source("DOCUMENTS"))
    given = texts(180)
    rows = [Passage(str(i), sources[i % 3].name, text) for i, text in enumerate(given)]
    example = Example("1", Context.of("w1"), sources, tuple(rows[90:]))
    corpus = Corpus((SimpleNamespace(sources=sources),), (example,), tuple(rows[:90]))
    recipe = load_recipe("encoder-static", {"model.teacher": teacher})
    EncoderStatic().fit(Job(recipe, corpus, corpus, tmp_path / "quick"))
    assert sorted(StubTeacher.read) == sorted(set(given[2::3]))


def test_the_recipe_fits_one_to_the_passages_of_a_set_and_says_how_it_is_used(tmp_path, teacher):
    recipe = load_recipe("encoder-static", {"model.teacher": teacher, "input.passages": 60})
    command = "dragoman train encoder-static --out quick"
    part = train(recipe, {"train": ["toy"]}, tmp_path / "quick", device="cpu", command=command)
    assert (part.kind, part.made["data"]["passages"]) == ("encoder.static", 60)
    assert [file["name"] for file in part.made["data"]["files"]] == ["toy"]
    card = (tmp_path / "quick" / "README.md").read_text()
    assert card.startswith("# quick\n\nA static encoder")
    assert f"## Made by\n\n```sh\n{command}\n```" in card
    assert "- File: toy, SHA-256 `" in card
    assert ", licence Apache-2.0" in card
    (use,) = uses(part, "quick")
    assert use.tables == {"models.encoder": {"kind": "static", "part": "quick"}}
    assert use.state  # vectors of another encoder do not fit
