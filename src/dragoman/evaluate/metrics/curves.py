"""Areas under curves of labelled probabilities, as functions of how often each pair counts, and the curves themselves.

The areas are computed here, on pairs sorted once, because a bootstrap asks for them a thousand times and scikit-learn
takes one weighting at a time. They are held equal to scikit-learn, whose curves the report draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dragoman.evaluate.contract import quotient
from dragoman.evaluate.metrics.options import missing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dragoman.core.codec import Json
    from dragoman.evaluate.contract import Floats

CURVE_POINTS = 200
_DRAWS_AT_ONCE = 64


def roc_auc(labels: Sequence[bool], probabilities: Sequence[float], weights: Sequence[float] | None = None) -> float:
    """The chance that a positive is scored above a negative, ties half; NaN where a class is missing."""
    return _weighted(roc_auc_of, labels, probabilities, weights)


def average_precision(
    labels: Sequence[bool], probabilities: Sequence[float], weights: Sequence[float] | None = None
) -> float:
    """The sum over thresholds of precision times the gain in recall, without interpolation; NaN without positives."""
    return _weighted(average_precision_of, labels, probabilities, weights)


def roc_auc_of(labels: NDArray[np.bool_], probabilities: Floats) -> Callable[[Floats], Floats]:
    """The area under the ROC curve as a function of weights (draws, n); sorted once, ties counted half."""
    import numpy as np

    order, starts, positive = _sorted(labels, probabilities)

    def values(weights: Floats) -> Floats:
        above = _grouped(weights[:, order] * positive, starts)
        others = _grouped(weights[:, order] * ~positive, starts)
        below = np.cumsum(others, axis=1) - others / 2  # negatives scored lower, half of those that tie
        return quotient(np.einsum("bg,bg->b", above, below), above.sum(axis=1) * others.sum(axis=1))

    return _in_parts(values, len(order))


def average_precision_of(labels: NDArray[np.bool_], probabilities: Floats) -> Callable[[Floats], Floats]:
    """Average precision as a function of weights (draws, n); sorted once, ties are one threshold."""
    import numpy as np

    order, starts, positive = _sorted(labels, -probabilities)

    def values(weights: Floats) -> Floats:
        drawn = weights[:, order]
        hits = _grouped(drawn * positive, starts)
        shown = np.cumsum(_grouped(drawn, starts), axis=1)
        precisions = np.cumsum(hits, axis=1) / np.where(shown == 0, 1.0, shown)
        return quotient(np.einsum("bg,bg->b", hits, precisions), hits.sum(axis=1))

    return _in_parts(values, len(order))


def roc_curve_of(labels: NDArray[np.bool_], probabilities: Floats) -> dict[str, Json]:
    """The ROC curve; both classes must occur."""
    try:
        from sklearn.metrics import roc_curve
    except ImportError as error:
        raise missing("The ROC curve", error) from error
    across, up, thresholds = roc_curve(labels, probabilities)
    return {"roc": _thinned(("false_positive_rate", across), ("true_positive_rate", up), ("threshold", thresholds))}


def pr_curve_of(labels: NDArray[np.bool_], probabilities: Floats) -> dict[str, Json]:
    """The precision-recall curve; a positive must occur."""
    import numpy as np

    try:
        from sklearn.metrics import precision_recall_curve
    except ImportError as error:
        raise missing("The precision-recall curve", error) from error
    up, across, thresholds = precision_recall_curve(labels, probabilities)
    return {"pr": _thinned(("recall", across), ("precision", up), ("threshold", np.append(thresholds, np.inf)))}


def _thinned(*columns: tuple[str, Floats]) -> dict[str, Json]:
    """The points of a curve, evenly thinned, ends kept; a threshold above every probability is None."""
    import numpy as np

    length = len(columns[0][1])
    places = np.unique(np.linspace(0, length - 1, min(length, CURVE_POINTS)).round().astype(np.int64))
    return {
        name: [number if np.isfinite(number) else None for number in numbers[places].tolist()]
        for name, numbers in columns
    }


def _sorted(
    labels: NDArray[np.bool_], scores: Floats
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """The order by score, where each group of equal scores starts in it, and the labels in it."""
    import numpy as np

    order = np.argsort(scores, kind="stable")
    starts = np.flatnonzero(np.diff(scores[order], prepend=-np.inf) > 0)
    return order, starts, labels[order]


def _grouped(numbers: Floats, starts: NDArray[np.int64]) -> Floats:
    """Sums over groups of columns."""
    import numpy as np

    if len(starts) == numbers.shape[1]:
        return numbers
    summed: Floats = np.add.reduceat(numbers, starts, axis=1)
    return summed


def _in_parts(values: Callable[[Floats], Floats], turns: int) -> Callable[[Floats], Floats]:
    """The same function, a few draws at a time: it sorts copies of its weights, which must not fill memory."""
    import numpy as np

    def parted(weights: Floats) -> Floats:
        if not turns or not len(weights):
            return np.full(len(weights), np.nan)
        parts = range(0, len(weights), _DRAWS_AT_ONCE)
        return np.concatenate([values(weights[part : part + _DRAWS_AT_ONCE]) for part in parts])

    return parted


def _weighted(
    measure: Callable[[NDArray[np.bool_], Floats], Callable[[Floats], Floats]],
    labels: Sequence[bool],
    probabilities: Sequence[float],
    weights: Sequence[float] | None,
) -> float:
    import numpy as np

    values = measure(np.asarray(labels, dtype=bool), np.asarray(probabilities, dtype=np.float64))
    weight_row = np.ones(len(labels)) if weights is None else np.asarray(weights, dtype=np.float64)
    return float(values(weight_row[None])[0])
