"""The classifier planner: the best legal plan by probabilities, and a small part of random weights behind it."""

from __future__ import annotations

from functools import partial
from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.values import Context, Source
from dragoman.models.calibration import Logistic, log_odds
from dragoman.models.onnx.scorer import Scorer
from dragoman.models.part import Head, open_part
from dragoman.planner.classifier import ClassifierPlanner, best_legal
from dragoman.sources.graph import SourceGraph
from dragoman.testing import PlannerConformance
from dragoman.text.view import View

PERSONA, DOCUMENTS = Source("persona"), Source("documents", needs=("persona",))
TURNS = [Context.of("hello"), Context.of("what is the price of a room"), Context.of("who are you")]
OPTIONS = {"view": View().to_json()}
odds = partial(log_odds, edge=1e-6)


def legal(probabilities, thresholds=None, sources=(PERSONA, DOCUMENTS)):
    return best_legal(SourceGraph(sources), probabilities, thresholds or dict.fromkeys(probabilities, 0.5))


def test_sources_that_pass_are_asked_in_legal_order():
    assert legal({"documents": 0.9, "persona": 0.8}, sources=(DOCUMENTS, PERSONA)) == ("persona", "documents")


def test_nothing_passes_is_null():
    assert legal({"persona": 0.4, "documents": 0.3}) == ()


def test_source_that_is_strongly_wanted_pulls_in_what_it_needs():
    # ln 9 above the threshold against ln(0.6 / 0.4) below it
    assert legal({"persona": 0.4, "documents": 0.9}) == ("persona", "documents")


def test_source_that_barely_passed_is_dropped_with_what_it_needs():
    assert legal({"persona": 0.1, "documents": 0.6}) == ()


def test_dropping_one_does_not_touch_what_passes_by_itself():
    sources = (PERSONA, DOCUMENTS, Source("news"))
    assert legal({"persona": 0.1, "documents": 0.6, "news": 0.7}, sources=sources) == ("news",)


def test_two_sources_pull_together_what_both_need():
    sources = (PERSONA, DOCUMENTS, Source("notes", needs=("persona",)))
    # each alone is worth ln 2.33 against a loss of ln 4, both together more than it
    probabilities = {"persona": 0.2, "documents": 0.7, "notes": 0.7}
    assert legal(probabilities, sources=sources) == ("persona", "documents", "notes")
    assert legal({**probabilities, "notes": 0.3}, sources=sources) == ()


def test_each_source_has_a_threshold_of_its_own():
    assert legal({"persona": 0.35, "documents": 0.6}, {"persona": 0.3, "documents": 0.7}) == ("persona",)


def test_source_that_needs_an_unknown_one_is_never_asked():
    assert legal({"documents": 0.99}) == ()


@st.composite
def worlds(draw):
    size = draw(st.integers(1, 6))
    sources = tuple(
        Source(f"s{i}", needs=tuple(f"s{need}" for need in sorted(draw(st.sets(st.integers(0, i - 1)))) if i))
        if i
        else Source("s0")
        for i in range(size)
    )
    chances = st.integers(1, 99).map(lambda n: n / 100)
    probabilities = {source.name: draw(chances) for source in sources if draw(st.integers(0, 9))}
    return sources, probabilities, {name: draw(chances) for name in probabilities}


@given(worlds())
def test_plan_is_legal_and_none_is_better(world):
    sources, probabilities, thresholds = world
    graph = SourceGraph(sources)
    chosen = legal(probabilities, thresholds, sources)
    graph.check(graph.plan(chosen))
    assert [source.name for source in graph.close(chosen)] == list(chosen)
    assert set(chosen) <= set(probabilities)

    def worth(names):
        return sum(odds(probabilities[name]) - odds(thresholds[name]) for name in names)

    every = chain.from_iterable(combinations(probabilities, size) for size in range(len(probabilities) + 1))
    closed = [some for some in every if {source.name for source in graph.close(some)} == set(some)]
    assert worth(chosen) == pytest.approx(max(worth(some) for some in closed), abs=1e-9)


def part_of(make_part, labels=("persona", "documents", "news"), bias=0.0, thresholds=None):
    head = Head(labels, {label: Logistic(1.0, bias) for label in labels}, thresholds or {})
    return str(make_part("planner.classifier", {"plan": head}, **OPTIONS))


class TestConformance(PlannerConformance):
    @pytest.fixture
    def planner(self, make_part):
        return ClassifierPlanner(part=part_of(make_part, bias=50.0))


def test_probabilities_of_the_plan_are_the_heads(make_part):
    folder = part_of(make_part)
    scorer = Scorer(open_part(folder))
    head = scorer.part.head("plan")
    scores = scorer.scores([View().text(turn) for turn in TURNS], "plan")
    plans = ClassifierPlanner(part=folder).plan(TURNS, [DOCUMENTS, PERSONA])
    for plan, row in zip(plans, scores, strict=True):
        assert plan.probabilities == {
            "documents": pytest.approx(head.probability(row[1])),
            "persona": pytest.approx(head.probability(row[0])),
        }


def test_plan_is_null_where_no_source_reaches_its_threshold(make_part):
    plans = ClassifierPlanner(part=part_of(make_part, bias=-500.0)).plan(TURNS, [PERSONA, DOCUMENTS])
    assert all(plan.is_null for plan in plans)


def test_every_source_is_asked_where_all_are_certain(make_part):
    plans = ClassifierPlanner(part=part_of(make_part, bias=500.0)).plan(TURNS, [DOCUMENTS, PERSONA])
    assert {plan.steps for plan in plans} == {(("persona",), ("documents",))}


def test_source_that_the_part_does_not_know_is_never_asked_and_named(make_part):
    (plan,) = ClassifierPlanner(part=part_of(make_part, bias=500.0)).plan(TURNS[:1], [PERSONA, Source("weather")])
    assert plan.sources == ("persona",)
    assert "weather" not in plan.probabilities
    assert plan.reason == "not known to the part: weather"


def test_threshold_of_the_agent_stands_in_for_the_parts(make_part):
    folder = part_of(make_part, thresholds={"persona": 1.0, "documents": 1.0})
    assert ClassifierPlanner(part=folder, threshold=0.0).plan(TURNS[:1], [PERSONA, DOCUMENTS])[0].sources == (
        "persona",
        "documents",
    )


def test_needed_and_dropped_sources_are_named(make_part):
    strong = part_of(make_part, thresholds={"persona": 0.999999, "documents": 1e-6})
    planner = ClassifierPlanner(part=strong)
    (plan,) = planner.plan(TURNS[:1], [PERSONA, DOCUMENTS])
    assert plan.reason in ("needed: persona", "dropped with what they need: documents")
