"""Tasks of an attention gate: the decision from labelled turns, and pre-training on text without labels."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from dragoman.models.onnx.attention_scorer import TokenRow
from dragoman.models.torch.attention_encoder import AttentionEncoder, padded
from dragoman.train.loop.losses import binary_loss
from dragoman.train.loop.text_measures import yes_measures
from dragoman.train.loop.text_task import positive_weight, shuffled
from dragoman.train.spec import LAST, Recipe

_MASKED = 0.15


class AttentionTask:
    """Learn the gate's score from rows with labels in [0, 1].

    `unlabelled` are more rows with a teacher's probabilities, each with the weight `share` of a labelled one; the
    weight of positives comes from the labelled rows alone. The measure `last` is the epoch's number: as the metric it
    keeps the last weights, where dev is too small to tell epochs apart.
    """

    def __init__(
        self,
        model: AttentionEncoder,
        rows: Sequence[TokenRow],
        labels: Sequence[float],
        *,
        dev_rows: Sequence[TokenRow],
        dev_labels: Sequence[float],
        recipe: Recipe,
        unlabelled: tuple[Sequence[TokenRow], Sequence[float]] = ((), ()),
        share: float = 1.0,
        device: str = "cpu",
    ) -> None:
        self._model = model.to(device)
        self._rows = [*rows, *unlabelled[0]]
        self._labels = torch.tensor([*labels, *unlabelled[1]], dtype=torch.float32)
        self._weights = torch.tensor([1.0] * len(rows) + [share] * len(unlabelled[0]))
        self._dev_rows = dev_rows
        self._dev_labels = torch.tensor(dev_labels, dtype=torch.float32)
        self._recipe = recipe
        self._device = device
        self._positive = positive_weight(self._labels[: len(rows)], recipe.balance).to(device)
        self._epoch = 0

    @property
    def model(self) -> AttentionEncoder:
        return self._model

    def batches(self, epoch: int) -> Sequence[Sequence[int]]:
        self._epoch = epoch
        return _batches(self._rows, self._recipe, epoch)

    def loss(self, batch: Sequence[int]) -> Tensor:
        rows = torch.tensor(list(batch))
        scores = self._model(*_tensors(self._model, self._rows, batch, self._device))[:, 0]  # (B,)
        return binary_loss(
            scores,
            self._labels[rows].to(self._device),
            positive=self._positive,
            focal=self._recipe.balance.focal,
            weights=self._weights[rows].to(self._device),
        )

    def measure(self) -> Mapping[str, float]:
        scores = attention_scores(self._model, self._dev_rows, device=self._device)
        return {**yes_measures(scores[:, 0], self._dev_labels), LAST: float(self._epoch + 1)}


class _Before(nn.Module):
    """The encoder with its pre-training head."""

    def __init__(self, encoder: AttentionEncoder, width: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.out = nn.Linear(encoder.shape.width, width)


class LanguageTask:
    """Pre-train on rows without labels; the loss on dev rows decides the best epoch.

    `tokens`: masked language modelling, one word in seven. `vectors`: predict a larger encoder's vector of each text,
    (N, D); the loss is 1 - cosine.
    """

    def __init__(
        self,
        encoder: AttentionEncoder,
        rows: Sequence[TokenRow],
        dev_rows: Sequence[TokenRow],
        *,
        recipe: Recipe,
        mask: int,
        vectors: Tensor | None = None,
        dev_vectors: Tensor | None = None,
        device: str = "cpu",
    ) -> None:
        width = encoder.shape.width if vectors is None else vectors.shape[1]
        self._model = _Before(encoder, width).to(device)
        self._rows, self._dev_rows = rows, dev_rows
        self._vectors, self._dev_vectors = vectors, dev_vectors
        self._recipe = recipe
        self._mask = mask
        self._device = device
        self._epoch = 0

    @property
    def model(self) -> nn.Module:
        return self._model

    def batches(self, epoch: int) -> Sequence[Sequence[int]]:
        self._epoch = epoch
        return _batches(self._rows, self._recipe, epoch)

    def loss(self, batch: Sequence[int]) -> Tensor:
        return self._loss(self._rows, batch, self._vectors, f"{self._recipe.train.seed}/{self._epoch}")

    def measure(self) -> Mapping[str, float]:
        """The mean loss of dev's rows, with the same words masked each time."""
        size, total = self._recipe.train.batch, 0.0
        for start in range(0, len(self._dev_rows), size):
            batch = range(start, min(start + size, len(self._dev_rows)))
            total += float(self._loss(self._dev_rows, batch, self._dev_vectors, "dev")) * len(batch)
        return {"loss": total / max(1, len(self._dev_rows))}

    def _loss(self, rows: Sequence[TokenRow], batch: Sequence[int], vectors: Tensor | None, seed: str) -> Tensor:
        model, encoder = self._model, self._model.encoder
        inputs = _tensors(encoder, rows, batch, self._device)
        if vectors is not None:
            targets = vectors[torch.tensor(list(batch))].to(self._device)
            return (1 - nn.functional.cosine_similarity(model.out(encoder.pooled(inputs)), targets)).mean()
        ids = inputs[0]
        hidden = torch.zeros_like(ids, dtype=torch.bool)
        for i, row in enumerate(batch):
            hidden[i, hidden_places(len(rows[row].turn[0]), f"{seed}/{row}")] = True
        if not bool(hidden.any()):
            return encoder.head.weight.sum() * 0.0  # rows without a word
        states = encoder.states((ids.masked_fill(hidden, self._mask), *inputs[1:]))[hidden]  # (M, D)
        scores = (
            model.out(states) @ encoder.words.weight.T
        )  # (M, V): what goes in and what comes out are the same words
        return nn.functional.cross_entropy(scores.float(), ids[hidden])


def hidden_places(length: int, seed: str) -> list[int]:
    """The masked words of a row: one in seven, at least one, determined by the seed."""
    return sorted(random.Random(seed).sample(range(length), max(1, round(_MASKED * length)))) if length else []


def spread_of(scores: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation of some scores; 1 where they do not differ."""
    values = torch.tensor(scores, dtype=torch.float64)
    spread = float(values.std(correction=0))
    return float(values.mean()), spread if spread > 1e-9 else 1.0


def softened(probabilities: Sequence[float], temperature: float) -> list[float]:
    """A teacher's probabilities with their log-odds divided by a temperature: above 1 less sure, below 1 surer."""
    odds = torch.logit(torch.tensor(probabilities, dtype=torch.float64), eps=1e-6)
    softer: list[float] = torch.sigmoid(odds / temperature).tolist()
    return softer


@torch.inference_mode()
def attention_scores(
    model: AttentionEncoder, rows: Sequence[TokenRow], *, batch: int = 128, device: str = "cpu"
) -> Tensor:
    """The log-odds of many rows, (N, 1), batched by length."""
    order = sorted(range(len(rows)), key=lambda row: rows[row].lengths)
    scores = torch.zeros((len(rows), 1))
    was = model.training
    model.eval()
    for start in range(0, len(order), batch):
        places = order[start : start + batch]
        scores[places] = model(*_tensors(model, rows, places, device)).float().cpu()
    model.train(was)
    return scores


def _tensors(
    model: AttentionEncoder, rows: Sequence[TokenRow], batch: Sequence[int], device: str
) -> tuple[Tensor, ...]:
    return padded([rows[row] for row in batch], cross=model.shape.cross, device=device)


def _batches(rows: Sequence[TokenRow], recipe: Recipe, epoch: int) -> list[list[int]]:
    lengths = [sum(row.lengths) for row in rows]
    return shuffled(lengths, recipe.train.batch, seed=recipe.train.seed, epoch=epoch)
