"""Measures of a joint scorer."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.datasets.pair_rows import PairRow
from dragoman.train.joint_measures import by_kind, measured, ranked


def test_lists_without_a_right_or_a_wrong_row_do_not_count():
    groups = [str(number // 3) for number in range(30)]
    truth = [number % 3 == 0 for number in range(27)] + [False] * 3
    found = ranked([-float(number) for number in range(30)], truth, groups)
    assert found["lists"] == 9
    assert found["hit@1"] == pytest.approx(1.0)
    assert found["ndcg@3"] == pytest.approx(1.0)


def test_unsupported_claims_may_be_neutral_or_contradicted():
    rows = [PairRow("q2", "p", "c", entails="unsupported")] * 8 + [PairRow("q2", "p", "c", entails="entailed")] * 8
    scores = np.array([[0, 1, 0]] * 4 + [[0, 0, 1]] * 4 + [[1, 0, 0]] * 4 + [[0, 1, 0]] * 4, dtype=np.float32)
    found = measured(rows, {"entails": scores})
    assert found["q2/entails/accuracy"] == pytest.approx(0.75)
    assert found["q2/entails/macro"] == pytest.approx(0.75)


def test_verdicts_are_counted_by_kind():
    rows = [PairRow("houses", "q", "t", kind="age/yes", verdict="yes"), PairRow("houses", "q", "t", kind="x", needs=1)]
    assert by_kind(rows, {"verdict": np.array([[2, 0, 0, 0], [0, 0, 0, 0]])}) == {"age/yes": (1.0, 1)}
