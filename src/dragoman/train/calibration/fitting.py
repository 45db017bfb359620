"""Fit calibrations, and decision thresholds, on the scores of held-out turns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias

from dragoman.core.errors import TrainingError
from dragoman.models.calibration import Calibration, Isotonic, Logistic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

Method: TypeAlias = Literal["temperature", "platt", "isotonic", "none"]

_MOST_POINTS = 12
_FEWEST_ROWS = 8
_LEAST_SCALE = 1e-3
_EDGE = 1e-12
_EQUAL = 1e-6
"""Tolerance for fits and sums of the same numbers, which differ in their last digits."""


def fit_calibration(scores: Sequence[float], labels: Sequence[bool], method: Method) -> Calibration:
    """Fit a calibration on the scores and labels of turns that the model was not trained on.

    It never changes the order of scores. With labels of one class, or none, no slope can be fitted: Platt fits its bias
    alone, and temperature leaves scores as they are. With too few labels of a class, isotonic falls back to Platt.
    """
    values, true = _checked(scores, labels)
    if method == "none" or not len(values):
        return Logistic()
    if method == "isotonic" and min(true.sum(), len(true) - true.sum()) >= _FEWEST_ROWS:
        stepped = _isotonic(values, true)
        if len(stepped.scores) > 1:
            return stepped
    one_class = not 0 < true.sum() < len(true)
    if method == "temperature":
        return Logistic() if one_class else _logistic(values, true, slope=True, intercept=False)
    return _logistic(values, true, slope=not one_class, intercept=True)


def best_threshold(probabilities: Sequence[float], labels: Sequence[bool]) -> float:
    """The threshold with the best expected F1 on turns like these.

    Probabilities are fitted to the labels first (Platt) and then stand in for them, so that the threshold depends on
    all turns and not on the few labels next to it. On KETOD's training dialogues, with the threshold from a part of
    them, that gave a better F1 on the others than the best cut of the labels themselves, and than the best mean of
    bootstraps by dialogue, the more so the fewer there were. Where no label is true the threshold is 0.5.
    """
    import numpy as np

    values, true = _checked(probabilities, labels)
    if not true.sum():
        return 0.5
    order = np.lexsort((true, values))  # another order of summation would break ties between cuts differently
    values, true = values[order], true[order]
    inside = np.clip(values, _EDGE, 1 - _EDGE)
    odds = np.log(inside) - np.log1p(-inside)
    fitted = fit_calibration(odds.tolist(), [bool(label) for label in true], "platt")
    return _best_cut(values, np.array([fitted.probability(value) for value in odds]))


def chosen_threshold(
    probabilities: Sequence[float], labels: Sequence[bool], rule: Literal["f1", "half"] | float
) -> float:
    """The threshold of a recipe: fitted for the best F1, 0.5, or a number."""
    if rule == "f1":
        return best_threshold(probabilities, labels)
    return 0.5 if rule == "half" else float(rule)


def common_threshold(probabilities: Sequence[float], labels: Sequence[bool], sets: Sequence[str]) -> float:
    """One threshold for several sets: the best mean of their expected F1, whatever their sizes.

    As `best_threshold`, set by set; a set without a true label does not count.
    """
    import numpy as np

    values, true = _checked(probabilities, labels)
    names = np.array(sets)
    cuts = np.unique(values)[::-1]
    gains = np.zeros(len(cuts))
    for name in dict.fromkeys(sets):
        mine = values[names == name]
        truth = true[names == name]
        if not truth.sum():
            continue
        inside = np.clip(mine, _EDGE, 1 - _EDGE)
        odds = np.log(inside) - np.log1p(-inside)
        fitted = fit_calibration(odds.tolist(), [bool(label) for label in truth], "platt")
        chances = np.array([fitted.probability(value) for value in odds])
        positive = mine[None, :] >= cuts[:, None]  # (cuts, turns)
        gains += 2 * (positive @ chances) / (positive.sum(1) + chances.sum())
    if not gains.any():
        return 0.5
    return _middle(cuts, int(np.flatnonzero(gains >= gains.max() - _EQUAL)[0]))


def expected_threshold(probabilities: Sequence[float]) -> float:
    """The threshold with the best expected F1 if the probabilities are right; it needs no labels.

    Above a cut the sum of the probabilities is the expected number of true positives; the best threshold is half of
    the best F1 (Lipton et al. 2014). It lies in the middle between two neighbours; of equal cuts the highest is taken,
    which has the fewest positives.
    """
    values, _ = _checked(probabilities, [False] * len(probabilities))
    return _best_cut(values, values)


def _best_cut(probabilities: Floats, chances: Floats) -> float:
    import numpy as np

    if not chances.sum():
        return 0.5
    values, hits, counts = _cuts(probabilities, chances)
    gains = 2 * hits / (counts + chances.sum())
    return _middle(values, int(np.flatnonzero(gains >= gains.max() - _EQUAL)[0]))


def _cuts(probabilities: Floats, true: Floats) -> tuple[Floats, Floats, Floats]:
    """Distinct probabilities in falling order, each with the sum of truths and the count from it upwards."""
    import numpy as np

    values, places = np.unique(-probabilities, return_inverse=True)
    hits = np.cumsum(np.bincount(places, weights=true, minlength=len(values)), dtype=np.float64)
    counts = np.cumsum(np.bincount(places, minlength=len(values)), dtype=np.float64)
    return -values, hits, counts


def _middle(values: Floats, place: int) -> float:
    """The middle between the lowest positive probability and the next one below."""
    above = float(values[place])
    below = float(values[place + 1]) if place + 1 < len(values) else 0.0
    middle = below + (above - below) / 2
    return middle if middle > below else above


def _logistic(scores: Floats, true: Floats, *, slope: bool, intercept: bool) -> Logistic:
    """The most likely scale and bias, with Platt's targets (N+ + 1) / (N+ + 2) and 1 / (N- + 2) for 1 and 0.

    The targets keep the fit finite where a threshold separates the labels, and cautious for few turns.
    """
    import numpy as np
    from scipy.optimize import minimize

    positives = float(true.sum())
    high, low = (positives + 1) / (positives + 2), 1 / (len(true) - positives + 2)
    target = np.where(true > 0, high, low)
    unit = float(scores.std()) or 1.0  # in units of their spread, the same steps suit all scores
    spread = scores / unit

    def loss(free: Floats) -> tuple[float, Floats]:
        odds = free[0] * spread + free[1]
        wrong = 1 / (1 + np.exp(-np.clip(odds, -500, 500))) - target
        slopes = np.array([wrong @ spread if slope else 0.0, wrong.sum() if intercept else 0.0])
        return float((np.logaddexp(0, odds) - target * odds).mean()), slopes / len(target)

    bounds = [(_LEAST_SCALE * unit, None) if slope else (unit, unit), (None, None) if intercept else (0.0, 0.0)]
    start = np.array([max(unit, _LEAST_SCALE * unit), 0.0])
    options = {"maxiter": 500, "ftol": 1e-15, "gtol": 1e-10}
    fit = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    scale, bias = (float(value) for value in fit.x)
    return Logistic(scale / unit, bias)


def _isotonic(scores: Floats, true: Floats) -> Isotonic:
    """Isotonic regression, interpolated between the centres of its steps.

    Small steps are merged with a neighbour, and the ends stay as far from 0 and 1 as Platt's targets do.
    """
    import numpy as np
    from sklearn.isotonic import isotonic_regression

    values, places = np.unique(scores, return_inverse=True)
    weights = np.bincount(places).astype(np.float64)
    hits = np.bincount(places, weights=true)
    steps = isotonic_regression(hits / weights, sample_weight=weights)
    edges = [0, *(np.flatnonzero(np.diff(steps) > 0) + 1).tolist(), len(values)]
    while len(edges) > 2:
        mass = [weights[start:end].sum() for start, end in pairwise(edges)]
        smallest = int(np.argmin(mass))
        if len(mass) <= _MOST_POINTS and mass[smallest] >= _FEWEST_ROWS:
            break
        # joined with the lighter of its neighbours: the edge between the two goes
        left = mass[smallest - 1] if smallest else np.inf
        right = mass[smallest + 1] if smallest + 1 < len(mass) else np.inf
        del edges[smallest if left < right else smallest + 1]
    positives = float(true.sum())
    high, low = (positives + 1) / (positives + 2), 1 / (len(true) - positives + 2)
    points: dict[float, float] = {}
    for start, end in pairwise(edges):
        mass_here = weights[start:end]
        centre = float((values[start:end] * mass_here).sum() / mass_here.sum())
        points[centre] = float(np.clip(hits[start:end].sum() / mass_here.sum(), low, high))
    rising = dict(sorted(points.items()))
    heights = np.maximum.accumulate(list(rising.values()))
    return Isotonic(tuple(rising), tuple(float(height) for height in heights))


def _checked(numbers: Sequence[float], labels: Sequence[bool]) -> tuple[Floats, Floats]:
    import numpy as np

    values, true = np.asarray(numbers, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    if values.shape != true.shape or values.ndim != 1:
        raise TrainingError(
            f"{values.shape} scores do not fit {true.shape} labels.",
            remedy="Give one score a label, in the same order.",
        )
    if not np.isfinite(values).all():
        where = int(np.flatnonzero(~np.isfinite(values))[0])
        raise TrainingError(
            f"The score of turn {where} is {values[where]}.", remedy="The model is broken: train it with a lower rate."
        )
    return values, true
