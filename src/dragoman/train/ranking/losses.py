"""Losses and measures of ranking, as pure functions of scores and masks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor
from torch.nn import functional

_NEVER = -1e9


def contrastive(scores: Tensor, right: Tensor, wrong: Tensor) -> Tensor:
    """UniMS-RAG Eq. 5: the mean of -log e^s+ / (e^s+ + sum of e^s- over negatives), one term per positive.

    `scores` are (Q, P); `right` and `wrong` are masks of that shape, and what is in neither does not count. A row's
    loss is the mean over what is right in it; rows where nothing is right are left out. Scores are cosines (Eq. 6)
    over a temperature.
    """
    scores = scores.float()
    against = scores.masked_fill(~wrong, _NEVER).logsumexp(1, keepdim=True)  # (Q, 1)
    each = torch.logaddexp(scores, against) - scores  # (Q, P): -log P(right | right or wrong)
    count = right.sum(1)
    mean = each.masked_fill(~right, 0.0).sum(1) / count.clamp(min=1)
    return mean.sum() / (count > 0).sum().clamp(min=1)


def pair_loss(scores: Tensor, right: Tensor, counted: Tensor) -> Tensor:
    """Binary cross-entropy of the pairs that count, so that a score is the log-odds of being right."""
    each = functional.binary_cross_entropy_with_logits(scores.float(), right.float(), reduction="none")
    return each.masked_fill(~counted, 0.0).sum() / counted.sum().clamp(min=1)


def first_right(scores: Sequence[float], right: Sequence[bool]) -> int | None:
    """Return the rank of the best positive, from 1; in ties negatives come first. None without a positive."""
    order = sorted(range(len(scores)), key=lambda place: (-scores[place], right[place]))
    return next((rank for rank, place in enumerate(order, start=1) if right[place]), None)


def hit_and_mrr(ranks: Iterable[int | None]) -> dict[str, float]:
    """Return `hit@1` and `mrr` from the ranks of the best positives; None counts as a miss."""
    values = list(ranks)
    if not values:
        return {"hit@1": math.nan, "mrr": math.nan}
    return {
        "hit@1": sum(rank == 1 for rank in values) / len(values),
        "mrr": sum(1 / rank for rank in values if rank) / len(values),
    }
