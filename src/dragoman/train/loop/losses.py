"""Losses as pure functions of scores and targets; scores are log-odds, targets may be soft."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def binary_loss(
    scores: Tensor,
    targets: Tensor,
    *,
    positive: Tensor | float = 1.0,
    focal: float = 0.0,
    weights: Tensor | None = None,
) -> Tensor:
    """The mean of -w t (1-p)^g log p - (1-t) p^g log(1-p) with p = sigmoid(score), over rows and labels.

    `scores` and `targets` are (B,) or (B, L); `positive` is w, one number or one a label; `focal` is g, 0 for plain
    cross-entropy; `weights` says how much each row counts, (B,). The mean is over rows, not over their weights, so
    that a row counts the same in whichever batch it stands.
    """
    scores, targets = scores.float(), targets.float()
    yes, no = functional.logsigmoid(scores), functional.logsigmoid(-scores)  # log p, log(1 - p)
    if focal:
        each = -(positive * targets * (focal * no).exp() * yes + (1 - targets) * (focal * yes).exp() * no)
    else:
        each = -(positive * targets * yes + (1 - targets) * no)
    if weights is not None:
        each = each * (weights.unsqueeze(-1) if each.dim() > 1 else weights)
    return each.mean()


def listwise_loss(scores: Tensor, targets: Tensor, groups: Tensor, *, weights: Tensor | None = None) -> Tensor:
    """The mean over groups of -sum_i t_i log softmax(s)_i: each positive against the other rows of its group.

    `groups` (B,) numbers the list that each row belongs to. Targets of a group are made to sum to 1; a group where
    nothing is right teaches nothing and is left out of the mean. A group's weight is that of its right rows.
    """
    scores, targets = scores.float(), targets.float()
    names, places = torch.unique(groups, return_inverse=True)
    largest = scores.new_full((len(names),), -torch.inf).scatter_reduce(0, places, scores.detach(), "amax")
    shifted = scores - largest[places]
    total = scores.new_zeros(len(names)).index_add(0, places, shifted.exp())
    logprobs = shifted - total.log()[places]
    right = scores.new_zeros(len(names)).index_add(0, places, targets)
    counted = right > 0
    share = targets / right.clamp(min=torch.finfo(right.dtype).tiny)[places]
    if weights is not None:
        share = share * weights
    return -(share * logprobs).sum() / counted.sum().clamp(min=1)
