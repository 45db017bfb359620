"""The losses of a unified model, by hand (UniMS-RAG, Eq. 7)."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.train.unified.losses import (
    class_weights,
    similarity_margin,
    similarity_targets,
    soft_cross_entropy,
    total_loss,
    weighted_mean,
)


def test_a_hard_similarity_is_its_nearest_tenth():
    found = similarity_targets(torch.tensor([0.0, 0.25, 0.34, 1.0]))
    assert found.argmax(1).tolist() == [0, 3, 3, 10]
    assert found.sum(1).tolist() == [1.0] * 4 and found.max(1).values.tolist() == [1.0] * 4


def test_a_soft_similarity_is_shared_by_its_two_neighbours():
    found = similarity_targets(torch.tensor([0.72, 1.0]), soft=True)
    assert found[0, 7] == pytest.approx(0.8, abs=1e-5) and found[0, 8] == pytest.approx(0.2, abs=1e-5)
    assert found[1, 10] == 1.0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_the_mean_of_soft_shares_is_the_value_itself(values):
    found = similarity_targets(torch.tensor(values), soft=True)
    means = found @ (torch.arange(11) / 10)
    assert means.tolist() == pytest.approx(values, abs=1e-5)
    assert found.sum(1).tolist() == pytest.approx([1.0] * len(values), abs=1e-5)


def test_a_choice_costs_the_logarithm_of_its_share():
    logits = torch.log(torch.tensor([[0.2, 0.3, 0.5]])) + 4.0
    assert float(soft_cross_entropy(logits, torch.tensor([[0.0, 0.0, 1.0]]))) == pytest.approx(math.log(2), abs=1e-6)
    both = float(soft_cross_entropy(logits, torch.tensor([[0.5, 0.0, 0.5]])))
    assert both == pytest.approx(-0.5 * math.log(0.2) - 0.5 * math.log(0.5), abs=1e-6)


def test_candidates_are_compared_by_the_two_ends_of_the_scale():
    logits = torch.zeros(2, 11)
    logits[0, 10], logits[0, 0], logits[1, 5] = 2.0, -1.0, 9.0
    assert similarity_margin(logits).tolist() == [3.0, 0.0]


def test_weights_scale_a_place_and_do_not_thin_the_mean():
    # (2 x 1 + 1 x 3) / 2 places
    assert float(weighted_mean(torch.tensor([1.0, 3.0]), torch.tensor([2.0, 1.0]))) == 2.5
    assert float(weighted_mean(torch.zeros(0), torch.zeros(0))) == 0.0


def test_the_parts_are_summed_by_their_weights():
    parts = {"plan": torch.tensor(1.0), "similarity": torch.tensor(2.0), "response": torch.tensor(3.0)}
    assert float(total_loss(parts, {})) == 6.0  # Eq. 7
    assert float(total_loss(parts, {"plan": 2.0, "similarity": 0.0})) == 5.0


def test_class_weights_lift_what_is_rare():
    plans = [()] * 6 + [("P",)] * 2 + [("P", "D")]  # N = 9, K = 3
    assert class_weights(plans, power=1.0) == {(): 0.5, ("P",): 1.5, ("P", "D"): 3.0}
    assert set(class_weights(plans, power=0.0).values()) == {1.0}
    halfway = class_weights(plans, power=0.5)
    assert halfway[("P", "D")] == pytest.approx(math.sqrt(3))
    assert class_weights([()] * 999 + [("P",)], power=1.0)[("P",)] == 10.0  # no more than ten times an average one


def test_a_batch_without_anything_to_learn_has_no_loss():
    loss = total_loss({}, {})
    loss.backward()
    assert float(loss.detach()) == 0.0
