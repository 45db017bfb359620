"""How far annotators agree: Fleiss' and Cohen's kappa, the share of agreeing pairs, and means with intervals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import combinations

from dragoman.core.errors import InputError

Ratings = Sequence[Sequence[Hashable]]
"""What every annotator said of each item: a row an item, a column an annotator."""


def fleiss_kappa(ratings: Ratings) -> float:
    """Agreement beyond chance of several annotators (Fleiss 1971): kappa = (P - Pe) / (1 - Pe).

    NaN where there is nothing to agree on: no items, one annotator, or a single answer throughout.
    """
    raters = _raters(ratings)
    if raters < 2:
        return math.nan
    totals = Counter(answer for row in ratings for answer in row)
    everything = len(ratings) * raters
    by_chance = math.fsum((count / everything) ** 2 for count in totals.values())  # Pe = sum p_j^2
    return _beyond_chance(percentage_agreement(ratings), by_chance, len(totals))


def cohen_kappa(one: Sequence[Hashable], two: Sequence[Hashable]) -> float:
    """Agreement beyond chance of two annotators, each with habits of their own (Cohen 1960); NaN as for Fleiss."""
    if len(one) != len(two):
        raise InputError(f"Two annotators judged {len(one)} and {len(two)} items.", remedy="Give the same items.")
    if not one:
        return math.nan
    first, second = Counter(one), Counter(two)
    observed = sum(a == b for a, b in zip(one, two, strict=True)) / len(one)
    by_chance = math.fsum(first[answer] * second[answer] for answer in first) / len(one) ** 2
    return _beyond_chance(observed, by_chance, len({*first, *second}))


def percentage_agreement(ratings: Ratings) -> float:
    """Return the share of annotator pairs with equal answers, over all items: Fleiss' mean P_i, in [0, 1]."""
    raters = _raters(ratings)
    if raters < 2:
        return math.nan
    pairs = raters * (raters - 1) / 2
    agreeing = sum(a == b for row in ratings for a, b in combinations(row, 2))
    return agreeing / (pairs * len(ratings))


def interval(numbers: Sequence[float], *, level: float = 0.95, draws: int = 2000, seed: int = 1) -> tuple[float, float]:
    """The bootstrap interval of a mean: percentiles of the means of draws with replacement."""
    import numpy as np

    if not numbers:
        return math.nan, math.nan
    random = np.random.default_rng(seed)
    values = np.asarray(numbers, dtype=np.float64)
    means = values[random.integers(0, len(values), (draws, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _raters(ratings: Ratings) -> int:
    sizes = {len(row) for row in ratings}
    if len(sizes) > 1:
        raise InputError(
            f"Items were judged by {min(sizes)} to {max(sizes)} annotators.", remedy="Keep the items that all judged."
        )
    return sizes.pop() if sizes else 0


def _beyond_chance(observed: float, by_chance: float, answers: int) -> float:
    return math.nan if answers < 2 else (observed - by_chance) / (1 - by_chance)
