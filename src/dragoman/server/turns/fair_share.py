"""Room that many share: whoever holds much of it leaves some to others, and more the fuller it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from dragoman.core.errors import BusyError, LimitError

GREED = 3
"""Somebody alone may hold three quarters; of two who want all each gets three sevenths; and so on."""


class FairShare:
    """Counts what each holds of a room with `most` places; None is the service itself, which has no share."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: Counter[Hashable] = Counter()
        self.total = 0

    def held(self, whose: Hashable) -> int:
        return self._held.get(whose, 0)

    def may_take(self, whose: Hashable) -> bool:
        """Whether somebody leaves enough to others: held < 3 * free, where the last place is for who holds none."""
        held = self._held.get(whose, 0)
        return held == 0 or whose is None or held < GREED * (self._most - self.total - 1)

    def take(self, whose: Hashable) -> None:
        self._held[whose] += 1
        self.total += 1

    def give_back(self, whose: Hashable) -> None:
        self.total -= 1
        if self._held[whose] > 1:
            self._held[whose] -= 1
        else:
            del self._held[whose]

    @contextmanager
    def holding(self, whose: Hashable, *, seconds: float) -> Iterator[None]:
        """A place for the length of a block, or the refusal that says when to come back."""
        if self.total >= self._most:
            raise BusyError("Too much is being done already.", remedy="Try again in a moment.", seconds=seconds)
        if not self.may_take(whose):
            raise too_many_waiting(self.held(whose), "requests", seconds)
        self.take(whose)
        try:
            yield
        finally:
            self.give_back(whose)


def too_many_waiting(held: int, what: str, seconds: float) -> LimitError:
    """The refusal of a caller who has taken their share."""
    return LimitError(
        f"{held} {what} of this caller are waiting or running already; what room is left is for others.",
        remedy="Try again in a moment, or ask for less at once.",
        seconds=seconds,
        code="too-many-waiting",
    )
