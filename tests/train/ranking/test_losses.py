"""Losses and measures of ranking, by hand."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.train.ranking.losses import contrastive, first_right, hit_and_mrr, pair_loss

YES, NO = True, False


def test_unims_equation_5_of_a_worked_example():
    """cos = 0.8 right, 0.5 and 0.1 wrong, temperature 0.1: -log e^8 / (e^8 + e^5 + e^1)."""
    scores = torch.tensor([[0.8, 0.5, 0.1]]) / 0.1
    right = torch.tensor([[YES, NO, NO]])
    expected = -math.log(math.exp(8) / (math.exp(8) + math.exp(5) + math.exp(1)))
    assert float(contrastive(scores, right, ~right)) == pytest.approx(expected, rel=1e-5)


def test_each_that_is_right_stands_against_the_wrong_alone():
    """Two right (2 and 1) and one wrong (0): the mean of log(1 + e^-2) and log(1 + e^-1)."""
    scores, right = torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([[YES, YES, NO]])
    expected = (math.log(1 + math.exp(-2)) + math.log(1 + math.exp(-1))) / 2
    assert float(contrastive(scores, right, ~right)) == pytest.approx(expected, rel=1e-5)


def test_what_is_neither_right_nor_wrong_does_not_count():
    scores, right = torch.tensor([[1.0, 0.0, 50.0]]), torch.tensor([[YES, NO, NO]])
    wrong = torch.tensor([[NO, YES, NO]])
    assert float(contrastive(scores, right, wrong)) == pytest.approx(math.log(1 + math.exp(-1)), rel=1e-5)


def test_rows_where_nothing_is_right_are_left_out_of_the_mean():
    scores = torch.tensor([[1.0, 0.0], [5.0, 5.0]])
    right = torch.tensor([[YES, NO], [NO, NO]])
    assert float(contrastive(scores, right, ~right)) == pytest.approx(math.log(1 + math.exp(-1)), rel=1e-5)


def test_a_row_without_negatives_has_no_loss_and_a_finite_gradient():
    scores = torch.tensor([[3.0, 1.0]], requires_grad=True)
    right = torch.tensor([[YES, YES]])
    loss = contrastive(scores, right, ~right)
    loss.backward()
    assert float(loss.detach()) == pytest.approx(0.0, abs=1e-6)
    assert bool(torch.isfinite(scores.grad).all())


def test_judging_is_the_cross_entropy_of_the_pairs_that_count():
    """log-odds 2 and right, log-odds 0 and wrong; the third does not count."""
    scores, right = torch.tensor([[2.0, 0.0, 9.0]]), torch.tensor([[YES, NO, NO]])
    counted = torch.tensor([[YES, YES, NO]])
    expected = (math.log(1 + math.exp(-2)) + math.log(2)) / 2
    assert float(pair_loss(scores, right, counted)) == pytest.approx(expected, rel=1e-5)


def test_among_equal_scores_the_wrong_come_first():
    assert first_right([0.5, 0.5, 0.1], [YES, NO, YES]) == 2


def test_nothing_right_has_no_rank_and_is_a_miss():
    assert first_right([0.5], [NO]) is None
    assert hit_and_mrr([1, 2, None, 1]) == {"hit@1": 0.5, "mrr": pytest.approx((1 + 0.5 + 1) / 4)}


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=8), st.floats(0.01, 3.0))
def test_raising_what_is_right_never_raises_the_loss(scores, more):
    right = torch.zeros(1, len(scores), dtype=torch.bool)
    right[0, 0] = True
    before = contrastive(torch.tensor([scores]), right, ~right)
    after = contrastive(torch.tensor([[scores[0] + more, *scores[1:]]]), right, ~right)
    assert float(after) <= float(before) + 1e-5
