"""Calibrating doubt: each turn is drafted once, also when a training was stopped."""

import json
import random

import pytest

from dragoman.core.errors import ConfigError, TrainingError
from dragoman.core.examples import Example, Gold
from dragoman.core.registry import models
from dragoman.core.values import Context, Draft
from dragoman.gate import UncertaintyGate
from dragoman.train.contract import Corpus, Job
from dragoman.train.learners import gate_uncertainty
from dragoman.train.learners.gate_uncertainty import GateUncertainty
from dragoman.train.recipe import load_recipe

ASKED: list[str] = []


class Unsure:
    """Less sure of what it is asked about than of what it is told; stops at a turn, where that is wanted."""

    stop_at: int | None = None

    def __init__(self, *, shift: float = 0.0):
        self._shift = shift

    def generate(self, prompts, *, max_tokens, stop=()):
        drafts = []
        for prompt in prompts:
            text = prompt.messages[-1].content
            if Unsure.stop_at is not None and len(ASKED) >= Unsure.stop_at:
                raise KeyboardInterrupt
            ASKED.append(text)
            number = random.Random(text).random()
            drafts.append(Draft("Well.", (0.25 if "Where" in text else 0.6) + 0.3 * number + self._shift))
        return drafts


@pytest.fixture(autouse=True)
def model(monkeypatch):
    known = models.names() and dict(models._factories)
    monkeypatch.setattr(models, "_factories", {**known, "model.unsure.v1": Unsure})
    monkeypatch.setattr(Unsure, "stop_at", None)
    ASKED.clear()


def turns(count, prefix="d"):
    made = []
    for number in range(count):
        asks = number % 3 == 0
        text = f"Where is number {number}?" if asks else f"I like number {number}."
        label = asks if number % 10 else not asks
        context = Context.of(text, dialogue=f"{prefix}{number}")
        made.append(Example(f"{prefix}{number}", context, (), gold=Gold(retrieve=label)))
    return tuple(made)


def job(folder, *settings):
    settings = ("model.kind=unsure", "model.options={}", *settings)
    recipe = load_recipe("gate-uncertainty", settings)
    recipe = recipe.model_copy(update={"model": {**recipe.model, "options": {}}})
    return Job(recipe, Corpus((), turns(90)), Corpus((), turns(45, "e")), folder)


def test_doubt_becomes_a_probability_and_a_threshold(tmp_path):
    part = GateUncertainty().fit(job(tmp_path))
    assert part.made["metrics"]["auc"] > 0.8
    assert part.made["metrics"]["folds/f1"] > 0.7
    gate = UncertaintyGate(language_model=Unsure(), part=str(tmp_path))
    asked, told = gate.decide([Context.of("Where is number 333?"), Context.of("I like number 334.")])
    assert (asked.retrieve, told.retrieve) == (True, False)


def test_the_part_says_how_it_was_asked(tmp_path):
    part = GateUncertainty().fit(job(tmp_path, "input.name=Ada", "input.language=zh"))
    assert (part.options["name"], part.options["language"]) == ("Ada", "zh")
    ASKED.clear()
    UncertaintyGate(language_model=Unsure(), name="Marlow", part=str(tmp_path)).decide([turns(1)[0].context])
    kept = (tmp_path / "drafts.jsonl").read_text()
    GateUncertainty().fit(job(tmp_path, "input.name=Ada", "input.language=zh"))
    assert len(ASKED) == 1
    assert (tmp_path / "drafts.jsonl").read_text() == kept


def test_a_turn_is_drafted_once_and_a_stopped_training_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(Unsure, "stop_at", 40)
    with pytest.raises(KeyboardInterrupt):
        GateUncertainty().fit(job(tmp_path))
    kept = len((tmp_path / "drafts.jsonl").read_text().splitlines())
    assert kept == 40
    with (tmp_path / "drafts.jsonl").open("a") as file:
        file.write('{"of": "abc", "dou')  # what a kill leaves behind
    monkeypatch.setattr(Unsure, "stop_at", None)
    ASKED.clear()
    part = GateUncertainty().fit(job(tmp_path))
    # the questions of both sides are the same: 90 different ones
    assert len(ASKED) == 90 - kept
    assert part.made["metrics"]["auc"] > 0.8


def test_the_drafts_of_another_model_are_not_taken(tmp_path):
    GateUncertainty().fit(job(tmp_path))
    ASKED.clear()
    GateUncertainty().fit(job(tmp_path, "model.max_tokens=7"))
    assert len(ASKED) == 90


def test_what_was_said_is_not_kept(tmp_path):
    GateUncertainty().fit(job(tmp_path))
    assert set(json.loads((tmp_path / "drafts.jsonl").read_text().splitlines()[0])) == {"of", "doubt", "characters"}


def test_a_damaged_line_is_named(tmp_path):
    (tmp_path / "drafts.jsonl").write_text('nonsense\n{"of": "a", "doubt": 0.5}\n')
    with pytest.raises(TrainingError, match=r"drafts\.jsonl:1"):
        GateUncertainty().fit(job(tmp_path))


def test_a_model_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(ConfigError, match="unsur"):
        GateUncertainty().fit(job(tmp_path, "model.kind=unsur"))


def test_the_least_likely_token_is_asked_of_the_shipped_model():
    table = gate_uncertainty.UncertaintyModelTable(measure="least", options={"weights": "nowhere.gguf"})
    assert table.open()._least
