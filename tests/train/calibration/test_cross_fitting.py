"""Cross-fitting: dialogues held out whole, every turn scored once, folds that are done not repeated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import TrainingError
from dragoman.core.examples import Example, Gold
from dragoman.core.values import Context
from dragoman.train.calibration.cross_fitting import FILE, fold_of, held_out_scores
from dragoman.train.contract import Corpus, Job
from dragoman.train.spec import Recipe


def example(dialogue, number):
    return Example(f"{dialogue}-{number}", Context.of("hi", dialogue=dialogue), (), gold=Gold(retrieve=True))


def job(folder, *, folds=3, dialogues=6, **train):
    recipe = Recipe.model_validate({"kind": "gate.x", "calibrate": {"folds": folds}, "train": train})
    examples = tuple(example(f"d{i}", number) for i in range(dialogues) for number in range(2))
    return Job(recipe, Corpus((), examples), Corpus((), ()), folder)


class Fitting:
    """Remembers what it was trained on, and scores a turn by its place in the corpus."""

    def __init__(self, fail=()):
        self.seen = []
        self.fail = fail

    def __call__(self, job, folder, held):
        if folder.name in self.fail:
            raise KeyboardInterrupt
        self.seen.append((folder.name, {e.context.dialogue for e in job.train.examples}, [e.id for e in held]))
        return [[float(e.id.split("-")[1]) + 10 * int(e.context.dialogue[1:])] for e in held]


@given(st.lists(st.integers(0, 20), min_size=1, max_size=40), st.integers(2, 5), st.integers(0, 3))
def test_dialogue_lies_in_one_fold_and_folds_are_even(dialogues, folds, seed):
    examples = [example(f"d{name}", i) for i, name in enumerate(dialogues)]
    places = fold_of(examples, folds, seed)
    by_dialogue = {}
    for name, place in zip(dialogues, places, strict=True):
        assert by_dialogue.setdefault(name, place) == place
    sizes = [list(by_dialogue.values()).count(fold) for fold in range(folds)]
    assert max(sizes) - min(sizes) <= 1


def test_turn_without_a_dialogue_is_one_of_its_own():
    examples = [Example(f"e{i}", Context.of("hi"), ()) for i in range(4)]
    assert sorted(fold_of(examples, 2, 1)) == [0, 0, 1, 1]


def test_every_turn_is_scored_by_a_model_that_did_not_see_its_dialogue(tmp_path):
    fitting = Fitting()
    scores = held_out_scores(job(tmp_path), fitting)
    assert scores == [[10.0 * dialogue + number] for dialogue in range(6) for number in range(2)]
    for _, trained, held in fitting.seen:
        assert trained.isdisjoint({name.split("-")[0] for name in held})
    assert len(fitting.seen) == 3


def test_killed_folds_go_on_where_they_stopped(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        held_out_scores(job(tmp_path), Fitting(fail={"fold-1"}))
    again = Fitting()
    scores = held_out_scores(job(tmp_path), again)
    assert [name for name, _, _ in again.seen] == ["fold-1", "fold-2"]
    assert scores == held_out_scores(job(tmp_path), Fitting(fail={"fold-0", "fold-1", "fold-2"}))


def test_weights_of_a_finished_fold_are_not_kept(tmp_path):
    def fit_and_score(job, folder, held):
        (folder / "checkpoint").mkdir(parents=True)
        (folder / "best.safetensors").write_bytes(b"large")
        return [[0.0] for _ in held]

    held_out_scores(job(tmp_path), fit_and_score)
    assert [path.name for path in (tmp_path / "fold-0").iterdir()] == [FILE]


def test_folds_of_another_training_are_refused(tmp_path):
    held_out_scores(job(tmp_path), Fitting())
    with pytest.raises(TrainingError, match="another training"):
        held_out_scores(job(tmp_path, rate=1e-3), Fitting())


def test_damaged_scores_are_told(tmp_path):
    held_out_scores(job(tmp_path), Fitting())
    (tmp_path / "fold-0" / FILE).write_text("{")
    with pytest.raises(TrainingError, match="cannot be read"):
        held_out_scores(job(tmp_path), Fitting())


def test_fewer_dialogues_than_folds_are_told(tmp_path):
    with pytest.raises(TrainingError, match="2 dialogues cannot be cut into 3 folds"):
        held_out_scores(job(tmp_path, dialogues=2), Fitting())
