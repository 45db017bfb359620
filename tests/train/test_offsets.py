"""Offsets of plans: fitted by coordinate ascent, told by folds."""

from __future__ import annotations

import math

import pytest

from dragoman.train.offsets import fit_offsets, macro_f1

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


def test_offsets_that_do_not_help_across_folds_are_not_kept():
    chances = [{NULL: 0.5 + 0.01 * (i % 7), P: 0.5 - 0.01 * (i % 7)} for i in range(20)]
    gold = [P if i in (3, 11) else NULL for i in range(20)]
    fitted = fit_offsets(chances, gold, groups=[i // 2 for i in range(20)])
    if not fitted.offsets:
        assert fitted.folds == fitted.before == fitted.after
    else:
        assert fitted.folds > fitted.before


def test_a_perfect_planner_is_left_alone():
    chances = [{NULL: 0.9, P: 0.1}, {NULL: 0.2, P: 0.8}] * 10
    fitted = fit_offsets(chances, [NULL, P] * 10)
    assert fitted.offsets == {} and fitted.before == fitted.folds == 1.0
