"""Calibration: worked examples, scikit-learn's curve and Brier score as the reference."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from dragoman.core.errors import ConfigError, InputError
from dragoman.evaluate.metrics.calibration import (
    Brier,
    CalibrationError,
    brier,
    expected_calibration_error,
    reliability,
)

pairs = st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=1, max_size=60)
# Two bins: (0, .5] holds .2 (false) and .4 (true), (.5, 1] holds .8 (true) and .6 (false).
LABELS, PROBABILITIES = [False, True, True, False], [0.2, 0.4, 0.8, 0.6]


def test_calibration_error_of_an_example_counted_by_hand():
    """Lower bin: mean .3, true 1/2, gap .2; upper: mean .7, true 1/2, gap .2. Both hold half of the pairs."""
    assert expected_calibration_error(LABELS, PROBABILITIES, bins=2) == pytest.approx(0.2)


def test_brier_score_of_an_example_counted_by_hand():
    """(.04 + .36 + .04 + .36) / 4."""
    assert brier(LABELS, PROBABILITIES) == pytest.approx(0.2)


def test_bins_of_equal_mass_hold_as_many_each():
    curve = reliability([True] * 8, [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.9], bins=4, binning="mass")
    assert [row["count"] for row in curve] == [2, 2, 2, 2]


def test_equal_probabilities_stay_in_one_bin():
    curve = reliability([True, False] * 4, [0.5] * 8, bins=4, binning="mass")
    assert curve == [{"probability": 0.5, "true": 0.5, "count": 8}]


@given(pairs, st.integers(1, 12), st.sampled_from(["width", "mass"]))
def test_the_reliability_curve_equals_scikit_learn(found, bins, binning):
    labels, probabilities = zip(*found, strict=True)
    strategy = {"width": "uniform", "mass": "quantile"}[binning]
    true, said = calibration_curve(labels, probabilities, n_bins=bins, strategy=strategy, pos_label=True)
    curve = reliability(labels, probabilities, bins=bins, binning=binning)
    assert [row["true"] for row in curve] == pytest.approx(true.tolist())
    assert [row["probability"] for row in curve] == pytest.approx(said.tolist())
    error = sum(row["count"] * abs(row["true"] - row["probability"]) for row in curve) / len(labels)
    assert expected_calibration_error(labels, probabilities, bins=bins, binning=binning) == pytest.approx(error)


@given(pairs)
def test_brier_equals_scikit_learn(found):
    labels, probabilities = zip(*found, strict=True)
    expected = brier_score_loss(np.array(labels), np.array(probabilities), pos_label=True)
    assert brier(labels, probabilities) == pytest.approx(expected)


@given(pairs)
def test_calibration_error_is_bounded_and_at_least_the_gap_of_the_means(found):
    labels, probabilities = zip(*found, strict=True)
    error = expected_calibration_error(labels, probabilities)
    gap = abs(np.mean(labels) - np.mean(probabilities))
    assert gap - 1e-9 <= error <= 1 + 1e-9
    assert expected_calibration_error(labels, probabilities, bins=1) == pytest.approx(gap)


def test_the_gate_is_measured_by_its_verdict(judged):
    turns = [judged(retrieve=a, probability=b) for a, b in zip(LABELS, PROBABILITIES, strict=True)]
    turns.append(judged(probability=0.9))
    scores = CalibrationError(bins=2).score(turns)
    assert scores.counted == [True] * 4 + [False]
    once, lower, never = scores.values(np.array([[1.0] * 5, [1, 1, 0, 0, 0], [0, 0, 0, 0, 1]]))
    assert (once, lower) == (pytest.approx(0.2), pytest.approx(0.2))
    assert math.isnan(never)
    assert [row["count"] for row in scores.details["reliability"]] == [2, 2]
    squares = Brier().score(turns)
    assert squares.values(np.ones((1, 5)))[0] == pytest.approx(0.2)
    assert squares.per_turn[:4] == pytest.approx([0.04, 0.36, 0.04, 0.36])


def test_a_plan_is_measured_by_the_probability_of_each_declared_source(judged):
    turn = judged(plan=["PERSONA"], sources_probability={"PERSONA": 0.7, "DOCUMENTS": 0.4, "NULL": 0.9})
    scores = Brier(of="plan").score([turn, judged(sources_probability={"PERSONA": 1.0})])
    assert scores.values(np.ones((1, 2)))[0] == pytest.approx((0.3**2 + 0.4**2) / 2)
    assert scores.counted == [True, False]


def test_evidence_is_measured_by_its_relevance(judged, found):
    turn = judged(gold=["a"], evidence=[found("a", relevance=0.9), found("b", relevance=0.2)])
    scores = CalibrationError(of="evidence", bins=1).score([turn])
    assert scores.values(np.ones((1, 1)))[0] == pytest.approx(abs(1.1 - 1) / 2)
    assert CalibrationError(of="evidence").about.needs == {"evidence"}


def test_numbers_that_are_no_probabilities_are_refused(judged):
    for wrong in (1.2, -0.1, float("nan")):
        with pytest.raises(InputError, match="'t9'"):
            CalibrationError().score([judged(name="t9", retrieve=True, probability=wrong)])


def test_no_bins_are_refused():
    with pytest.raises(ConfigError, match="bins is 0"):
        CalibrationError(bins=0)
