"""Figures of a critic by kind, by hand."""

import pytest

from dragoman.train.critic.groundings import LabelledPair
from dragoman.train.critic.measures import balanced, figures


def row(kind, source="P"):
    return LabelledPair("g", "r", kind in ("gold", "echo"), kind, source, "t")


ROWS = [row(kind) for kind in ("gold", "random", "sibling", "number")] + [
    row(kind, "K") for kind in ("gold", "echo", "random", "number")
]
#       gold random sibling number | gold echo random number
SAID = [0.9, 0.1, 0.6, 0.2, 0.4, 0.8, 0.3, 0.5]


def test_accuracies_by_hand():
    # One of two gold pairs is accepted: 1/2. Random: 2 of 2 rejected, (1/2 + 1) / 2 = 3/4. Hard: of sibling (.6),
    # number (.2) and number (.5) one is rejected, (1/2 + 1/3) / 2 = 5/12; number (1/2 + 1/2) / 2. The mean of 3/4 and
    # 5/12 is 7/12.
    found = figures(ROWS, SAID)
    assert found["accepted"] == 0.5
    assert found["accepted_echo"] == 1.0
    assert found["random"] == 0.75
    assert found["hard"] == pytest.approx(5 / 12)
    assert found["number"] == 0.5
    assert found["sibling"] == 0.25
    assert found["accuracy"] == pytest.approx(7 / 12)
    assert found["random/P"] == 1.0
    assert found["hard/K"] == 0.0
    assert "name" not in found


def test_nothing_is_measured_without_gold_pairs():
    assert figures([row("random")], [0.1]) == {}


def test_calibration_sees_as_many_of_the_one_as_of_the_other():
    rows = [row(kind) for _ in range(6) for kind in ("gold", "echo", "random", "sibling", "number")]
    kinds = [rows[place].kind for place in balanced(rows, seed=1)]
    assert kinds[::2] == ["gold"] * 6
    assert kinds[1::4] == ["random"] * 3
    assert set(kinds[3::4]) <= {"sibling", "number"}
    assert balanced(rows, seed=1) == balanced(rows, seed=1)
