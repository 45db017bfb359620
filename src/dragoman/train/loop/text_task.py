"""A task over texts or pairs of texts with labels for one head of a trunk: yes or no, several labels, or lists."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from dragoman.core.errors import TrainingError
from dragoman.models.torch.trunk import Text, Tokens, Trunk, score
from dragoman.train.loop.losses import binary_loss, listwise_loss
from dragoman.train.loop.text_measures import measures_of
from dragoman.train.spec import BalanceSpec, Recipe

Kind: TypeAlias = Literal["binary", "multi", "listwise"]
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
        groups: for `listwise`, the list that each row belongs to; a list is never cut in two, and `train.batch` counts
            rows. `dev_groups` likewise.
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
        groups: Sequence[Hashable] | None = None,
        dev_groups: Sequence[Hashable] | None = None,
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
        self._groups = None if groups is None else torch.tensor(numbered(groups))
        self._dev_texts = dev_texts
        self._dev_labels = torch.tensor(dev_labels, dtype=torch.float32)
        self._dev_groups = None if dev_groups is None else numbered(dev_groups)
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
        lists = [[row] for row in range(len(lengths))] if self._groups is None else _members(self._groups.tolist())
        return shuffled(lists, lengths, self._recipe.train.batch, seed=self._recipe.train.seed, epoch=epoch)

    def loss(self, batch: Sequence[int]) -> Tensor:
        rows = self._tokens.rows([self._encodings[row] for row in batch], self._device)
        scores = self._trunk(rows)[self._head]  # (B, L)
        chosen = torch.tensor(list(batch))
        targets = self._labels[chosen].to(self._device)
        weights = None if self._weights is None else self._weights[chosen].to(self._device)
        if self._kind == "listwise":
            assert self._groups is not None
            return listwise_loss(scores[:, 0], targets, self._groups[chosen].to(self._device), weights=weights)
        focal = self._recipe.balance.focal
        scores = scores if self._kind == "multi" else scores[:, 0]
        return binary_loss(scores, targets, positive=self._positive, focal=focal, weights=weights)

    def measure(self) -> Mapping[str, float]:
        scores = self.dev_scores()
        measures = measures_of(self._kind, scores, self._dev_labels, self._dev_groups)
        return {**measures, **(self._measure(scores) if self._measure else {})}

    def dev_scores(self) -> Tensor:
        """The scores of dev's rows, (N, labels)."""
        return score(self._trunk, self._tokens, self._dev_texts, self._head, device=self._device)

    def _check(self, rows: int, dev_rows: int) -> None:
        """Raise an error for labels, groups or weights that do not fit, before anything runs."""
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
        if self._kind == "listwise" and (self._groups is None or self._dev_groups is None):
            raise TrainingError("Lists need groups and dev_groups.", remedy="Give the list that each row belongs to.")
        for name, values in (("groups", self._groups), ("weights", self._weights)):
            if values is not None and len(values) != rows:
                raise TrainingError(f"{len(values)} {name} do not fit {rows} texts.", remedy="Give one a text.")


def positive_weight(labels: Tensor, balance: BalanceSpec) -> Tensor:
    """The weight of positives, one number a label: the recipe's, or negatives / positives."""
    if balance.weight == "none":
        return torch.ones(labels.shape[1:])
    if balance.weight == "balanced":
        positives = labels.sum(0)
        return torch.where(positives > 0, (len(labels) - positives) / positives.clamp(min=1e-9), 1.0)
    return torch.full(labels.shape[1:], float(balance.weight))


def shuffled(
    lists: Sequence[Sequence[int]], lengths: Sequence[int], size: int, *, seed: int, epoch: int
) -> list[list[int]]:
    """Batches of at most `size` rows with lists kept whole (a longer list is a batch of its own)."""
    dice = random.Random(f"{seed}/{epoch}")
    order = list(lists)
    dice.shuffle(order)
    longest = {id(rows): max(lengths[row] for row in rows) for rows in order}
    batches: list[list[int]] = []
    chunk: list[Sequence[int]] = []
    count = 0
    for rows in order:
        chunk.append(rows)
        count += len(rows)
        if count >= size * _CHUNK:
            batches += _packed(sorted(chunk, key=lambda rows: longest[id(rows)]), size)
            chunk, count = [], 0
    batches += _packed(sorted(chunk, key=lambda rows: longest[id(rows)]), size)
    dice.shuffle(batches)
    return batches


def _packed(lists: Sequence[Sequence[int]], size: int) -> list[list[int]]:
    batches: list[list[int]] = []
    for rows in lists:
        if batches and len(batches[-1]) + len(rows) <= size:
            batches[-1] += rows
        else:
            batches.append(list(rows))
    return batches


def _members(groups: Sequence[int]) -> list[list[int]]:
    members: dict[int, list[int]] = {}
    for row, group in enumerate(groups):
        members.setdefault(group, []).append(row)
    return list(members.values())


def numbered(groups: Sequence[Hashable]) -> list[int]:
    """Number groups in the order of their first row."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(group, len(numbers)) for group in groups]
