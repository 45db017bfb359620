"""Fair sharing of capacity: the fuller it gets, the more room heavy users must leave for others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from dragoman.core.errors import BusyError, LimitError

GREED = 3
"""Somebody alone may hold three quarters; of two who want all each gets three sevenths; and so on."""


class FairShare:
    """Counts the places that each user holds of `most`; None is the service itself, which is unlimited."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: Counter[Hashable] = Counter()
        self.total = 0

    def held(self, whose: Hashable) -> int:
        return self._held.get(whose, 0)

    def may_take(self, whose: Hashable) -> bool:
        """Whether a user may take a place: held < 3 * free; the last place is for users who hold none."""
        amount = self._held.get(whose, 0)
        return amount == 0 or whose is None or amount < GREED * (self._most - self.total - 1)

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
        """Hold a place during a block; raises an error with a retry time if there is none."""
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
    """The error for a caller whose share is used up."""
    return LimitError(
        f"{held} {what} of this caller are waiting or running already; what room is left is for others.",
        remedy="Try again in a moment, or ask for less at once.",
        seconds=seconds,
        code="too-many-waiting",
    )
