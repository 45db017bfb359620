"""Dev's measures of a head over texts, from its scores alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from dragoman.train.calibration.fitting import best_threshold
from dragoman.train.loop.losses import binary_loss
from dragoman.train.loop.measures import binary

_KEPT = ("precision", "recall", "f1", "auc", "ap")
YES_MEASURES = ("loss", *_KEPT)
"""The names of what `yes_measures` gives."""


def measures_of(kind: Literal["binary", "multi"], scores: Tensor, labels: Tensor) -> dict[str, float]:
    """Dev's measures for a kind of task: scores (N, L), labels (N,) or (N, L), both on the CPU.

    F1, precision and recall are at the threshold that `best_threshold` finds on dev itself, to compare epochs by.
    """
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


def _mean(values: Sequence[float]) -> float:
    defined = [value for value in values if not math.isnan(value)]
    return sum(defined) / len(defined) if defined else math.nan
