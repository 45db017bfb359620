"""Offsets added to the log-probability of each order so that the macro F1 of decisions is best.

A rare decision is seldom the most probable one, yet counts as much as the others in macro F1. What is made as good as
can be is the macro F1 that the calibrated probabilities let expect, as with a gate's threshold: it hangs on all turns,
where the F1 by the labels hangs on the few of a rare decision. What offsets are worth is told by folds, each decided by
the offsets of the others, and by the labels.
"""

from __future__ import annotations

import math
import random
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from dragoman.core.values import SourceName

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Numbers: TypeAlias = NDArray[np.int64]

Order: TypeAlias = tuple[SourceName, ...]
Chances: TypeAlias = Sequence[Mapping[Order, float]]
_LEAST = 1e-12
_WIDEST = 4.0
_STEPS = (0.5, 0.1)
_FOLDS = 5
_ROUNDS = 8
_GAIN = 1e-9
_NOISE = 0.01
"""By how much less offsets may seem to be worth across folds, which are few turns each, and still be kept."""
_HOLD = 1e-3
"""How strongly the calibration is held to the probabilities as they are."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Offsets by order; macro F1 without them, with them on the turns they were fitted on, and across folds."""

    offsets: Mapping[Order, float]
    before: float
    after: float
    folds: float


def fit_offsets(chances: Chances, gold: Sequence[Order], *, groups: Sequence[Hashable] | None = None) -> Fitted:
    """Fit offsets for the orders in gold; empty if cross-validation says that they harm.

    `groups` keep turns together in a fold, those of one dialogue.
    """

    table, orders, truth, decisions = _table(chances, gold)
    movable = _movable(orders, gold)
    plain = table.argmax(1)
    before = _macro(plain, truth, decisions)
    own = _best(table, truth, decisions, movable)
    folds = _folds(list(groups) if groups is not None else list(range(len(gold))))
    choices = plain.copy()
    for fold in range(_FOLDS):
        in_fold = folds == fold
        if in_fold.any() and not in_fold.all():
            others = [order for order, out in zip(gold, in_fold, strict=True) if not out]
            moved = _best(table[~in_fold], truth[~in_fold], decisions, _movable(orders, others))
            choices[in_fold] = (table[in_fold] + moved).argmax(1)
    across = _macro(choices, truth, decisions)
    if not own.any() or across < before - _NOISE:
        return Fitted({}, before, before, before)
    rounded = {order: round(float(value), 3) for order, value in zip(orders, own, strict=True) if value}
    return Fitted(rounded, before, _macro((table + own).argmax(1), truth, decisions), across)


def macro_f1(predicted: Sequence[Order], gold: Sequence[Order]) -> float:
    """The mean F1 of the decisions (sets of sources) that occur in gold; NaN of nothing."""
    if not gold:
        return math.nan
    sets = [frozenset(order) for order in predicted]
    right = [frozenset(order) for order in gold]
    scores = []
    for decision in dict.fromkeys(right):
        hits = sum(one == two == decision for one, two in zip(sets, right, strict=True))
        scores.append(2 * hits / (sets.count(decision) + right.count(decision)))
    return sum(scores) / len(scores)


def _table(chances: Chances, gold: Sequence[Order]) -> tuple[Floats, list[Order], Numbers, Numbers]:
    """Log-probabilities (N, orders), the orders, the decision of each turn, and of each order."""
    import numpy as np

    orders = list(chances[0])
    numbers: dict[frozenset[SourceName], int] = {}
    decisions = np.array([numbers.setdefault(frozenset(order), len(numbers)) for order in orders])
    truth = np.array([numbers.setdefault(frozenset(order), len(numbers)) for order in gold])
    table = np.log(np.maximum([[one[order] for order in orders] for one in chances], _LEAST))
    return table, orders, truth, decisions


def _movable(orders: Sequence[Order], gold: Sequence[Order]) -> list[int]:
    seen = set(gold)
    return [place for place, order in enumerate(orders) if order in seen]


def _best(table: Floats, truth: Numbers, decisions: Numbers, movable: Sequence[int]) -> Floats:
    """Coordinate search for the best expected macro F1, in large, then in small steps; ties go to the nearest value."""
    import numpy as np

    likely = _calibrated(table, truth, decisions)
    offsets = np.zeros(table.shape[1])
    best = _expected(table.argmax(1), likely, truth, decisions)
    reach = _WIDEST
    for step in _STEPS:
        grid = np.arange(-reach, reach + step / 2, step)
        for _ in range(_ROUNDS):
            before = best
            for place in movable:
                middle = offsets[place]
                for value in sorted(middle + grid, key=lambda value: (abs(value - middle), value)):
                    candidate = offsets.copy()
                    candidate[place] = value
                    score = _expected((table + candidate).argmax(1), likely, truth, decisions)
                    if score > best + _GAIN:
                        best, offsets = score, candidate
            if best <= before + _GAIN:
                break
        reach = step
    return offsets


def _calibrated(table: Floats, truth: Numbers, decisions: Numbers) -> Floats:
    """Probabilities of decisions, (N, decisions): softmax of scaled log-probabilities plus a bias per decision, fitted
    to the labels. Decisions without gold have none."""
    import numpy as np
    from scipy.optimize import minimize
    from scipy.special import log_softmax, logsumexp

    size = int(max(decisions.max(initial=0), truth.max(initial=0))) + 1
    occurring = np.unique(truth)
    scores = np.full((len(table), size), np.log(_LEAST))
    for decision in np.unique(decisions):
        scores[:, decision] = logsumexp(table[:, decisions == decision], axis=1)
    scores = scores[:, occurring]
    right = np.searchsorted(occurring, truth)

    def log_likely(fitted: Floats) -> Floats:
        logprobs: Floats = log_softmax(np.exp(fitted[0]) * scores + fitted[1:], axis=1)
        return logprobs

    def loss(fitted: Floats) -> float:
        return float(_HOLD * (fitted**2).sum() - log_likely(fitted)[np.arange(len(right)), right].mean())

    likely = np.zeros((len(table), size))
    likely[:, occurring] = np.exp(log_likely(minimize(loss, np.zeros(len(occurring) + 1)).x))
    return likely


def _expected(predicted: Numbers, likely: Floats, truth: Numbers, decisions: Numbers) -> float:
    """The expected macro F1 of the chosen orders, over the decisions in gold."""
    import numpy as np

    sets = decisions[predicted]
    hits = np.bincount(sets, weights=likely[np.arange(len(sets)), sets], minlength=likely.shape[1])
    total = np.bincount(sets, minlength=likely.shape[1]) + likely.sum(0)
    occurs = np.unique(truth)
    return float((2 * hits[occurs] / total[occurs]).mean())


def _macro(predicted: Numbers, truth: Numbers, decisions: Numbers) -> float:
    """Macro F1 of the chosen orders, over the decisions in gold."""
    import numpy as np

    sets = decisions[predicted]
    size = int(max(sets.max(initial=0), truth.max(initial=0))) + 1
    hits = np.bincount(truth[sets == truth], minlength=size)
    total = np.bincount(sets, minlength=size) + np.bincount(truth, minlength=size)
    occurs = np.bincount(truth, minlength=size) > 0
    return float((2 * hits[occurs] / total[occurs]).mean())


def _folds(groups: Sequence[Hashable]) -> Numbers:
    """A random fold for each turn, always the same."""
    import numpy as np

    names = list(dict.fromkeys(groups))
    random.Random(0).shuffle(names)
    numbers = {name: place % _FOLDS for place, name in enumerate(names)}
    return np.array([numbers[group] for group in groups])
