"""Calibrating a prompted gate: each turn is asked once, and what the model says becomes a probability."""

import json
import random

import pytest

from dragoman.core.examples import Example, Gold
from dragoman.core.registry import models
from dragoman.core.values import Context
from dragoman.gate import PromptedGate
from dragoman.train.contract import Corpus, Job
from dragoman.train.learners.gate_prompted import GatePrompted
from dragoman.train.recipe import load_recipe

ASKED: list[str] = []


class Eager:
    """Says True to nearly everything, a little more so to questions."""

    def choose(self, prompts, choices):
        found = []
        for prompt in prompts:
            text = prompt.messages[-1].content
            ASKED.append(text)
            yes = (0.93 if "Where" in text else 0.85) + 0.05 * random.Random(text).random()
            found.append({"True": yes, "False": 1.0 - yes})
        return found


@pytest.fixture(autouse=True)
def model(monkeypatch):
    monkeypatch.setattr(models, "_factories", {**dict(models._factories), "model.eager.v1": Eager})
    ASKED.clear()


def turns(count, prefix="d"):
    made = []
    for number in range(count):
        asks = number % 3 == 0
        text = f"Where is number {number}?" if asks else f"I like number {number}."
        context = Context.of(text, dialogue=f"{prefix}{number}")
        made.append(Example(f"{prefix}{number}", context, (), gold=Gold(retrieve=asks if number % 10 else not asks)))
    return tuple(made)


def job(folder, *settings):
    recipe = load_recipe("gate-prompted", ("model.kind=eager", *settings))
    recipe = recipe.model_copy(update={"model": {**recipe.model, "options": {}}})
    return Job(recipe, Corpus((), turns(90)), Corpus((), turns(45, "e")), folder)


def test_true_becomes_a_probability_and_a_threshold(tmp_path):
    part = GatePrompted().fit(job(tmp_path))
    assert part.made["metrics"]["auc"] > 0.8
    assert part.made["metrics"]["ece"] < 0.15
    assert part.made["metrics"]["folds/f1"] > 0.7
    plain, trained = PromptedGate(language_model=Eager()), PromptedGate(language_model=Eager(), part=str(tmp_path))
    asked = [Context.of("Where is number 333?"), Context.of("I like number 334.")]
    assert [verdict.retrieve for verdict in plain.decide(asked)] == [True, True]
    assert [verdict.retrieve for verdict in trained.decide(asked)] == [True, False]


def test_a_turn_is_asked_once_for_a_style_and_what_was_said_is_not_kept(tmp_path):
    GatePrompted().fit(job(tmp_path))
    assert len(ASKED) == 90  # dev asks the same
    GatePrompted().fit(job(tmp_path))
    assert len(ASKED) == 90
    GatePrompted().fit(job(tmp_path, "model.style=in-context"))
    assert len(ASKED) == 180
    rows = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    assert {frozenset(row) for row in rows} == {frozenset({"of", "true"})}
