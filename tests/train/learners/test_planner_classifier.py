"""The classifier planner learned from labelled plans: a label a source, thresholds from dev, plans that are legal."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from tests.train.agreeing import assert_agrees

from dragoman.core.errors import TrainingError
from dragoman.core.examples import Example, Gold
from dragoman.core.values import Context, Source
from dragoman.models.part import open_part
from dragoman.planner.classifier import ClassifierPlanner
from dragoman.train.contract import Corpus, Job
from dragoman.train.learners.planner_classifier import source_names
from dragoman.train.registry import learners
from dragoman.train.spec import Recipe

SAID = {
    ("persona",): ("who are you", "you like what"),
    ("persona", "documents"): ("what is the price", "price of a room"),
    (): ("hello", "thanks a lot"),
}
WORDS = " ".join(text for texts in SAID.values() for text in texts)
SOURCES = (Source("persona"), Source("documents", needs=("persona",)), Source("unused"))


def corpus(count, seed):
    dice = random.Random(seed)
    plans = list(SAID)
    examples = []
    for i in range(count):
        plan = plans[i % 3]
        context = Context.of(dice.choice(SAID[plan]), dialogue=f"d{seed}-{i // 2}")
        examples.append(Example(f"{seed}-{i}", context, SOURCES, gold=Gold(plan=plan)))
    return Corpus((), tuple(examples))


def job(folder, base, *, train=None, **recipe):
    tables = {
        "kind": "planner.classifier",
        "model": {"base": str(base), "max_tokens": 24, "dropout": 0.0},
        "train": {"epochs": 5, "batch": 8, "rate": 3e-3, "metric": "loss", **(train or {})},
        **recipe,
    }
    return Job(Recipe.model_validate(tables), corpus(48, 1), corpus(24, 2), folder)


@pytest.fixture(scope="module")
def part(make_bert, tmp_path_factory):
    base = make_bert(words=WORDS, layers=1)
    return learners.create("planner.classifier").fit(job(tmp_path_factory.mktemp("planner"), base))


@pytest.mark.slow
def test_learned_planner_plans_new_turns(part):
    fresh = corpus(18, 3)
    plans = ClassifierPlanner(part=str(part.folder)).plan([e.context for e in fresh.examples], SOURCES)
    assert [plan.sources for plan in plans] == [example.gold.plan for example in fresh.examples]


@pytest.mark.slow
def test_labels_are_the_sources_that_plans_ask(part):
    assert part.heads["plan"].labels == ("persona", "documents")
    assert set(part.heads["plan"].thresholds) == {"persona", "documents"}


@pytest.mark.slow
def test_part_holds_what_a_plan_depends_on(part):
    assert open_part(part.folder) == part
    assert part.made["metrics"]["exact"] == 1.0
    assert {"persona/f1", "documents/f1", "f1", "loss"} <= set(part.made["metrics"])


@pytest.mark.slow
def test_the_exported_planner_says_what_torch_says(part, tmp_path):
    assert_agrees(part.folder, [text for texts in SAID.values() for text in texts], "plan", tmp_path)


def test_papers_thresholds_are_an_option(make_bert, tmp_path, monkeypatch):
    found = []

    def finish(trunk, tokens, job, *, heads: dict, **given):
        from dragoman.train.export.export_and_calibrate import fit_head

        head = fit_head(heads["plan"], [[0.0, 0.0]] * len(heads["plan"].truth), job.recipe.calibrate)
        found.append(head)

    monkeypatch.setattr("dragoman.train.export.export_and_calibrate.export_and_calibrate", finish)
    given = job(
        tmp_path,
        make_bert(words=WORDS, layers=1),
        train={"epochs": 1},
        calibrate={"method": "none", "threshold": 0.3},
    )
    learners.create("planner.classifier").fit(given)
    assert found[0].thresholds == {"persona": 0.3, "documents": 0.3}
    assert found[0].probability(0.0, "persona") == 0.5


def test_plans_that_ask_nothing_are_refused():
    empty = tuple(replace(example, gold=Gold(plan=())) for example in corpus(30, 1).examples)
    with pytest.raises(TrainingError, match="each plan is empty"):
        source_names(Corpus((), empty))


def test_plan_of_a_source_that_no_turn_offers_is_refused():
    odd = tuple(replace(example, gold=Gold(plan=("persona", "weather"))) for example in corpus(30, 1).examples)
    with pytest.raises(TrainingError, match="'weather'"):
        source_names(Corpus((), odd))


def test_turns_without_plans_are_refused(make_bert, tmp_path):
    given = job(tmp_path, make_bert(words=WORDS, layers=1))
    blank = tuple(replace(example, gold=Gold(retrieve=True)) for example in given.train.examples)
    with pytest.raises(TrainingError, match="plan"):
        learners.create("planner.classifier").fit(replace(given, train=Corpus((), blank)))
