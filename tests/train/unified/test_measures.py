"""What is measured on dev, by hand."""

from __future__ import annotations

import math

import pytest

from dragoman.train.unified.measures import Scored, TurnOutcome, hit_at_1, measure_names, measures, most_probable

RIGHT, WRONG = Scored("P", True, 0.8, 0.2), Scored("P", False, 0.3, 0.1)


def outcome(plan, gold, candidates=(), response=(), check=None, name="t"):
    return TurnOutcome(name, gold, plan, check, tuple(candidates), tuple(response))


def test_of_equally_probable_orders_the_shortest_is_said():
    assert most_probable({("P",): 0.5, (): 0.5}) == ()


def test_a_hit_is_the_best_candidate_of_a_source_being_right():
    hit = outcome({(): 1.0}, (), [RIGHT, WRONG])
    miss = outcome({(): 1.0}, (), [RIGHT, Scored("P", False, 0.9, 2.0)])
    tied = outcome({(): 1.0}, (), [Scored("P", True, 0.5, 1.0), Scored("P", False, 0.5, 1.0)])
    nothing = outcome({(): 1.0}, (), [WRONG])
    assert hit_at_1([hit, miss, nothing], "P") == 0.5
    assert hit_at_1([tied], "P") == 0.0  # a tie is no hit
    assert math.isnan(hit_at_1([nothing], "P")) and math.isnan(hit_at_1([hit], "D"))


def test_the_log_odds_of_a_similarity():
    assert RIGHT.odds == pytest.approx(math.log(4))
    assert math.isfinite(Scored("P", True, 1.0, 0.0).odds)


def test_measures_by_hand():
    rows = [
        outcome({(): 0.8, ("P",): 0.2}, (), [WRONG], [1.0, 3.0], check={(): 0.5, ("P",): 0.5}),
        outcome({(): 0.6, ("P",): 0.4}, ("P",), [RIGHT, WRONG], [2.0], check={(): 0.1, ("P",): 0.9}),
    ]
    found = measures(rows)
    assert found["plan/loss"] == pytest.approx(-(math.log(0.8) + math.log(0.4)) / 2)
    assert found["plan/f1"] == pytest.approx((2 / 3 + 0) / 2)
    assert found["check/f1"] == 1.0
    assert found["response/loss"] == 2.0  # over words, not over turns
    assert found["hit@1"] == found["hit@1/P"] == 1.0
    assert found["similarity/loss"] == pytest.approx(0.4 / 3)
    good = [found["plan/f1"], 1.0, 1.0, math.exp(-2)]
    assert found["score"] == pytest.approx(sum(good) / 4)
    parts = ("plan/loss", "check/loss", "similarity/loss", "response/loss")
    assert found["loss"] == pytest.approx(sum(found[name] for name in parts))
    assert set(found) == set(measure_names(["P"]))  # what may be named is what is measured
    halved = measures(rows, {"response": 0.5})
    assert halved["loss"] == pytest.approx(found["loss"] - 1.0)


def test_what_dev_has_no_labels_for_is_left_out():
    found = measures([outcome({(): 1.0}, None, [], [1.0])])
    assert set(found) == {"response/loss", "loss", "score"}
