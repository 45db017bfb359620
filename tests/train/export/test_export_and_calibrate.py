"""The end of a training: calibrations, thresholds and metrics of a head from its scores."""

from __future__ import annotations

import math

import pytest

from dragoman.models.calibration import Logistic
from dragoman.train.contract import Corpus, Job
from dragoman.train.export.export_and_calibrate import Held, fit_head, head_metrics, made_from
from dragoman.train.spec import CalibrationSpec, Recipe

SCORES = [[float(i % 7) - 3] for i in range(70)]
TRUTH = [float(score[0] + (i % 5 == 0) > 0.5) for i, score in enumerate(SCORES)]


def test_plain_scores_and_a_half_where_that_is_asked_for():
    head = fit_head(Held(("retrieve",), (), TRUTH), SCORES, CalibrationSpec(method="none", threshold="half"))
    assert head.calibrations["retrieve"] == Logistic()
    assert head.threshold() == 0.5


def test_threshold_of_the_recipe_is_taken_as_it_is():
    head = fit_head(Held(("retrieve",), (), TRUTH), SCORES, CalibrationSpec(method="none", threshold=0.3))
    assert head.threshold() == 0.3


def test_calibrated_probabilities_are_as_often_right_as_they_say():
    head = fit_head(Held(("retrieve",), (), TRUTH), SCORES, CalibrationSpec())
    mean = sum(head.probability(score[0]) for score in SCORES) / len(SCORES)
    assert mean == pytest.approx(sum(TRUTH) / len(TRUTH), abs=0.03)


def test_folds_are_pooled_with_dev():
    opposite = [1 - truth for truth in TRUTH]
    alone = fit_head(Held(("retrieve",), (), TRUTH), SCORES, CalibrationSpec())
    pooled = fit_head(Held(("retrieve",), (), TRUTH, folds=(SCORES, opposite)), SCORES, CalibrationSpec())
    # what dev says and what the folds say cancel out: the score says nothing any more
    assert pooled.probability(3.0) == pytest.approx(0.5, abs=0.02)
    assert alone.probability(3.0) > 0.9


def test_each_label_is_fitted_by_itself():
    scores = [[score[0], -score[0]] for score in SCORES]
    truth = [[label, label] for label in TRUTH]
    head = fit_head(Held(("a", "b"), (), truth, kind="multi"), scores, CalibrationSpec())
    assert head.probability(3.0, "a") == pytest.approx(head.probability(-3.0, "a") + 0.9, abs=0.1)
    # scores that point the wrong way are flattened, not turned round
    assert abs(head.probability(3.0, "b") - head.probability(-3.0, "b")) < 0.05


def test_metrics_of_one_label_have_plain_names():
    held = Held(("retrieve",), (), TRUTH, folds=(SCORES, TRUTH))
    head = fit_head(held, SCORES, CalibrationSpec())
    found = head_metrics(head, held, SCORES)
    assert {"f1", "auc", "ece", "folds/f1", "folds/auc"} <= set(found)
    assert found["f1"] == found["folds/f1"]


def test_metrics_of_several_labels_are_named_by_them():
    scores = [[score[0], score[0]] for score in SCORES]
    held = Held(("a", "b"), (), [[label, 0.0] for label in TRUTH], kind="multi")
    found = head_metrics(fit_head(held, scores, CalibrationSpec()), held, scores)
    assert {"a/f1", "b/rate", "exact"} <= set(found)
    # what is undefined, as the area for a label that is never true, is left out
    assert "b/auc" not in found


def test_part_says_where_it_comes_from(tmp_path):
    side = Corpus((), (), origin=({"name": "a.jsonl", "sha256": "ab", "rows": 3},))
    recipe = Recipe(kind="gate.x", licence="MIT")
    made = made_from(Job(recipe, side, side, tmp_path, aux=side), {"f1": 0.12345678})
    assert made["data"]["aux"]["files"] == [{"name": "a.jsonl", "sha256": "ab", "rows": 3}]
    assert made["metrics"] == {"f1": 0.123457}
    assert (made["licence"], made["recipe"]["kind"]) == ("MIT", "gate.x")
    assert {"dragoman", "torch"} <= set(made["versions"])


def test_labels_are_judged_together_at_the_thresholds_of_the_head():
    held = Held(("a", "b"), (), [[1, 0], [0, 1], [1, 1], [0, 0]], kind="multi")
    scores = [[2.0, 0.5], [-2.0, 2.0], [0.5, 2.0], [-2.0, -2.0]]
    head = fit_head(held, scores, CalibrationSpec(method="none", threshold=0.8))
    found = head_metrics(head, held, scores)
    # yes from log 4 = 1.39 on: of the four that are true three are found, and nothing else
    assert (found["precision"], found["recall"], found["f1"]) == pytest.approx((1.0, 3 / 4, 6 / 7))
    assert found["exact"] == 3 / 4
    assert found["loss"] == pytest.approx(
        sum(math.log1p(math.exp(-score)) for score in (2.0, -0.5, 2.0, 2.0, 0.5, 2.0, 2.0, 2.0)) / 8
    )


def test_threshold_of_what_is_held_stands_in_for_the_recipes():
    head = fit_head(Held(("retrieve",), (), TRUTH, threshold=0.5), SCORES, CalibrationSpec())
    assert head.threshold() == 0.5
