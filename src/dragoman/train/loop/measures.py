"""Measures of binary decisions on turns outside of training."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.train.calibration.fitting import chosen_threshold, fit_calibration
from dragoman.train.spec import CalibrationSpec

_BINS = 10


def binary(probabilities: Sequence[float], labels: Sequence[bool], threshold: float) -> dict[str, float]:
    """Precision, recall and F1 at the threshold; area under the ROC curve, average precision, calibration error, and
    the rate of positives. Undefined measures (one class, no rows) are NaN."""
    import numpy as np
    from sklearn.metrics import average_precision_score, roc_auc_score

    values, true = np.asarray(probabilities, dtype=np.float64), np.asarray(labels, dtype=bool)
    nan = float("nan")
    if not len(values):
        return dict.fromkeys(("precision", "recall", "f1", "auc", "ap", "ece", "rate"), nan)
    positive = values >= threshold
    hits, yes, positives = int((positive & true).sum()), int(positive.sum()), int(true.sum())
    both = 0 < positives < len(true)
    return {
        "precision": hits / yes if yes else 0.0,
        "recall": hits / positives if positives else nan,
        "f1": 2 * hits / (yes + positives) if yes + positives else nan,
        "auc": float(roc_auc_score(true, values)) if both else nan,
        "ap": float(average_precision_score(true, values)) if positives else nan,
        "ece": calibration_error(probabilities, labels),
        "rate": yes / len(values),
    }


def calibration_error(probabilities: Sequence[float], labels: Sequence[bool], *, bins: int = _BINS) -> float:
    """The sum over bins (a, b] of equal width of |B| / n |share that is true - mean probability|; NaN of nothing."""
    import numpy as np

    values, true = np.asarray(probabilities, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    if not len(values):
        return float("nan")
    places = np.searchsorted(np.linspace(0.0, 1.0, bins + 1)[1:-1], values, side="left")
    gaps = np.bincount(places, weights=values - true, minlength=bins)
    return float(np.abs(gaps).sum() / len(values))


def cross_fitted(
    scores: Sequence[float], labels: Sequence[bool], folds: Sequence[int], spec: CalibrationSpec
) -> dict[str, float]:
    """The measures of held-out scores, where each fold's calibration and threshold come from the other folds."""
    probabilities, decisions = [0.0] * len(scores), [False] * len(scores)
    for fold in sorted(set(folds)):
        others = [row for row, place in enumerate(folds) if place != fold]
        true = [labels[row] for row in others]
        fitted = fit_calibration([scores[row] for row in others], true, spec.method)
        cut = chosen_threshold([fitted.probability(scores[row]) for row in others], true, spec.threshold)
        for row in (row for row, place in enumerate(folds) if place == fold):
            probabilities[row] = fitted.probability(scores[row])
            decisions[row] = probabilities[row] >= cut
    decided = binary([float(yes) for yes in decisions], labels, 0.5)
    return binary(probabilities, labels, 0.5) | {name: decided[name] for name in ("precision", "recall", "f1", "rate")}
