"""The turn filter: each condition, bad filters, and that a filtered metric is the metric of the chosen turns."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.evaluate.contract import Metric
from dragoman.evaluate.metrics.gate import GateAuc, GateF1
from dragoman.evaluate.metrics.plan import PlanMacroF1
from dragoman.evaluate.metrics.select import matches, select


@pytest.fixture(scope="module")
def example(judged):
    return judged(retrieve=True, plan=["PERSONA", "DOCUMENTS"], domain="hotel", position=2).example


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({}, True),
        ({"plan": ["DOCUMENTS", "PERSONA"]}, True),
        ({"plan": ["PERSONA"]}, False),
        ({"plan": []}, False),
        ({"gold_source": "PERSONA"}, True),
        ({"gold_source": ["PERSONA", "USER"]}, False),
        ({"domain": "hotel"}, True),
        ({"domain": ["taxi", "hotel"]}, True),
        ({"domain": "taxi"}, False),
        ({"position": 2}, True),
        ({"position": [0, 2]}, True),
        ({"position": [0, 1]}, False),
        ({"retrieve": True}, True),
        ({"retrieve": False}, False),
        ({"retrieve": True, "domain": "taxi"}, False),
    ],
)
def test_conditions_hold_or_do_not(example, where, expected):
    assert matches(example, where) is expected


def test_a_turn_without_the_label_matches_no_condition_on_it(judged):
    bare = judged().example
    assert not any(matches(bare, where) for where in ({"plan": []}, {"gold_source": "A"}, {"retrieve": False}))


def test_an_unknown_condition_gets_a_suggestion(example):
    with pytest.raises(UnknownNameError, match="Did you mean 'position'"):
        matches(example, {"positon": 1})


@pytest.mark.parametrize(
    "where",
    [
        {"plan": "PERSONA"},
        {"gold_source": 3},
        {"domain": []},
        {"retrieve": "yes"},
        {"position": [2, 0]},
        {"position": [1]},
        {"position": True},
        {"position": -1},
        {"position": 0.5},
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_before_anything_runs(where):
    with pytest.raises(ConfigError, match="cannot be"):
        select(GateF1(), where)


def test_a_filter_adds_the_labels_it_reads_to_what_the_metric_needs():
    metric = select(GateF1(), {"plan": [], "domain": "x"})
    assert isinstance(metric, Metric)
    assert metric.about.needs == {"retrieve", "plan"}
    assert metric.about.title == "gate F1"


def test_no_filter_is_the_metric_itself():
    metric = GateF1()
    assert select(metric, {}) is metric


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.floats(0, 1), st.integers(0, 3)), max_size=12), st.data())
def test_a_filtered_metric_is_the_metric_of_the_turns_that_match(judged, rows, data):
    turns = [
        judged(retrieve=a, opened=b, steps=[["PERSONA"]], probability=p, position=at, plan=["PERSONA"])
        for a, b, p, at in rows
    ]
    weights = np.array([data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))], float)
    chosen = [index for index, row in enumerate(rows) if row[3] <= 1]
    for metric in (GateF1(), GateAuc(), PlanMacroF1()):
        scores = select(metric, {"position": [0, 1]}).score(turns)
        expected = metric.score([turns[index] for index in chosen])
        assert [index for index, counts in enumerate(scores.counted) if counts] == chosen
        assert scores.values(weights)[0] == pytest.approx(expected.values(weights[:, chosen])[0], nan_ok=True)
        if scores.per_turn is not None:
            assert np.isnan(np.delete(scores.per_turn, chosen)).all()
            assert scores.per_turn[chosen].tolist() == expected.per_turn.tolist()


def test_a_filter_that_nothing_matches_counts_no_turn(judged):
    scores = select(GateF1(), {"domain": "nowhere"}).score([judged(retrieve=True)])
    assert scores.counted == [False]
    assert math.isnan(scores.values(np.ones((1, 1)))[0])
