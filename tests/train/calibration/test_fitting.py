"""Calibration and thresholds: by hand, against other computations, and what must always hold."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import TrainingError
from dragoman.models.calibration import Isotonic, Logistic
from dragoman.train.calibration.fitting import best_threshold, common_threshold, expected_threshold, fit_calibration

METHODS = ["temperature", "platt", "isotonic", "none"]
FINITE = st.floats(-50, 50, allow_nan=False)


def drawn(rows=4000, seed=0, scale=1.0, bias=0.0):
    """Scores of which `sigmoid(scale x score + bias)` is true, and labels drawn so."""
    chance = np.random.default_rng(seed)
    scores = chance.normal(0, 2, rows)
    return scores, chance.random(rows) < 1 / (1 + np.exp(-(scale * scores + bias)))


def test_platt_finds_the_scale_and_bias_that_labels_were_drawn_with():
    found = fit_calibration(*drawn(scale=0.6, bias=-1.2), "platt")
    assert found.scale == pytest.approx(0.6, abs=0.06)
    assert found.bias == pytest.approx(-1.2, abs=0.1)


def test_temperature_finds_the_scale_and_leaves_the_middle_where_it_is():
    found = fit_calibration(*drawn(scale=0.4), "temperature")
    assert found.scale == pytest.approx(0.4, abs=0.05)
    assert found.bias == 0.0


def test_platt_agrees_with_scikit_learn():
    from sklearn.calibration import _SigmoidCalibration

    scores, labels = drawn(rows=300, scale=0.7, bias=-2.0)
    ours, theirs = fit_calibration(scores, labels, "platt"), _SigmoidCalibration().fit(scores, labels)
    assert ours.scale == pytest.approx(-theirs.a_, rel=1e-4)
    assert ours.bias == pytest.approx(-theirs.b_, rel=1e-4)


def test_platt_of_two_turns_by_hand():
    # one of each class: targets 2/3 and 1/3, met exactly by sigmoid(s) with s = ln 2 at 1 and -ln 2 at -1
    found = fit_calibration([1.0, -1.0], [True, False], "platt")
    assert found.scale == pytest.approx(math.log(2), rel=1e-4)
    assert found.bias == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize("method", ["temperature", "platt", "isotonic"])
@pytest.mark.parametrize("each", [5, 50])
def test_labels_that_can_be_parted_never_become_certainty(method, each):
    scores = [*range(-each - 5, -5), *range(6, each + 6)]
    found = fit_calibration(scores, [score > 0 for score in scores], method)
    low, high = ([found.probability(score) for score in side] for side in (scores[:each], scores[each:]))
    assert 0.5 / (each + 2) < np.mean(low) < 0.25
    assert 0.75 < np.mean(high) < 1 - 0.5 / (each + 2)


def test_isotonic_by_hand():
    # three groups of twenty: 0, 5 and 15 of them are true, the true ones first, so that no cut parts a group
    scores = [group + place / 100 for group in (0, 1, 2) for place in range(20)]
    labels = [False] * 20 + [True] * 5 + [False] * 15 + [True] * 15 + [False] * 5
    found = fit_calibration(scores, labels, "isotonic")
    assert found.scores == pytest.approx((0.095, 1.095, 2.095))
    # of 40 that are false, the lowest can be 1 / (40 + 2)
    assert found.probabilities == pytest.approx((1 / 42, 5 / 20, 15 / 20))
    assert found.probability(1.595) == pytest.approx(0.5)
    assert (found.probability(-5.0), found.probability(9.0)) == pytest.approx((1 / 42, 15 / 20))


def test_isotonic_has_few_points_and_is_near_the_truth():
    scores, labels = drawn(rows=6000, scale=1.5, bias=-1.0)
    found = fit_calibration(scores, labels, "isotonic")
    assert 3 <= len(found.scores) <= 12
    for score in (-2.0, 0.0, 1.0, 2.0):
        assert found.probability(score) == pytest.approx(1 / (1 + math.exp(1.0 - 1.5 * score)), abs=0.08)


@pytest.mark.parametrize("method", METHODS)
def test_nothing_and_one_class_can_be_calibrated(method):
    assert fit_calibration([], [], method) == Logistic()
    found = fit_calibration([0.5, 1.0, 2.0], [False, False, False], method)
    assert found.probability(2.0) <= Logistic().probability(2.0)
    assert found.probability(0.5) < found.probability(2.0)


def test_few_turns_are_not_given_steps():
    assert isinstance(fit_calibration([0.0, 1.0, 2.0], [False, True, True], "isotonic"), Logistic)


def test_scores_that_point_the_wrong_way_are_not_turned_round():
    scores, labels = drawn(rows=200)
    found = fit_calibration(-scores, labels, "platt")
    assert found.scale > 0


def test_a_broken_score_is_named():
    with pytest.raises(TrainingError, match=r"turn 1 is nan"):
        fit_calibration([0.0, math.nan], [True, False], "platt")
    with pytest.raises(TrainingError, match="do not fit"):
        best_threshold([0.1, 0.2], [True])


ROWS = st.lists(st.tuples(FINITE, st.booleans()), max_size=60)


@given(rows=ROWS, probes=st.lists(FINITE, min_size=2, max_size=8), method=st.sampled_from(METHODS))
def test_calibration_keeps_the_order_and_stays_within_zero_and_one(rows, probes, method):
    found = fit_calibration([score for score, _ in rows], [label for _, label in rows], method)
    probabilities = [found.probability(score) for score in sorted(probes)]
    assert all(0.0 <= value <= 1.0 for value in probabilities)
    # a line between two points rounds in its last digit
    assert all(low <= high + 1e-12 for low, high in pairwise(probabilities))


@given(rows=st.lists(st.tuples(FINITE, st.booleans()), min_size=8, max_size=80))
def test_isotonic_points_rise_and_can_be_stored(rows):
    from dragoman.models.calibration import from_json, to_json

    found = fit_calibration([score for score, _ in rows], [label for _, label in rows], "isotonic")
    assert from_json(to_json(found)) == found
    if isinstance(found, Isotonic):
        assert list(found.probabilities) == sorted(found.probabilities)
        assert 0.0 < found.probabilities[0] <= found.probabilities[-1] < 1.0


def test_expected_threshold_by_hand():
    # cuts from the top: 2(.9)/(1+1.6)=.69, 2(1.4)/(2+1.6)=.78, 2(1.6)/(3+1.6)=.70: between .5 and .2
    assert expected_threshold([0.2, 0.9, 0.5]) == pytest.approx(0.35)


def test_of_equal_cuts_the_highest_is_taken():
    # 2(.5)/(1+.75) and 2(.75)/(2+.75) are .571 and .545; with .5 and .25 and .5: 2(1)/(2+1.25) twice said is one cut
    assert expected_threshold([0.25, 0.5]) == pytest.approx(0.375)
    # 2(.5)/(1+1) = .5, 2(1)/(3+1) = .5: equal, so the one that says yes once
    assert expected_threshold([0.5, 0.25, 0.25]) == pytest.approx(0.375)


def test_the_threshold_is_half_of_the_best_f1_where_probabilities_are_right():
    # Lipton et al. 2014, Theorem 1
    chances = np.random.default_rng(3).beta(0.6, 3.0, 20_000)
    cut = expected_threshold(chances)
    above = chances >= cut
    best = 2 * chances[above].sum() / (above.sum() + chances.sum())
    assert cut == pytest.approx(best / 2, abs=1e-3)


def test_best_threshold_lies_between_labels_that_can_be_parted():
    probabilities = [0.05, 0.1, 0.1, 0.2, 0.7, 0.8, 0.9]
    cut = best_threshold(probabilities, [False] * 4 + [True] * 3)
    assert cut == pytest.approx(0.45)


def test_best_threshold_mends_probabilities_that_are_far_too_high():
    chance = np.random.default_rng(5)
    right = chance.beta(0.6, 3.0, 5000)
    labels = chance.random(5000) < right
    odds = np.log(right / (1 - right))
    wrong = 1 / (1 + np.exp(-(2 * odds + 3)))
    cut = best_threshold(wrong, labels)
    said, wanted = (wrong >= cut).sum(), (right >= expected_threshold(right)).sum()
    assert said == pytest.approx(wanted, rel=0.12)


def test_best_threshold_without_a_yes_is_a_half_and_with_nothing_else_is_below_all():
    assert best_threshold([0.2, 0.3], [False, False]) == 0.5
    assert best_threshold([], []) == 0.5
    assert best_threshold([0.2, 0.3], [True, True]) < 0.2


@given(rows=st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=50))
def test_a_threshold_is_a_cut_between_turns_whatever_their_order(rows):
    probabilities, labels = [row[0] for row in rows], [row[1] for row in rows]
    cut = best_threshold(probabilities, labels)
    assert 0.0 <= cut <= 1.0
    if any(labels):
        assert any(value >= cut for value in probabilities)
    turned = best_threshold(probabilities[::-1], labels[::-1])
    assert [value >= turned for value in probabilities] == [value >= cut for value in probabilities]


def test_of_cuts_that_promise_the_same_the_one_that_says_yes_less_is_taken():
    # Platt's targets are 2/3 and 1/3: 2(2/3)/(1+1) above both, 2(1)/(2+1) above one
    assert best_threshold([0.75, 0.25], [True, False]) == pytest.approx(0.5)
    assert best_threshold([0.25, 0.75], [False, True]) == pytest.approx(0.5)


def test_a_common_threshold_suits_a_small_set_as_much_as_a_large_one():
    large = [(0.9, True)] * 400 + [(0.7, False)] * 400
    small = [(0.3, True)] * 20 + [(0.1, False)] * 20
    rows = large + small
    names = ["large"] * len(large) + ["small"] * len(small)
    probabilities, labels = [p for p, _ in rows], [label for _, label in rows]
    # yes above 0.7: large is right, small says never yes. Yes above 0.1: small is right, large says yes to all: 2/3.
    assert best_threshold(probabilities, labels) > 0.3
    assert 0.1 < common_threshold(probabilities, labels, names) < 0.3


def test_a_common_threshold_of_one_set_is_its_own():
    probabilities, labels = [0.9, 0.8, 0.4, 0.3, 0.2], [True, True, False, True, False]
    assert common_threshold(probabilities, labels, ["a"] * 5) == pytest.approx(best_threshold(probabilities, labels))
