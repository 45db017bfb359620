"""Losses of a unified model as pure functions of tensors (UniMS-RAG, Eq. 7, and further terms).

Every mean is over places or groups, not over their weights, so that one counts the same in whichever batch it stands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

import torch
from torch import Tensor

from dragoman.core.tokens import STEPS
from dragoman.train.loop.losses import listwise_loss

__all__ = [
    "class_weights",
    "listwise_loss",
    "similarity_margin",
    "similarity_targets",
    "soft_cross_entropy",
    "total_loss",
    "weighted_mean",
]
C = TypeVar("C", bound=Hashable)
_MOST = 10.0
"""A class counts no more than so many times an average one."""


def soft_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy with soft targets, -sum t log p at each place; `targets` are shares of the K options, (P, K)."""
    return -(targets * logits.float().log_softmax(-1)).sum(-1)


def similarity_targets(values: Tensor, *, soft: bool = False) -> Tensor:
    """The shares of the eleven similarities for values in [0, 1], (P, 11).

    Hard: all of it at the nearest tenth, halves upwards. Soft: on the two tenths around the value, so that the mean
    of the shares is the value itself.
    """
    scaled = values.float().clamp(0, 1) * STEPS
    low = scaled.floor() if soft else (scaled + 0.5 + 1e-6).floor()
    low = low.clamp(max=STEPS)
    share = (scaled - low) if soft else torch.zeros_like(scaled)
    targets = torch.zeros(len(values), STEPS + 1, device=values.device)
    targets.scatter_add_(1, low.long()[:, None], (1 - share)[:, None])
    targets.scatter_add_(1, (low.long() + 1).clamp(max=STEPS)[:, None], share[:, None])
    return targets


def similarity_margin(logits: Tensor) -> Tensor:
    """logit(1.0) - logit(0.0) of the eleven similarities, (P, 11) to (P,): the score by which candidates are
    compared."""
    return logits[:, STEPS].float() - logits[:, 0].float()


def weighted_mean(losses: Tensor, weights: Tensor) -> Tensor:
    """The mean of w x loss over places; 0, which still has a gradient, where there are none."""
    return (losses * weights).sum() / max(len(losses), 1)


def total_loss(parts: Mapping[str, Tensor], weights: Mapping[str, float]) -> Tensor:
    """L = w_source L_source + w_sim L_sim + w_response L_response (Eq. 7), plus further weighted terms; a term without
    places is 0."""
    terms = [weights.get(name, 1.0) * part for name, part in parts.items() if weights.get(name, 1.0)]
    return torch.stack(terms).sum() if terms else torch.zeros((), requires_grad=True)


def class_weights(classes: Iterable[C], *, power: float) -> dict[C, float]:
    """(N / (K n_c))^power for each of K classes with n_c of N members: 0 counts all alike, 1 makes classes equal."""
    counts = Counter(classes)
    total = sum(counts.values())
    return {name: min(_MOST, (total / (len(counts) * count)) ** power) for name, count in counts.items()}
