"""Dev's measures of a head over texts, from its scores alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from dragoman.train.calibration.fitting import best_threshold
from dragoman.train.loop.losses import binary_loss, listwise_loss
from dragoman.train.loop.measures import binary

_KEPT = ("precision", "recall", "f1", "auc", "ap")
YES_MEASURES = ("loss", *_KEPT)
"""The names of what `yes_measures` gives."""


def measures_of(
    kind: Literal["binary", "multi", "listwise"], scores: Tensor, labels: Tensor, groups: Sequence[int] | None = None
) -> dict[str, float]:
    """Dev's measures for a kind of task: scores (N, L), labels (N,) or (N, L), both on the CPU.

    F1, precision and recall are at the threshold that `best_threshold` finds on dev itself, to compare epochs by.
    """
    if kind == "listwise":
        assert groups is not None
        return list_measures(scores[:, 0], labels, groups)
    return label_measures(scores, labels) if kind == "multi" else yes_measures(scores[:, 0], labels)


def yes_measures(scores: Tensor, labels: Tensor) -> dict[str, float]:
    """Loss without class weights, area under the ROC curve, average precision, and F1 at the threshold for it."""
    probabilities, true = torch.sigmoid(scores.double()).tolist(), [value > 0.5 for value in labels.tolist()]
    measures = binary(probabilities, true, best_threshold(probabilities, true))
    return {"loss": float(binary_loss(scores, labels)), **{name: measures[name] for name in _KEPT}}


def label_measures(scores: Tensor, labels: Tensor) -> dict[str, float]:
    """Loss; mean AUC and average precision over labels with both classes; micro precision, recall and F1 over all
    decisions, each label at its own threshold; `exact`, the share of rows with every label right."""
    columns = [yes_measures(scores[:, i], labels[:, i]) for i in range(labels.shape[1])]
    probabilities = torch.sigmoid(scores.double())
    true = labels > 0.5
    cuts = [best_threshold(probabilities[:, i].tolist(), true[:, i].tolist()) for i in range(labels.shape[1])]
    decisions = probabilities >= torch.tensor(cuts, dtype=torch.float64)
    return {
        "loss": float(binary_loss(scores, labels)),
        "auc": _mean([column["auc"] for column in columns]),
        "ap": _mean([column["ap"] for column in columns]),
        **decision_measures(decisions.tolist(), true.tolist()),
    }


def decision_measures(predicted: Sequence[Sequence[bool]], true: Sequence[Sequence[bool]]) -> dict[str, float]:
    """Precision, recall and F1 over the decisions of all rows and labels together (micro), and the share of rows with
    every label right."""
    pairs = [pair for row, truth in zip(predicted, true, strict=True) for pair in zip(row, truth, strict=True)]
    hits = sum(a and b for a, b in pairs)
    yes, positives = sum(a for a, _ in pairs), sum(b for _, b in pairs)
    right = sum(list(row) == list(truth) for row, truth in zip(predicted, true, strict=True))
    return {
        "precision": hits / yes if yes else 0.0,
        "recall": hits / positives if positives else math.nan,
        "f1": 2 * hits / (yes + positives) if yes + positives else math.nan,
        "exact": right / len(predicted) if predicted else math.nan,
    }


def list_measures(scores: Tensor, labels: Tensor, groups: Sequence[int]) -> dict[str, float]:
    """Loss; `hit@1` and `mrr` over the lists with a positive. In ties negatives come first."""
    members: dict[int, list[int]] = {}
    for row, group in enumerate(groups):
        members.setdefault(group, []).append(row)
    ranks: list[int] = []
    values, true = scores.tolist(), labels.tolist()
    for rows in members.values():
        order = sorted(rows, key=lambda row: (-values[row], true[row] > 0.5))
        first = next((place for place, row in enumerate(order, start=1) if true[row] > 0.5), None)
        ranks += [first] if first is not None else []
    return {
        "loss": float(listwise_loss(scores, labels, torch.tensor(list(groups)))),
        "hit@1": sum(rank == 1 for rank in ranks) / len(ranks) if ranks else math.nan,
        "mrr": sum(1 / rank for rank in ranks) / len(ranks) if ranks else math.nan,
    }


def _mean(values: Sequence[float]) -> float:
    defined = [value for value in values if not math.isnan(value)]
    return sum(defined) / len(defined) if defined else math.nan
