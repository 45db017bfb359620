"""What is measured on dev, by hand and against evaluation's own metrics."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.train.loop.measures import binary, calibration_error, cross_fitted
from dragoman.train.spec import CalibrationSpec

PROBABILITIES, LABELS = [0.9, 0.8, 0.6, 0.3, 0.1], [True, False, True, True, False]


def test_counts_by_hand():
    found = binary(PROBABILITIES, LABELS, 0.5)
    # yes to the first three, of which two are right; three should have been
    assert found["precision"] == pytest.approx(2 / 3)
    assert found["recall"] == pytest.approx(2 / 3)
    assert found["f1"] == pytest.approx(2 / 3)
    assert found["rate"] == pytest.approx(3 / 5)


def test_curves_by_hand():
    found = binary(PROBABILITIES, LABELS, 0.5)
    assert found["auc"] == pytest.approx(4 / 6)  # of six pairs, 0.9 beats both, 0.6 and 0.3 beat 0.1
    assert found["ap"] == pytest.approx((1 / 1 + 2 / 3 + 3 / 4) / 3)


def test_calibration_error_by_hand():
    # bins (.8, .9]: .1 short; (.7, .8]: .8 over; (.5, .6]: .4 short; (.2, .3]: .7 short; (0, .1]: .1 over
    assert calibration_error(PROBABILITIES, LABELS) == pytest.approx((0.1 + 0.8 + 0.4 + 0.7 + 0.1) / 5)


def test_probabilities_that_hold_have_no_calibration_error():
    probabilities = [0.25] * 4 + [0.8] * 5
    labels = [True] + [False] * 3 + [True] * 4 + [False]
    assert calibration_error(probabilities, labels) == pytest.approx(0.0)


def test_what_is_not_defined_is_nan():
    alone = binary([0.2, 0.4], [False, False], 0.5)
    assert math.isnan(alone["auc"])
    assert math.isnan(alone["f1"])
    assert alone["precision"] == 0.0
    assert all(math.isnan(value) for value in binary([], [], 0.5).values())


@given(rows=st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=2, max_size=40), cut=st.floats(0, 1))
def test_the_figures_are_those_that_evaluation_prints(rows, cut):
    from dragoman.evaluate.metrics import calibration, curves, gate

    probabilities, labels = [row[0] for row in rows], [row[1] for row in rows]
    said = [value >= cut for value in probabilities]
    ours = binary(probabilities, labels, cut)
    wanted = {
        "precision": gate.precision(labels, said),
        "recall": gate.recall(labels, said),
        "f1": gate.f1(labels, said),
        "ece": calibration.expected_calibration_error(labels, probabilities),
    }
    if 0 < sum(labels) < len(labels):
        wanted["auc"] = curves.roc_auc(labels, probabilities)
        wanted["ap"] = curves.average_precision(labels, probabilities)
    for name, value in wanted.items():
        np.testing.assert_allclose(ours[name], value, atol=1e-9, err_msg=name)


def test_folds_are_cut_where_the_recipe_cuts():
    scores, labels, folds = [2.0, 1.0, -1.0, -2.0] * 4, [True, True, True, False] * 4, [0, 0, 1, 1] * 4
    half = cross_fitted(scores, labels, folds, CalibrationSpec(method="none", threshold="half"))
    assert half["recall"] == pytest.approx(2 / 3)  # a score of -1 is less than a half
    best = cross_fitted(scores, labels, folds, CalibrationSpec(method="none", threshold=0.2))
    assert best["recall"] == 1.0
