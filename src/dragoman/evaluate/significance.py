"""Confidence intervals and significance tests over `Scores`, the same for every metric.

Turns of one dialogue are not independent, so a bootstrap draws dialogues, with replacement. The same draws serve
every metric and system of a set, which makes every comparison a paired one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from dragoman.core.errors import ConfigError, InputError
from dragoman.evaluate.contract import Scores
from dragoman.evaluate.metrics.options import missing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dragoman.evaluate.contract import Floats

_CELLS_AT_ONCE = 1 << 22  # 32 MiB of weights
_CELLS_KEPT = 1 << 24  # 128 MiB
_EQUAL = 1e-12
"""Values closer than this are equal: sums in another order differ by less."""


@dataclass(frozen=True)
class Draws:
    """Weights of turns in each bootstrap draw, determined by dialogues, count and seed.

    `dialogues` names the dialogue of every turn. With c comparisons in a table Holm's correction needs p below
    0.05 / c, and a p from `count` draws is never below 2 / (count + 1): draw more where a table is large.
    """

    dialogues: tuple[str, ...]
    count: int = 1000
    seed: int = 0

    @classmethod
    def of(cls, dialogues: Sequence[str], *, count: int = 1000, seed: int = 0) -> Draws:
        if count < 1:
            raise ConfigError(f"A bootstrap of {count} draws is none.", remedy="Draw 1000.")
        return cls(tuple(dialogues), count, seed)

    def __iter__(self) -> Iterator[Floats]:
        """Yield the weights in chunks of shape (some draws, turns), a few megabytes each."""
        if self.count * len(self.dialogues) <= _CELLS_KEPT:
            yield from self._cached_weights
        else:
            yield from self._weights()

    @cached_property
    def _cached_weights(self) -> list[Floats]:
        """Cached weights of a small set, read-only for all metrics."""
        parts = list(self._weights())
        for weights in parts:
            weights.flags.writeable = False
        return parts

    @cached_property
    def _owners(self) -> NDArray[np.int64]:
        """Return the dialogue index of each turn."""
        import numpy as np

        numbers: dict[str, int] = {}
        return np.array([numbers.setdefault(name, len(numbers)) for name in self.dialogues], dtype=np.int64)

    def _weights(self) -> Iterator[Floats]:
        import numpy as np

        owners = self._owners
        if not len(owners):
            return
        clusters = int(owners.max()) + 1
        chance = np.random.default_rng(self.seed)
        rows = max(1, _CELLS_AT_ONCE // len(owners))
        for first in range(0, self.count, rows):
            size = min(rows, self.count - first)
            times = np.empty((size, clusters))
            for row in times:  # one at a time, so that a draw stays in the processor's cache
                row[:] = np.bincount(chance.integers(0, clusters, clusters), minlength=clusters)
            yield times if clusters == len(owners) else np.take(times, owners, axis=1)

    def spoken(self, *systems: Scores) -> int:
        """Return the number of dialogues with a turn that counts for any of the systems."""
        return len(
            {name for scores in systems for name, counts in zip(self.dialogues, scores.counted, strict=True) if counts}
        )

    def values(self, scores: Scores) -> Floats:
        """Return the metric's value in every draw; NaN if a draw has nothing to count."""
        import numpy as np

        if len(scores.counted) != len(self.dialogues):
            raise InputError(
                f"Scores of {len(scores.counted)} turns do not fit draws of {len(self.dialogues)}.",
                remedy="Make the draws from the dialogues of the same turns.",
            )
        return np.concatenate([scores.values(weights) for weights in self])


@dataclass(frozen=True, slots=True)
class Interval:
    """Figure with percentile interval and standard error, from `n` turns.

    NaN where the metric is undefined on these turns; `undefined` counts the draws on which it was. The interval and the
    error of a single dialogue are NaN: it says nothing about others.
    """

    value: float
    low: float
    high: float
    error: float
    n: int
    level: float
    undefined: int = 0


@dataclass(frozen=True, slots=True)
class Paired:
    """Difference of two systems on the same draws, with interval and two-sided p."""

    difference: float
    low: float
    high: float
    error: float
    p: float
    level: float
    undefined: int = 0


@dataclass(frozen=True, slots=True)
class Tested:
    """Result of a test over `n` turns on which the systems differ."""

    name: Literal["wilcoxon", "mcnemar"]
    p: float
    statistic: float
    n: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of a system with the baseline. Tests over turns exist if turns have values; `p` is by dialogue."""

    paired: Paired
    wilcoxon: Tested | None = None
    mcnemar: Tested | None = None

    @property
    def p(self) -> float:
        return self.paired.p

    @property
    def tests(self) -> dict[str, float]:
        """Return the p of each applicable test, by name."""
        over_turns: dict[str, float] = {test.name: test.p for test in (self.wilcoxon, self.mcnemar) if test is not None}
        return {"paired bootstrap": self.paired.p, **over_turns}


def value(scores: Scores, name: str = "metric") -> float:
    """Return the metric's value with every turn counted once; raise an error if no turn counts."""
    import numpy as np

    if not any(scores.counted):
        raise InputError(
            f"{name}: none of the {len(scores.counted)} turns counts.",
            remedy="Check the column's `where` and `source`, or take more turns.",
            metric=name,
        )
    return float(scores.values(np.ones((1, len(scores.counted))))[0])


def interval(scores: Scores, draws: Draws, *, level: float = 0.95, name: str = "metric") -> Interval:
    """The percentile bootstrap over dialogues (Efron and Tibshirani 1993, chapter 13)."""
    estimate = value(scores, name)
    low, high, error, undefined = _spread(draws.values(scores), level, draws.spoken(scores))
    return Interval(estimate, low, high, error, sum(scores.counted), level, undefined)


def paired(a: Scores, b: Scores, draws: Draws, *, level: float = 0.95, name: str = "metric") -> Paired:
    """b - a on the same draws.

    p is twice the smaller share of draws on either side of 0, the level at which the percentile interval just reaches
    it; one is added to counts and draws, so that it is never 0 (Davison and Hinkley 1997, section 4.2.3). Few dialogues
    are drawn alike again and again: p is never below 2 / 2^n, the least that a sign test over n dialogues can find.
    """
    import numpy as np

    difference = value(b, name) - value(a, name)
    differences = draws.values(b) - draws.values(a)
    dialogues = draws.spoken(a, b)
    low, high, error, undefined = _spread(differences, level, dialogues)
    defined = differences[~np.isnan(differences)]
    if not len(defined) or np.isnan(difference):
        return Paired(difference, low, high, error, float("nan"), level, undefined)
    fewer = min(int((defined <= _EQUAL).sum()), int((defined >= -_EQUAL).sum()))
    p = min(1.0, max(2 * (fewer + 1) / (len(defined) + 1), 2.0 ** (1 - dialogues)))
    return Paired(difference, low, high, error, p, level, undefined)


def wilcoxon(a: Floats, b: Floats) -> Tested:
    """Wilcoxon's signed-rank test over turns that both speak of, ties left out; p = 1 where all are equal."""
    try:
        from scipy.stats import wilcoxon as signed_rank
    except ImportError as error:
        raise missing("Wilcoxon's test", error) from error
    differences = _differences(a, b)
    if not len(differences):
        return Tested("wilcoxon", 1.0, 0.0, 0)
    result = signed_rank(differences)
    return Tested("wilcoxon", float(result.pvalue), float(result.statistic), len(differences))


def mcnemar(a: Floats, b: Floats) -> Tested:
    """McNemar's exact test of decisions that are right (1) or wrong (0): do as many turn to wrong as to right?"""
    try:
        from scipy.stats import binomtest
    except ImportError as error:
        raise missing("McNemar's test", error) from error
    if not (_is_decision(a) and _is_decision(b)):
        raise InputError("McNemar's test needs values of 0 and 1.", remedy="Use wilcoxon for other values.")
    differences = _differences(a, b)
    gained, n = int((differences > 0).sum()), len(differences)
    p = float(binomtest(gained, n, 0.5).pvalue) if n else 1.0
    return Tested("mcnemar", p, float(min(gained, n - gained)), n)


def holm(ps: Sequence[float]) -> list[float]:
    """Holm's step-down correction (1979): the i-th smallest of m times m - i + 1, never falling, at most 1.

    NaN stays NaN and is not counted among the m.
    """
    ranked = sorted((p, index) for index, p in enumerate(ps) if not math.isnan(p))
    adjusted = [float("nan")] * len(ps)
    largest = 0.0
    for step, (p, index) in enumerate(ranked):
        largest = max(largest, min(1.0, p * (len(ranked) - step)))
        adjusted[index] = largest
    return adjusted


def compare(
    baseline: Scores,
    other: Scores,
    draws: Draws,
    *,
    level: float = 0.95,
    name: str = "metric",
    decisions: bool | None = None,
) -> Comparison:
    """Every test that applies: the paired bootstrap always; over turns McNemar for decisions, Wilcoxon for the rest.

    `decisions` says which of the two, where more than this pair is to be tested alike.
    """
    difference = paired(baseline, other, draws, level=level, name=name)
    a, b = baseline.per_turn, other.per_turn
    if a is None or b is None:
        return Comparison(difference)
    if are_decisions(baseline, other) if decisions is None else decisions:
        return Comparison(difference, mcnemar=mcnemar(a, b))
    return Comparison(difference, wilcoxon=wilcoxon(a, b))


def are_decisions(*systems: Scores) -> bool:
    """Whether all turn values of these systems are right (1) or wrong (0)."""
    return all(_is_decision(scores.per_turn) for scores in systems if scores.per_turn is not None)


def _spread(differences: Floats, level: float, dialogues: int) -> tuple[float, float, float, int]:
    """Return the interval, the standard error, and the number of undefined draws."""
    import numpy as np

    if not 0 < level < 1:
        raise ConfigError(f"The level {level} is outside (0, 1).", remedy="Give 0.95.")
    defined = differences[~np.isnan(differences)]
    undefined = len(differences) - len(defined)
    if len(defined) < 2 or dialogues < 2:
        return float("nan"), float("nan"), float("nan"), undefined
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return low, high, float(defined.std(ddof=1)), undefined


def _differences(a: Floats, b: Floats) -> Floats:
    """Return b - a over turns with both values, without ties."""
    import numpy as np

    differences = np.asarray(b, dtype=np.float64) - np.asarray(a, dtype=np.float64)
    return differences[np.abs(differences) > _EQUAL]  # NaN compares as false, so it is left out too


def _is_decision(values: Floats) -> bool:
    import numpy as np

    defined = values[~np.isnan(values)]
    return bool(np.isin(defined, (0.0, 1.0)).all())
