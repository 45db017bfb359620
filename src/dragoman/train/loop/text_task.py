"""A task over texts or pairs of texts with labels for one head of a trunk: yes or no, or several labels."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from dragoman.core.errors import TrainingError
from dragoman.models.torch.trunk import Text, Tokens, Trunk, score
from dragoman.train.loop.losses import binary_loss
from dragoman.train.loop.text_measures import measures_of
from dragoman.train.spec import BalanceSpec, Recipe

Kind: TypeAlias = Literal["binary", "multi"]
Labels: TypeAlias = Sequence[float] | Sequence[Sequence[float]]
"""One number a row, in [0, 1]; for several labels one number each."""
Measure: TypeAlias = Callable[[Tensor], Mapping[str, float]]
"""From the scores of dev's rows, (N, labels), to measures by name."""

_CHUNK = 8
"""Rows of so many batches are sorted by length together: little padding, and still random."""


class TextTask:
    """Learn one head of a trunk. Texts are tokenised once; a batch has rows of similar length.

    Inputs:
        labels: in [0, 1], soft ones too; dev's are 0 or 1. `multi` wants a sequence a row.
        weights: how much each row counts (1 where they are not given).
        measure: from dev's scores to measures, which are added to those of `measures_of`.
    """

    def __init__(
        self,
        trunk: Trunk,
        tokens: Tokens,
        texts: Sequence[Text],
        labels: Labels,
        *,
        head: str,
        dev_texts: Sequence[Text],
        dev_labels: Labels,
        recipe: Recipe,
        device: str = "cpu",
        kind: Kind = "binary",
        weights: Sequence[float] | None = None,
        measure: Measure | None = None,
    ) -> None:
        self._trunk = trunk.to(device)
        self._tokens = tokens
        self._head = head
        self._kind = kind
        self._recipe = recipe
        self._device = device
        self._encodings = tokens.encode(texts)
        self._labels = torch.tensor(labels, dtype=torch.float32)
        self._weights = None if weights is None else torch.tensor(weights, dtype=torch.float32)
        self._dev_texts = dev_texts
        self._dev_labels = torch.tensor(dev_labels, dtype=torch.float32)
        self._measure = measure
        self._check(len(texts), len(dev_texts))
        self._positive = positive_weight(self._labels, recipe.balance).to(device)

    @property
    def model(self) -> Trunk:
        return self._trunk

    @property
    def head_parameters(self) -> frozenset[str]:
        return self._trunk.head_parameters

    def batches(self, epoch: int) -> Sequence[Sequence[int]]:
        """Batches of shuffled rows, sorted by length in chunks; determined by seed and epoch."""
        lengths = [len(encoding.ids) for encoding in self._encodings]
        spec = self._recipe.train
        return shuffled(lengths, spec.batch, seed=spec.seed, epoch=epoch)

    def loss(self, batch: Sequence[int]) -> Tensor:
        rows = self._tokens.rows([self._encodings[row] for row in batch], self._device)
        scores = self._trunk(rows)[self._head]  # (B, L)
        chosen = torch.tensor(list(batch))
        targets = self._labels[chosen].to(self._device)
        weights = None if self._weights is None else self._weights[chosen].to(self._device)
        focal = self._recipe.balance.focal
        scores = scores if self._kind == "multi" else scores[:, 0]
        return binary_loss(scores, targets, positive=self._positive, focal=focal, weights=weights)

    def measure(self) -> Mapping[str, float]:
        scores = self.dev_scores()
        measures = measures_of(self._kind, scores, self._dev_labels)
        return {**measures, **(self._measure(scores) if self._measure else {})}

    def dev_scores(self) -> Tensor:
        """The scores of dev's rows, (N, labels)."""
        return score(self._trunk, self._tokens, self._dev_texts, self._head, device=self._device)

    def _check(self, rows: int, dev_rows: int) -> None:
        """Raise an error for labels or weights that do not fit, before anything runs."""
        dims = 2 if self._kind == "multi" else 1
        width = self._trunk.heads[self._head].out_features
        for name, texts, labels in (("training", rows, self._labels), ("dev", dev_rows, self._dev_labels)):
            if not texts:
                raise TrainingError(f"There is no {name} text.", remedy=f"Give a {name} file with labelled turns.")
            if len(labels) != texts or labels.dim() != dims or (dims == 2 and labels.shape[1] != width):
                raise TrainingError(
                    f"{tuple(labels.shape)} {name} labels do not fit {texts} texts and a head of {width}.",
                    remedy="Give one label a text, in the same order.",
                )
            if not bool(((labels >= 0) & (labels <= 1)).all()):
                raise TrainingError(f"A {name} label is not in [0, 1].", remedy="Mend the labels.")
        if self._weights is not None and len(self._weights) != rows:
            raise TrainingError(f"{len(self._weights)} weights do not fit {rows} texts.", remedy="Give one a text.")


def positive_weight(labels: Tensor, balance: BalanceSpec) -> Tensor:
    """The weight of positives, one number a label: the recipe's, or negatives / positives."""
    if balance.weight == "none":
        return torch.ones(labels.shape[1:])
    if balance.weight == "balanced":
        positives = labels.sum(0)
        return torch.where(positives > 0, (len(labels) - positives) / positives.clamp(min=1e-9), 1.0)
    return torch.full(labels.shape[1:], float(balance.weight))


def shuffled(lengths: Sequence[int], size: int, *, seed: int, epoch: int) -> list[list[int]]:
    """Batches of at most `size` shuffled rows of similar length; determined by seed and epoch."""
    dice = random.Random(f"{seed}/{epoch}")
    order = list(range(len(lengths)))
    dice.shuffle(order)
    batches: list[list[int]] = []
    for begin in range(0, len(order), size * _CHUNK):
        chunk = sorted(order[begin : begin + size * _CHUNK], key=lengths.__getitem__)
        batches += [chunk[at : at + size] for at in range(0, len(chunk), size)]
    dice.shuffle(batches)
    return batches
