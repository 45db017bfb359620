"""The line of a dialogue over several servers: the contract, and who tells a waiting turn that it may begin."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from time import monotonic
from typing import Protocol, TypeVar

from dragoman.core.errors import BusyError, DragomanError
from dragoman.core.values import Receipt

T = TypeVar("T")
_SHORTEST, _LONGEST = 0.01, 0.1
_BURY_SECONDS = 0.5


class DialogueOrder(Protocol):
    """Tickets that all servers of a store know; a call goes over a network. See `stores/postgres/dialogue_order`."""

    @property
    def is_lost(self) -> bool:
        """Whether the other servers take this one for dead, though it was there before."""
        ...

    def open(self) -> None: ...

    def take(self, line: Sequence[str], whose: Sequence[str]) -> tuple[Receipt, bool]:
        """A ticket at the end of a line, and whether nobody is before it."""
        ...

    def called(self, places: Collection[Receipt]) -> Mapping[Receipt, bool]:
        """Which of these tickets are first in their lines; one that is not named was taken away."""
        ...

    def bury(self, places: Collection[Receipt] | None = None) -> int:
        """Take the tickets of dead servers out of the lines of some places."""
        ...

    def leave(self, place: Receipt) -> None: ...

    def left(self, place: Receipt) -> None:
        """Note that a ticket went with the turn that was kept."""
        ...

    def clear(self, whose: Sequence[str], line: Sequence[str] | None = None) -> None:
        """Take all tickets of a user, or of one of their lines, away: turns that run keep nothing."""
        ...


class Usher:
    """Asks for all turns that wait here whose turn it is: only while some wait, and rarely where they wait long."""

    def __init__(self, lines: DialogueOrder, call: Callable[[Callable[[], object]], Awaitable[object]]) -> None:
        self._lines = lines
        self._call = call
        self._waiting: dict[Receipt, tuple[Callable[[], None], Callable[[Exception], None]]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._moved = asyncio.Event()
        self._leaving: set[asyncio.Task[None]] = set()

    def wait(self, place: Receipt, begin: Callable[[], None], lost: Callable[[Exception], None]) -> None:
        """Call `begin` when a place is first, or `lost` where it never will be."""
        self._waiting[place] = begin, lost
        self._moved.set()
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())

    def leave(self, place: Receipt, *, kept: bool) -> None:
        """A turn is over; where it was kept, its ticket went with it."""
        self._waiting.pop(place, None)
        self._moved.set()
        if kept:
            self._lines.left(place)
            return
        task = asyncio.create_task(self._away(lambda: self._lines.leave(place)))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def close(self) -> None:
        """Until everything is given back."""
        while self._leaving:
            await asyncio.gather(*self._leaving, return_exceptions=True)
        if self._looking is not None:
            self._looking.cancel()

    async def _away(self, function: Callable[[], T]) -> T:
        return await self._call(function)  # type: ignore[return-value]  # it gives what the function gives

    async def _look(self) -> None:
        pause, buried = _SHORTEST, monotonic()
        try:
            while self._waiting:
                asked = list(self._waiting)
                try:
                    if monotonic() - buried > _BURY_SECONDS:
                        await self._away(lambda: self._lines.bury(asked))  # noqa: B023 - awaited here
                        buried = monotonic()
                    found = await self._away(lambda: self._lines.called(asked))  # noqa: B023 - awaited here
                except DragomanError as error:
                    self._tell(asked, {}, error)
                    continue
                pause = _SHORTEST if self._tell(asked, found) else min(_LONGEST, pause * 1.5)
                self._moved.clear()
                try:
                    await asyncio.wait_for(self._moved.wait(), pause)
                except TimeoutError:
                    continue
        finally:
            self._looking = None

    def _tell(self, asked: Sequence[Receipt], found: Mapping[Receipt, bool], error: Exception | None = None) -> bool:
        """Let those begin that are first; whether anybody is told anything."""
        told = [place for place in asked if found.get(place, True) and place in self._waiting]
        for place in told:
            begin, lost = self._waiting.pop(place)
            if place in found:
                begin()
            else:
                lost(error or _taken_away())
        return bool(told)


class Standing:
    """A turn's place in the line over all servers."""

    def __init__(self, usher: Usher, place: Receipt, *, first: bool) -> None:
        self._usher = usher
        self.place = place
        self.is_first = first

    def wait(self, begin: Callable[[], None], lost: Callable[[Exception], None]) -> None:
        """Call one of the two later."""
        self._usher.wait(self.place, begin, lost)

    def leave(self, *, kept: bool) -> None:
        """The turn is over."""
        self._usher.leave(self.place, kept=kept)


def _taken_away() -> BusyError:
    return BusyError(
        "This turn lost its place in the line of its dialogue; nothing of it was kept.",
        remedy="Ask again.",
        seconds=1.0,
    )
