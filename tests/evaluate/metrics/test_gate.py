"""Decisions to look something up: worked examples, conventions, and scikit-learn as the reference."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as reference
from tests.effort import lines_of

from dragoman.core.errors import InputError, UnknownNameError
from dragoman.core.registry import metrics
from dragoman.evaluate.contract import Metric
from dragoman.evaluate.metrics import curves, gate

# Ten turns: TP 3, FP 1, FN 2, TN 4.
LABELS = [True] * 5 + [False] * 5
PREDICTIONS = [True, True, True, False, False, True, False, False, False, False]
NAMES = ("precision", "recall", "f1", "accuracy", "hard-auc", "fdr", "rate", "auc", "ap")

decisions = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40)
scored = st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.9, 1.0])), min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        (gate.precision, 3 / 4),
        (gate.recall, 3 / 5),
        (gate.f1, 6 / 9),
        (gate.accuracy, 7 / 10),
        (gate.hard_auc, (3 / 5 + 4 / 5) / 2),
        (gate.false_discovery_rate, 1 / 4),
    ],
)
def test_measures_of_a_table_counted_by_hand(measure, expected):
    assert measure(LABELS, PREDICTIONS) == pytest.approx(expected)


def test_area_of_a_ranking_counted_by_hand():
    """Positives .8 and .4, negatives .6, .4 and .1: pairs won 3 + 1.5 (one tie) of 6."""
    assert curves.roc_auc([1, 1, 0, 0, 0], [0.8, 0.4, 0.6, 0.4, 0.1]) == pytest.approx(4.5 / 6)


def test_average_precision_of_a_ranking_counted_by_hand():
    """Thresholds .8 (P 1/1, recall gains 1/2), .6, .4 (P 2/4, gains 1/2): 1/2 + 1/4."""
    assert curves.average_precision([1, 1, 0, 0, 0], [0.8, 0.4, 0.6, 0.4, 0.1]) == pytest.approx(0.75)


def test_a_gate_that_never_opens_has_precision_and_false_discoveries_of_zero():
    assert gate.precision([True, False], [False, False]) == 0.0
    assert gate.false_discovery_rate([True, False], [False, False]) == 0.0
    assert gate.f1([True, False], [False, False]) == 0.0


def test_measures_of_nothing_are_undefined():
    for measure in (gate.precision, gate.recall, gate.f1, gate.accuracy, gate.hard_auc, gate.false_discovery_rate):
        assert math.isnan(measure([], []))
    assert math.isnan(gate.recall([False], [True]))
    assert math.isnan(curves.roc_auc([True, True], [0.1, 0.2]))
    assert math.isnan(curves.average_precision([], []))


@given(decisions)
def test_measures_equal_scikit_learn(pairs):
    labels, predictions = zip(*pairs, strict=True)
    if any(labels) or any(predictions):
        assert gate.f1(labels, predictions) == pytest.approx(reference.f1_score(labels, predictions, zero_division=0))
    assert gate.precision(labels, predictions) == pytest.approx(
        reference.precision_score(labels, predictions, zero_division=0)
    )
    if any(labels):
        assert gate.recall(labels, predictions) == pytest.approx(reference.recall_score(labels, predictions))
    assert gate.accuracy(labels, predictions) == pytest.approx(reference.accuracy_score(labels, predictions))
    if 0 < sum(labels) < len(labels):
        assert gate.hard_auc(labels, predictions) == pytest.approx(reference.roc_auc_score(labels, predictions))


@given(scored, st.integers(0, 10**6))
def test_areas_equal_scikit_learn_under_any_weights(pairs, seed):
    labels, probabilities = map(list, zip(*pairs, strict=True))
    weights = np.random.default_rng(seed).integers(0, 4, len(pairs)).astype(float)
    drawn = {label for label, weight in zip(labels, weights, strict=True) if weight}
    if drawn == {True, False}:
        expected = reference.roc_auc_score(labels, probabilities, sample_weight=weights)
        assert curves.roc_auc(labels, probabilities, weights) == pytest.approx(expected)
        expected = reference.average_precision_score(labels, probabilities, sample_weight=weights)
        assert curves.average_precision(labels, probabilities, weights) == pytest.approx(expected)


@given(scored)
def test_areas_lie_in_the_unit_interval_and_heed_only_the_order(pairs):
    labels, probabilities = zip(*pairs, strict=True)
    for measure in (curves.roc_auc, curves.average_precision):
        area = measure(labels, probabilities)
        assert math.isnan(area) or 0 <= area <= 1
        squeezed = measure(labels, [math.tanh(probability) / 2 for probability in probabilities])
        assert squeezed == pytest.approx(area, nan_ok=True)


@given(decisions)
def test_f1_does_not_depend_on_the_order_of_turns_nor_on_true_negatives(pairs):
    labels, predictions = map(list, zip(*pairs, strict=True))
    value = gate.f1(labels, predictions)
    assert gate.f1(labels[::-1], predictions[::-1]) == pytest.approx(value, nan_ok=True)
    assert gate.f1([*labels, False], [*predictions, False]) == pytest.approx(value, nan_ok=True)


@pytest.fixture(scope="module")
def turns(judged):
    chance = np.random.default_rng(5)
    return [
        judged(name=str(i), retrieve=label, opened=taken, steps=[["PERSONA"]] * taken, probability=chance.random())
        for i, (label, taken) in enumerate(zip(LABELS, PREDICTIONS, strict=True))
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_gate_metric_keeps_the_contract(turns, judged, name):
    metric = metrics.factory(f"gate-{name}")()
    assert isinstance(metric, Metric)
    scores = metric.score([*turns, judged(name="unlabelled", probability=0.7, opened=False)])
    assert scores.counted == [True] * 10 + [name == "rate"]
    weights = np.vstack([np.ones(11), np.zeros(11), np.arange(11.0), 2 * np.ones(11)])
    once, never, _, twice = scores.values(weights)
    assert metric.about.bounds[0] <= once <= metric.about.bounds[1]
    assert once == twice
    assert math.isnan(never)
    assert len(scores.values(np.ones((0, 11)))) == 0
    json.dumps(dict(scores.details), allow_nan=False)


def test_the_metric_is_the_function_over_the_labelled_turns(turns):
    once = np.ones((1, 10))
    measures = {
        "precision": gate.precision,
        "recall": gate.recall,
        "f1": gate.f1,
        "accuracy": gate.accuracy,
        "hard-auc": gate.hard_auc,
        "fdr": gate.false_discovery_rate,
    }
    for name, measure in measures.items():
        scores = metrics.factory(f"gate-{name}")().score(turns)
        assert scores.values(once)[0] == pytest.approx(measure(LABELS, PREDICTIONS))
        assert scores.details["augmented"] == 4


def test_an_unlabelled_turn_changes_nothing(turns, judged):
    extra = [*turns[:4], judged(probability=0.99), *turns[4:]]
    for name in ("f1", "auc", "ap"):
        metric = metrics.factory(f"gate-{name}")()
        assert metric.score(extra).values(np.ones((1, 11)))[0] == metric.score(turns).values(np.ones((1, 10)))[0]


def test_a_null_plan_is_a_closed_gate_unless_the_verdict_alone_is_asked_for(judged):
    turns = [judged(retrieve=True, opened=True, steps=[])]
    assert gate.GateRecall().score(turns).values(np.ones((1, 1)))[0] == 0.0
    assert gate.GateRecall(decision="gate").score(turns).values(np.ones((1, 1)))[0] == 1.0


def test_own_values_of_turns_are_rights_and_wrongs_where_turns_can_be_compared(turns):
    right = [float(a == b) for a, b in zip(LABELS, PREDICTIONS, strict=True)]
    assert gate.GateF1().score(turns).per_turn.tolist() == right
    of_recall = gate.GateRecall().score(turns).per_turn
    assert of_recall[:5].tolist() == right[:5]
    assert np.isnan(of_recall[5:]).all()
    assert gate.GatePrecision().score(turns).per_turn is None


def test_curves_have_at_most_two_hundred_points_and_keep_their_ends(judged):
    chance = np.random.default_rng(0)
    turns = [judged(retrieve=bool(chance.random() < 0.3), probability=chance.random()) for _ in range(2000)]
    roc = gate.GateAuc().score(turns).details["roc"]
    assert 100 < len(roc["true_positive_rate"]) <= 200
    assert (roc["false_positive_rate"][0], roc["true_positive_rate"][-1]) == (0.0, 1.0)
    pr = gate.GateAveragePrecision().score(turns).details["pr"]
    assert len(pr["recall"]) == len(pr["precision"]) == len(pr["threshold"]) == 200
    assert (pr["recall"][0], pr["recall"][-1]) == (1.0, 0.0)


def test_a_probability_that_is_no_number_names_its_turn(judged):
    with pytest.raises(InputError, match="'t7'"):
        gate.GateAuc().score([judged(name="t7", retrieve=True, probability=float("nan"))])


def test_a_misspelt_option_gets_a_suggestion():
    with pytest.raises(UnknownNameError, match="Did you mean 'gate'"):
        gate.GateF1(decision="gates")


def test_a_thousand_draws_of_two_thousand_turns_go_through_no_turn_one_by_one():
    chance = np.random.default_rng(1)
    labels, probabilities = chance.random(2000) < 0.1, chance.random(2000)
    weights = chance.integers(0, 4, (1000, 2000)).astype(float)
    for measure in (curves.roc_auc_of, curves.average_precision_of):
        values = measure(labels, probabilities)
        assert lines_of(lambda values=values: values(weights)) < 100_000
