"""Each loss against a figure worked out by hand, and against torch's own where it has one."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from dragoman.train.loop.losses import binary_loss, listwise_loss


def test_binary_loss_by_hand():
    # p = 3/4 for log-odds ln 3: -ln(3/4) for the yes, -ln(1/4) for the no
    scores = torch.tensor([math.log(3), math.log(3)])
    expected = (-math.log(0.75) - math.log(0.25)) / 2
    assert float(binary_loss(scores, torch.tensor([1.0, 0.0]))) == pytest.approx(expected, abs=1e-6)


def test_a_positive_counts_as_often_as_its_weight():
    scores = torch.tensor([math.log(3), math.log(3)])
    expected = (-5 * math.log(0.75) - math.log(0.25)) / 2
    assert float(binary_loss(scores, torch.tensor([1.0, 0.0]), positive=5.0)) == pytest.approx(expected, abs=1e-6)


def test_focal_loss_by_hand():
    # (1 - 3/4)^2 on the yes, (3/4)^2 on the no
    scores = torch.tensor([math.log(3), math.log(3)])
    expected = (-(0.25**2) * math.log(0.75) - 0.75**2 * math.log(0.25)) / 2
    assert float(binary_loss(scores, torch.tensor([1.0, 0.0]), focal=2.0)) == pytest.approx(expected, abs=1e-6)


def test_soft_label_is_both_labels_by_their_share():
    score = torch.tensor([math.log(3)])
    expected = -0.6 * math.log(0.75) - 0.4 * math.log(0.25)
    assert float(binary_loss(score, torch.tensor([0.6]))) == pytest.approx(expected, abs=1e-6)


def test_weight_of_a_row_does_not_depend_on_the_rows_beside_it():
    scores, targets = torch.tensor([1.0, -2.0, 0.5]), torch.tensor([1.0, 0.0, 0.0])
    weights = torch.tensor([2.0, 0.0, 1.0])
    each = [float(binary_loss(scores[i : i + 1], targets[i : i + 1])) for i in range(3)]
    expected = (2 * each[0] + each[2]) / 3
    assert float(binary_loss(scores, targets, weights=weights)) == pytest.approx(expected, abs=1e-6)


def test_labels_have_weights_of_their_own():
    scores, targets = torch.zeros(2, 2), torch.tensor([[1.0, 1.0], [0.0, 1.0]])
    # every term is ln 2, the positives of the second label counting three times
    expected = math.log(2) * (1 + 3 + 1 + 3) / 4
    assert float(binary_loss(scores, targets, positive=torch.tensor([1.0, 3.0]))) == pytest.approx(expected, abs=1e-6)


@given(st.lists(st.tuples(st.floats(-20, 20), st.booleans()), min_size=1, max_size=12), st.floats(0.1, 10))
def test_plain_binary_loss_is_torchs(rows, weight):
    scores, targets = torch.tensor([row[0] for row in rows]), torch.tensor([float(row[1]) for row in rows])
    expected = functional.binary_cross_entropy_with_logits(scores, targets, pos_weight=torch.tensor(weight))
    assert float(binary_loss(scores, targets, positive=weight)) == pytest.approx(float(expected), rel=1e-4, abs=1e-5)


def test_gradient_stays_finite_at_extreme_scores():
    scores = torch.tensor([500.0, -500.0], requires_grad=True)
    binary_loss(scores, torch.tensor([0.0, 1.0]), focal=2.0).backward()
    assert torch.isfinite(scores.grad).all()


def test_listwise_loss_by_hand():
    # softmax of (ln 3, 0) is (3/4, 1/4), of (0, 0, 0) thirds
    scores = torch.tensor([math.log(3), 0.0, 0.0, 0.0, 0.0])
    targets = torch.tensor([1.0, 0.0, 0.0, 1.0, 0.0])
    groups = torch.tensor([7, 7, 4, 4, 4])
    expected = (-math.log(0.75) - math.log(1 / 3)) / 2
    assert float(listwise_loss(scores, targets, groups)) == pytest.approx(expected, abs=1e-6)


def test_several_right_rows_share_a_list():
    scores = torch.tensor([math.log(3), 0.0])
    expected = -0.5 * math.log(0.75) - 0.5 * math.log(0.25)
    assert float(listwise_loss(scores, torch.ones(2), torch.zeros(2))) == pytest.approx(expected, abs=1e-6)


def test_list_without_anything_right_teaches_nothing():
    scores = torch.tensor([math.log(3), 0.0, 5.0, -5.0], requires_grad=True)
    loss = listwise_loss(scores, torch.tensor([1.0, 0.0, 0.0, 0.0]), torch.tensor([0, 0, 1, 1]))
    loss.backward()
    assert float(loss.detach()) == pytest.approx(-math.log(0.75), abs=1e-6)
    assert scores.grad[2:].tolist() == [0.0, 0.0]


def test_no_list_with_anything_right_is_a_loss_of_nothing():
    assert float(listwise_loss(torch.tensor([1.0, 2.0]), torch.zeros(2), torch.zeros(2))) == 0.0


@given(st.lists(st.floats(-80, 80), min_size=2, max_size=10), st.data())
def test_listwise_loss_of_one_list_is_torchs_cross_entropy(scores, data):
    right = data.draw(st.integers(0, len(scores) - 1))
    given_scores = torch.tensor(scores)
    targets = functional.one_hot(torch.tensor(right), len(scores)).float()
    expected = functional.cross_entropy(given_scores.unsqueeze(0), torch.tensor([right]))
    found = listwise_loss(given_scores, targets, torch.zeros(len(scores)))
    assert float(found) == pytest.approx(float(expected), rel=1e-4, abs=1e-4)


def test_listwise_gradient_is_softmax_less_the_targets():
    scores = torch.tensor([0.3, -1.0, 2.0], requires_grad=True)
    targets = torch.tensor([0.0, 1.0, 0.0])
    listwise_loss(scores, targets, torch.zeros(3)).backward()
    assert torch.allclose(scores.grad, torch.softmax(scores.detach(), 0) - targets, atol=1e-6)
