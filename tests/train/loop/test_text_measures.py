"""What is measured of scores, on lists that can be counted by hand."""

from __future__ import annotations

import pytest
import torch

from dragoman.train.loop.text_measures import measures_of

MANY = 40
"""Thresholds are fitted to all rows: where each stands so often, they part what can be parted."""


def test_yes_or_no_is_measured_at_its_best_threshold():
    scores = torch.tensor([[2.0], [1.0], [0.5], [-1.0]]).repeat(MANY, 1)
    found = measures_of("binary", scores, torch.tensor([1.0, 0.0, 1.0, 0.0]).repeat(MANY))
    # a cut below 0.5 finds both with one too many: 2 x 2 / (3 + 2)
    assert found["f1"] == pytest.approx(0.8)
    assert found["auc"] == pytest.approx(0.75)
    assert found["ap"] == pytest.approx((1 + 2 / 3) / 2)


def test_labels_are_counted_together_each_at_its_own_threshold():
    scores = torch.tensor([[3.0, -4.0], [-3.0, -2.0], [2.0, -4.0]]).repeat(MANY, 1)
    labels = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]).repeat(MANY, 1)
    found = measures_of("multi", scores, labels)
    assert (found["f1"], found["exact"], found["auc"]) == (1.0, 1.0, 1.0)


def test_label_with_one_class_is_left_out_of_the_mean_area():
    scores = torch.tensor([[3.0, 1.0], [-3.0, 2.0], [4.0, 3.0]])
    labels = torch.tensor([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    found = measures_of("multi", scores, labels)
    assert found["auc"] == 1.0


def test_share_of_rows_with_every_label_right():
    # each label is a yes from 0 on, and the fifth row is as the first, with another truth
    scores = torch.tensor([[3.0, 3.0], [-3.0, -3.0], [3.0, -3.0], [-3.0, 3.0], [3.0, 3.0]]).repeat(MANY, 1)
    labels = torch.tensor([[1.0, 1.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]).repeat(MANY, 1)
    found = measures_of("multi", scores, labels)
    assert found["exact"] == pytest.approx(0.8)
    # of 6 x 40 times yes 5 x 40 are right, and all 5 x 40 that there are
    assert (found["precision"], found["recall"]) == pytest.approx((5 / 6, 1.0))
