"""Training task of the joint scorer: five heads over one trunk; each row trains the heads it has labels for."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from dragoman.datasets.pair_rows import ENTAILMENTS, VERDICTS, PairRow
from dragoman.models.joint import ANSWERS, BEARS, ENTAILS, NEEDS, VERDICT, pair_text
from dragoman.models.torch.trunk import Text, Tokens, Trunk, at_once
from dragoman.train.joint_measures import measured
from dragoman.train.spec import Recipe

_BINARY = (ANSWERS, BEARS, NEEDS)
_ABSENT = -1.0
_CHUNK = 8


def texts_of(row: PairRow) -> Text:
    """Return the two input texts of a row."""
    return pair_text(row.question, row.fact), row.text


def targets_of(rows: Sequence[PairRow]) -> dict[str, Tensor]:
    """Return the labels of rows by head; -1 marks missing ones."""
    targets = {
        name: torch.tensor([_ABSENT if getattr(row, name) is None else float(getattr(row, name)) for row in rows])
        for name in _BINARY
    }
    classes = [*ENTAILMENTS, "unsupported"]
    targets[VERDICT] = torch.tensor([_chances(row) for row in rows])
    targets[ENTAILS] = torch.tensor([-1 if row.entails is None else classes.index(row.entails) for row in rows])
    return targets


def _chances(row: PairRow) -> list[float]:
    """Return the probabilities of the verdicts that a row teaches; -1 each where it teaches none."""
    if row.verdict is not None:
        return [float(verdict == row.verdict) for verdict in VERDICTS]
    return list(row.chances or [_ABSENT] * len(VERDICTS))


def joint_loss(scores: Mapping[str, Tensor], targets: Mapping[str, Tensor], weights: Mapping[str, float]) -> Tensor:
    """Return the mean loss over rows and their labelled heads, without synchronising the device."""
    losses: list[Tensor] = []
    for name in _BINARY:
        target = targets[name]
        each = functional.binary_cross_entropy_with_logits(
            scores[name][:, 0].float(), target.clamp(min=0.0), reduction="none"
        )
        losses.append(weights.get(name, 1.0) * (each * (target >= 0)))
    chances = targets[VERDICT]
    each = functional.cross_entropy(scores[VERDICT].float(), chances.clamp(min=0.0), reduction="none")
    losses.append(weights.get(VERDICT, 1.0) * (each * (chances[:, 0] >= 0)))
    target = targets[ENTAILS]
    logs = functional.log_softmax(scores[ENTAILS].float(), dim=-1)
    rest = torch.logsumexp(logs[:, 1:], dim=-1, keepdim=True)  # neutral or contradicted
    chosen = torch.cat([logs, rest], dim=-1).gather(1, target.clamp(min=0).unsqueeze(1))[:, 0]
    losses.append(weights.get(ENTAILS, 1.0) * (-chosen * (target >= 0)))
    return torch.stack(losses).sum(0).mean()


class JointTask:
    """Task over shuffled rows of all sets. Tokens stay on the device; a batch is an index into them.

    `repeats` is the number of passes over a set in an epoch, `weights` the weight of each head's loss.
    """

    def __init__(
        self,
        trunk: Trunk,
        tokens: Tokens,
        rows: Sequence[PairRow],
        dev: Sequence[PairRow],
        *,
        recipe: Recipe,
        device: str = "cpu",
        repeats: Mapping[str, int] | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> None:
        self._trunk = trunk.to(device)
        self._recipe = recipe
        self._device = device
        self._weights = weights or {}
        self._rows = _Padded(tokens, [texts_of(row) for row in rows], device)
        self._targets = {name: values.to(device) for name, values in targets_of(rows).items()}
        self._dev = list(dev)
        self._dev_rows = _Padded(tokens, [texts_of(row) for row in dev], device)
        self._order = [number for number, row in enumerate(rows) for _ in range((repeats or {}).get(row.set, 1))]

    @property
    def model(self) -> Trunk:
        return self._trunk

    @property
    def head_parameters(self) -> frozenset[str]:
        return self._trunk.head_parameters

    def batches(self, epoch: int) -> Sequence[Sequence[int]]:
        """Return shuffled batches in chunks sorted by length, determined by seed and epoch."""
        rng = np.random.default_rng([self._recipe.train.seed, epoch])
        order, lengths = rng.permutation(self._order), self._rows.lengths
        size = self._recipe.train.batch
        batches: list[list[int]] = []
        for start in range(0, len(order), size * _CHUNK):
            chunk = order[start : start + size * _CHUNK]
            chunk = chunk[np.argsort(lengths[chunk], kind="stable")]
            batches += [chunk[at : at + size].tolist() for at in range(0, len(chunk), size)]
        random.Random(f"{self._recipe.train.seed}/{epoch}/joint").shuffle(batches)
        return batches

    def loss(self, batch: Sequence[int]) -> Tensor:
        chosen = torch.tensor(batch, device=self._device)
        scores = self._trunk(self._rows.at(chosen, batch))
        return joint_loss(scores, {name: values[chosen] for name, values in self._targets.items()}, self._weights)

    @torch.no_grad()
    def scores(self) -> dict[str, Tensor]:
        """Return the scores of dev's rows by head."""
        was = self._trunk.training
        self._trunk.eval()
        order = np.argsort(self._dev_rows.lengths, kind="stable")
        by_head: dict[str, list[Tensor]] = {}
        for start in range(0, len(order), at_once(self._device)):
            some = order[start : start + at_once(self._device)].tolist()
            outputs = self._trunk(self._dev_rows.at(torch.tensor(some, device=self._device), some))
            for name, values in outputs.items():
                by_head.setdefault(name, []).append(values.float().cpu())
        self._trunk.train(was)
        back = torch.from_numpy(np.argsort(order, kind="stable"))
        return {name: torch.cat(parts)[back] for name, parts in by_head.items()}

    def measure(self) -> Mapping[str, float]:
        return measured(self._dev, {name: values.numpy() for name, values in self.scores().items()})


class _Padded:
    """Encoded texts as one matrix on the device."""

    def __init__(self, tokens: Tokens, texts: Sequence[Text], device: str) -> None:
        encodings = tokens.encode(texts)
        self.lengths = np.array([len(encoding.ids) for encoding in encodings], dtype=np.int64)
        longest = int(self.lengths.max()) if len(encodings) else 1
        ids = np.zeros((len(encodings), longest), dtype=np.int32)
        types = np.zeros((len(encodings), longest), dtype=np.uint8)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding.ids)] = encoding.ids
            types[row, : len(encoding.ids)] = encoding.type_ids
        self._ids, self._types = torch.from_numpy(ids).to(device), torch.from_numpy(types).to(device)
        self._lengths = torch.from_numpy(self.lengths).to(device)

    def at(self, chosen: Tensor, rows: Sequence[int]) -> dict[str, Tensor]:
        longest = int(self.lengths[list(rows)].max())
        places = torch.arange(longest, device=chosen.device)
        mask = (places.unsqueeze(0) < self._lengths[chosen].unsqueeze(1)).long()
        return {
            "input_ids": self._ids[chosen, :longest].long(),
            "attention_mask": mask,
            "token_type_ids": self._types[chosen, :longest].long(),
        }
