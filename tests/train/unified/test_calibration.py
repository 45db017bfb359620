"""What dev fits: the calibration of similarities by source, and offsets by how a plan is made."""

from __future__ import annotations

import math

import pytest

from dragoman.models.part import Head
from dragoman.train.unified.calibration import SIMILAR, plan_offsets, plan_share, similarity_calibrations
from dragoman.train.unified.measures import Scored, TurnOutcome

PLANS = {(): 0.6, ("TIMES",): 0.4}


def judged(source, right, count):
    """Candidates of which those with the larger similarity are mostly right."""
    return [Scored(source, (n % 10 == 0) != right, 0.8 if right else 0.3, 0.1) for n in range(count)]


def test_a_source_with_few_candidates_has_no_calibration_of_its_own():
    rows = [*judged("TIMES", True, 40), *judged("TIMES", False, 40), *judged("PRICES", True, 5)]
    head = similarity_calibrations([TurnOutcome("x", None, PLANS, candidates=tuple(rows))], "platt")
    assert set(head.calibrations) == {SIMILAR, "TIMES"}
    odds = rows[0].odds
    assert head.calibrations["TIMES"].probability(odds) == pytest.approx(0.9, abs=0.03)  # nine of ten are right


def test_without_candidates_nothing_is_calibrated():
    assert similarity_calibrations([TurnOutcome("x", None, PLANS)], "platt") == Head((SIMILAR,))


def test_offsets_are_fitted_for_each_way_in_which_all_turns_have_the_same_orders():
    chances = {(): {(): 0.8, ("TIMES",): 0.2}, ("TIMES",): {(): 0.6, ("TIMES",): 0.4}}
    turns = [TurnOutcome(str(n), gold, chances[gold]) for n in range(10) for gold in chances]
    found, told = plan_offsets(turns, {one.id: one.id for one in turns})
    assert set(found) == {"context"}  # no turn was planned again after reading
    shift = found["context"].get("TIMES", 0.0) - found["context"].get("", 0.0)
    assert math.log(0.6 / 0.4) < shift < math.log(0.8 / 0.2)  # between them all turns come out right
    assert told == {"offsets/context/before": pytest.approx(1 / 3), "offsets/context/folds": 1.0}
    assert plan_offsets(
        [*turns, TurnOutcome("more", (), {(): 1.0})], {**{one.id: "" for one in turns}, "more": ""}
    ) == (
        {},
        {},
    )


@pytest.mark.parametrize(
    ("after", "share"),
    [
        ((0.9, 0.9), 0.0),  # reading is always the better guide
        ((0.1, 0.1), 1.0),  # never
        ((0.9, 0.1), 0.5),  # once better, once worse, by as much: the mean
    ],
)
def test_the_share_of_the_plan_before_reading_makes_devs_plans_most_probable(after, share):
    before = {(): 0.5, ("TIMES",): 0.5}
    turns = [
        TurnOutcome(str(n), ("TIMES",), before, check={(): 1 - chance, ("TIMES",): chance})
        for n, chance in enumerate(after)
    ]
    if share == 0.5:
        turns = [
            TurnOutcome(str(n), ("TIMES",), {(): chance, ("TIMES",): 1 - chance}, check=one.check)
            for n, (one, chance) in enumerate(zip(turns, after, strict=True))
        ]
    assert plan_share(turns) == share


def test_the_share_is_even_where_nothing_was_read():
    assert plan_share([TurnOutcome("x", (), PLANS)]) == 0.5
    assert plan_share([TurnOutcome("x", ("PRICES",), PLANS, check=PLANS)]) == 0.5  # no order that could have been said


def test_offsets_of_the_mean_are_those_of_its_share():
    turns = [
        TurnOutcome(
            str(n),
            gold,
            {(): 0.5, ("TIMES",): 0.5},
            check={(): 0.9, ("TIMES",): 0.1} if gold else {(): 1.0, ("TIMES",): 0.0},
        )
        for n in range(10)
        for gold in ((), ("TIMES",))
    ]
    dialogues = {one.id: one.id for one in turns}
    alone = plan_offsets(turns, dialogues, share=0.0)[0]["average"]
    assert alone == plan_offsets(turns, dialogues)[0]["check"]
