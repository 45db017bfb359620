"""Offsets of plans: fitted by coordinate ascent, told by folds."""

from __future__ import annotations

import math
import random
import statistics

import numpy as np
import pytest

from dragoman.train.unified import plan_offsets
from dragoman.train.unified.plan_offsets import _calibrated, _expected, _table, fit_offsets, macro_f1

NULL, P, BOTH = (), ("P",), ("P", "D")


def test_macro_f1_is_the_mean_over_the_decisions_of_gold():
    # NULL: 2 x 1 / (1 + 2); P: 2 x 1 / (2 + 1); both: nobody asked
    assert macro_f1([NULL, P, P], [NULL, P, NULL]) == pytest.approx((2 / 3 + 2 / 3) / 2)
    assert macro_f1([("P", "D")], [("D", "P")]) == 1.0  # a decision is a set
    assert math.isnan(macro_f1([], []))


def shy(rare, count=200):
    """A model that ranks a rare decision well and never says it."""
    chances, gold = [], []
    for i in range(count):
        is_rare = i % 10 == 0
        lift = 0.15 if is_rare else 0.0
        chances.append({NULL: 0.6 - lift, rare: 0.25 + lift, BOTH: 0.15})
        gold.append(rare if is_rare else NULL)
    return chances, gold


def test_a_decision_that_is_never_the_most_probable_one_is_lifted():
    chances, gold = shy(P)
    fitted = fit_offsets(chances, gold)
    assert fitted.before < 0.5
    assert fitted.after == fitted.folds == 1.0
    moved = fitted.offsets.get(P, 0.0) - fitted.offsets.get(NULL, 0.0)
    assert math.log(0.45 / 0.4) < moved < math.log(0.6 / 0.25)
    assert BOTH not in fitted.offsets


def test_the_expected_macro_f1_by_hand():
    likely = np.array([[0.2, 0.8], [0.9, 0.1], [0.7, 0.3]])
    said, decisions, truth = np.array([1, 0, 1]), np.array([0, 1]), np.array([1, 0, 0])
    # NULL: 2 x 0.9 / (1 + 1.8); P: 2 x (0.8 + 0.3) / (2 + 1.2)
    assert _expected(said, likely, truth, decisions) == pytest.approx((1.8 / 2.8 + 2.2 / 3.2) / 2)


def test_calibration_finds_the_share_of_each_decision_and_leaves_out_what_gold_never_has():
    chances = [{NULL: 0.5, P: 0.3, BOTH: 0.2}] * 400
    gold = [NULL if i % 4 else P for i in range(400)]
    table, _, truth, decisions = _table(chances, gold)
    assert _calibrated(table, truth, decisions)[0] == pytest.approx([0.75, 0.25, 0.0], abs=0.01)


def test_offsets_of_one_population_are_alike_whatever_turns_were_drawn():
    """Fitted to the labels they vary much more, since the few next to the cut decide."""
    lifts = []
    for seed in range(20):
        dice = random.Random(seed)
        rare = [0.02 + 0.5 * dice.random() ** 3 for _ in range(120)]
        gold = [P if dice.random() < chance else NULL for chance in rare]
        moved = fit_offsets([{NULL: 1 - chance, P: chance} for chance in rare], gold).offsets
        lifts.append(moved.get(P, 0.0) - moved.get(NULL, 0.0))
    assert statistics.pstdev(lifts) < 0.3
    assert 0.6 < statistics.mean(lifts) < 1.2


def test_offsets_that_harm_across_folds_are_not_kept(monkeypatch):
    chances, gold = shy(P)
    calls = []

    def wrong(table, truth, decisions, movable):
        calls.append(len(truth))
        return np.array([0.0, -4.0, 4.0])

    monkeypatch.setattr(plan_offsets, "_best", wrong)
    fitted = fit_offsets(chances, gold)
    assert fitted.offsets == {} and fitted.folds == fitted.before == fitted.after
    assert calls[0] == 200 and sum(calls[1:]) == 4 * 200


def test_a_perfect_planner_is_left_alone():
    chances = [{NULL: 0.9, P: 0.1}, {NULL: 0.2, P: 0.8}] * 10
    fitted = fit_offsets(chances, [NULL, P] * 10)
    assert fitted.offsets == {} and fitted.before == fitted.folds == 1.0
