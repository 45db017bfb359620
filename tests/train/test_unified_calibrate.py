"""What dev fits: the calibration of similarities by source, and offsets by how a plan is made."""

from __future__ import annotations

import math

import pytest

from dragoman.models.part import Head
from dragoman.train.unified_calibrate import SIMILAR, calibrated, plan_offsets
from dragoman.train.unified_measures import Outcome, Scored

PLANS = {(): 0.6, ("TIMES",): 0.4}


def judged(source, right, count):
    """Candidates of which those with the larger similarity are mostly right."""
    return [Scored(source, (n % 10 == 0) != right, 0.8 if right else 0.3, 0.1) for n in range(count)]


def test_a_source_with_few_candidates_has_no_calibration_of_its_own():
    rows = [*judged("TIMES", True, 40), *judged("TIMES", False, 40), *judged("PRICES", True, 5)]
    head = calibrated([Outcome("x", None, PLANS, candidates=tuple(rows))], "platt")
    assert set(head.calibrations) == {SIMILAR, "TIMES"}
    odds = rows[0].odds
    assert head.calibrations["TIMES"].probability(odds) == pytest.approx(0.9, abs=0.03)  # nine of ten are right


def test_without_candidates_nothing_is_calibrated():
    assert calibrated([Outcome("x", None, PLANS)], "platt") == Head((SIMILAR,))


def test_offsets_are_fitted_for_each_way_in_which_all_turns_have_the_same_orders():
    chances = {(): {(): 0.8, ("TIMES",): 0.2}, ("TIMES",): {(): 0.6, ("TIMES",): 0.4}}
    turns = [Outcome(str(n), gold, chances[gold]) for n in range(10) for gold in chances]
    found, told = plan_offsets(turns, {one.id: one.id for one in turns})
    assert set(found) == {"context"}  # no turn was planned again after reading
    shift = found["context"].get("TIMES", 0.0) - found["context"].get("", 0.0)
    assert math.log(0.6 / 0.4) < shift < math.log(0.8 / 0.2)  # between them all turns come out right
    assert told == {"offsets/context/before": pytest.approx(1 / 3), "offsets/context/folds": 1.0}
    assert plan_offsets([*turns, Outcome("more", (), {(): 1.0})], {**{one.id: "" for one in turns}, "more": ""}) == (
        {},
        {},
    )
