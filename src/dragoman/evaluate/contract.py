"""What a metric is: told once what it needs, then given turns with their replies, it says what each turn is worth.

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
"""Called with what is under way, how much of it is done, how much there is, and what is at hand."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One turn of a set, what a system made of it, and what that cost in models.

    `usage` counts the calls and tokens of every role, `encoded` the texts that an encoder read; None where nobody
    counted, and then the cost is read from the trace.
    """

    example: Example
    reply: Reply
    usage: Usage | None = None
    encoded: int | None = None


@dataclass(frozen=True, slots=True)
class About:
    """What to know of a metric before using it.

    `bounds` is the range of its values, `needs` the labels without which it is refused, `cite` where it is defined.
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
    """What a metric made of a system's turns, in their order.

    `values` takes how often each turn counts, shape (draws, turns), and gives a value a draw; NaN where a draw has
    nothing to count. `per_turn` holds each turn's own value, NaN where the metric does not speak of it, for tests that
    compare turns; None where a single turn has no value. `details` are curves and tables for the report, as JSON.
    """

    counted: Sequence[bool]
    values: Callable[[Floats], Floats]
    per_turn: Floats | None = None
    details: Mapping[str, Json] = field(default_factory=dict)


@runtime_checkable
class Metric(Protocol):
    """A measure of turns. Options are constructor keywords; scoring is pure: the same turns, the same scores."""

    @property
    def about(self) -> About: ...

    def score(self, turns: Sequence[Judged]) -> Scores: ...


def mean_scores(per_turn: Floats, details: Mapping[str, Json] | None = None) -> Scores:
    """The scores of a metric that is the mean of its turns; NaN marks turns it does not speak of."""
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
    """The scores of a metric that is a function of sums over turns, as F1 of counts or BLEU of n-gram matches.

    `statistics` has shape (turns, m), zero in rows that do not count; `fold` takes sums (draws, m) to values (draws,).
    """
    return Scores(
        [True] * len(statistics) if counted is None else list(counted),
        lambda weights: fold(weights @ statistics),
        per_turn,
        details or {},
    )


def quotient(above: Floats, below: Floats) -> Floats:
    """Division that is NaN, and silent, where there is nothing to divide by."""
    import numpy as np

    filled = np.full(np.broadcast(above, below).shape, np.nan)
    np.divide(above, below, out=filled, where=np.asarray(below) != 0)
    return filled
