"""Contract of metrics: a metric declares its needs and scores turns with their replies.

The value of a metric is a function of how often each turn counts. Once each is the value itself; drawn with
replacement it is a bootstrap, and the same draw over two systems is a paired one. So every metric, a mean as well as
BLEU, F1 or the area under a curve, gets its interval and its test in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

from dragoman.core.codec import Json
from dragoman.core.examples import Example, Label
from dragoman.core.trace import Reply
from dragoman.core.values import Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

Direction: TypeAlias = Literal["up", "down", "none"]
Progress: TypeAlias = Callable[[str, int, int | None, str], None]
"""Callback with stage, steps done, steps in all, and current item."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One turn of a set with a system's reply and its cost in model calls.

    `usage` counts calls and tokens of every role, `encoded` the texts that an encoder read; None if no meter counted,
    and then the trace gives the cost.
    """

    example: Example
    reply: Reply
    usage: Usage | None = None
    encoded: int | None = None


@dataclass(frozen=True, slots=True)
class About:
    """Description of a metric.

    `bounds` is the range of its values, `needs` its required labels, `cite` its definition.
    A metric whose value differs from run to run (seconds) is not `repeatable`, and is kept out of the result's bytes.
    """

    title: str
    direction: Direction
    bounds: tuple[float, float]
    cite: str
    needs: frozenset[Label] = frozenset()
    repeatable: bool = True


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of a metric for a system's turns, in order.

    `values` maps the weights of turns, shape (draws, turns), to one value per draw; NaN if a draw has nothing to count.
    `per_turn` holds each turn's own value for tests that compare turns, NaN for turns that do not count; None if single
    turns have no value. `details` are curves and tables for the report, as JSON.
    """

    counted: Sequence[bool]
    values: Callable[[Floats], Floats]
    per_turn: Floats | None = None
    details: Mapping[str, Json] = field(default_factory=dict)


@runtime_checkable
class Metric(Protocol):
    """Metric over turns. Options are constructor keywords; scoring is a pure function of the turns."""

    @property
    def about(self) -> About: ...

    def score(self, turns: Sequence[Judged]) -> Scores: ...


def mean_scores(per_turn: Floats, details: Mapping[str, Json] | None = None) -> Scores:
    """Return the scores of a metric that is the mean of its turns; NaN marks turns that do not count."""
    import numpy as np

    counted = ~np.isnan(per_turn)
    numbers = np.where(counted, per_turn, 0.0)

    def values(weights: Floats) -> Floats:
        return quotient(weights @ numbers, weights @ counted)

    return Scores(counted.tolist(), values, per_turn, details or {})


def folded_scores(
    statistics: Floats,
    fold: Callable[[Floats], Floats],
    counted: Sequence[bool] | None = None,
    per_turn: Floats | None = None,
    details: Mapping[str, Json] | None = None,
) -> Scores:
    """Return the scores of a metric that is a function of sums over turns, as F1 of counts or BLEU of matches.

    `statistics` has shape (turns, m), zero in rows that do not count; `fold` takes sums (draws, m) to values (draws,).
    """
    return Scores(
        [True] * len(statistics) if counted is None else list(counted),
        lambda weights: fold(weights @ statistics),
        per_turn,
        details or {},
    )


def quotient(above: Floats, below: Floats) -> Floats:
    """Divide; NaN without a warning if the divisor is 0."""
    import numpy as np

    filled = np.full(np.broadcast(above, below).shape, np.nan)
    np.divide(above, below, out=filled, where=np.asarray(below) != 0)
    return filled
