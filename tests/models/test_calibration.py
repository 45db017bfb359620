"""A score made into a probability, and what a part's file says of how."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import WeightsError
from dragoman.models.calibration import Isotonic, Logistic, from_json, log_odds, mixed, to_json


def test_logistic_by_hand():
    # 2 x 0.5 + ln 3 - 1 = ln 3
    assert Logistic(2.0, math.log(3) - 1).probability(0.5) == pytest.approx(0.75)


def test_without_a_fit_the_score_is_the_log_odds():
    assert Logistic().probability(math.log(4)) == pytest.approx(0.8)


@given(st.floats(-1e6, 1e6), st.floats(0.001, 100), st.floats(-100, 100))
def test_logistic_is_a_probability_for_any_score(score, scale, bias):
    assert 0.0 <= Logistic(scale, bias).probability(score) <= 1.0


def test_log_odds_are_finite_and_the_inverse_of_the_logistic():
    assert log_odds(0.5) == 0.0
    assert log_odds(Logistic().probability(1.7)) == pytest.approx(1.7)
    assert -25 < log_odds(0.0) < log_odds(1.0) < 25
    assert log_odds(0.0, edge=1e-6) == pytest.approx(math.log(1e-6), rel=1e-5)
    assert log_odds(1.0, edge=1e-6) == pytest.approx(-log_odds(0.0, edge=1e-6))


def test_two_probabilities_are_mixed_by_their_log_odds():
    # ln 9 and -ln 9 evenly: 0; three quarters of ln 9 and a quarter of -ln 9: ln 3
    assert mixed(0.9, 0.1, 0.5) == pytest.approx(0.5)
    assert mixed(0.9, 0.1, 0.75) == pytest.approx(0.75)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_mix_lies_between_the_two_and_a_share_of_nothing_changes_nothing(first, second, share):
    assert mixed(first, second, 0.0) == second
    assert min(first, second) - 1e-8 <= mixed(first, second, share) <= max(first, second) + 1e-8


def test_isotonic_is_a_line_between_its_points_and_flat_beyond():
    steps = Isotonic((-1.0, 1.0, 3.0), (0.1, 0.5, 0.9))
    found = [steps.probability(score) for score in (-5, -1, 0, 1, 2, 3, 9)]
    assert found == pytest.approx([0.1, 0.1, 0.3, 0.5, 0.7, 0.9, 0.9])


@given(
    st.lists(st.floats(-50, 50), min_size=1, max_size=8, unique=True),
    st.lists(st.floats(0, 1), min_size=8, max_size=8),
    st.floats(-60, 60),
    st.floats(-60, 60),
)
def test_isotonic_never_falls(scores, heights, one, other):
    steps = Isotonic(tuple(sorted(scores)), tuple(sorted(heights))[: len(scores)])
    low, high = sorted((one, other))
    assert steps.probability(low) <= steps.probability(high) + 1e-12


@pytest.mark.parametrize("calibration", [Logistic(1.5, -0.25), Isotonic((0.0, 1.0), (0.2, 0.8))])
def test_what_is_written_is_read_again(calibration):
    assert from_json(to_json(calibration)) == calibration


@pytest.mark.parametrize(
    "table",
    [
        {},
        {"kind": "magic"},
        {"kind": "logistic", "scale": "much"},
        {"kind": "logistic", "scale": 1.0},
        {"kind": "isotonic", "scores": [], "probabilities": []},
        {"kind": "isotonic", "scores": [1.0, 0.0], "probabilities": [0.1, 0.2]},
        {"kind": "isotonic", "scores": [0.0, 1.0], "probabilities": [0.1]},
        {"kind": "isotonic", "scores": [0.0, 1.0], "probabilities": [0.9, 0.1]},
        {"kind": "isotonic", "scores": [0.0, 1.0], "probabilities": [0.5, 1.5]},
        {"kind": "logistic", "scale": float("nan"), "bias": 0.0},
    ],
)
def test_calibration_that_makes_no_sense_is_refused(table):
    with pytest.raises(WeightsError, match="calibration cannot be read"):
        from_json(table)
