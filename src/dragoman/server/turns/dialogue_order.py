"""Order of a dialogue's turns across servers: the protocol, and polling for waiting turns."""

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
    """Tickets shared by all servers of a store; calls use the network. See `stores/postgres/dialogue_order`."""

    @property
    def is_lost(self) -> bool:
        """Whether the other servers consider this one dead."""
        ...

    def open(self) -> None: ...

    def take(self, line: Sequence[str], whose: Sequence[str]) -> tuple[Receipt, bool]:
        """Take a ticket at the end of a queue; returns it and whether it is first."""
        ...

    def called(self, places: Collection[Receipt]) -> Mapping[Receipt, bool]:
        """Which of these tickets are first in their queues; missing ones were cancelled."""
        ...

    def bury(self, places: Collection[Receipt] | None = None) -> int:
        """Remove tickets of dead servers from some queues."""
        ...

    def leave(self, place: Receipt) -> None: ...

    def left(self, place: Receipt) -> None:
        """Note that a ticket was removed together with the storing of its turn."""
        ...

    def clear(
        self, whose: Sequence[str], line: Sequence[str] | None = None, *, apart: Sequence[str] | None = None
    ) -> None:
        """Remove all tickets of a user but those of the queue `apart`, or of one queue: running turns store nothing."""
        ...


class Usher:
    """Polls the order for the turns that wait here; only while some wait, and less often the longer they do."""

    def __init__(self, lines: DialogueOrder, call: Callable[[Callable[[], object]], Awaitable[object]]) -> None:
        self._lines = lines
        self._call = call
        self._waiting: dict[Receipt, tuple[Callable[[], None], Callable[[Exception], None]]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._moved = asyncio.Event()
        self._leaving: set[asyncio.Task[None]] = set()

    def wait(self, place: Receipt, begin: Callable[[], None], lost: Callable[[Exception], None]) -> None:
        """Call `begin` when a ticket is first, or `lost` if it was cancelled."""
        self._waiting[place] = begin, lost
        self._moved.set()
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())

    def leave(self, place: Receipt, *, kept: bool) -> None:
        """Release the ticket of a finished turn, unless it was removed when the turn was stored."""
        self._waiting.pop(place, None)
        self._moved.set()
        if kept:
            self._lines.left(place)
            return
        task = asyncio.create_task(self._away(lambda: self._lines.leave(place)))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def close(self) -> None:
        """Wait until all tickets are released."""
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
                receipts = list(self._waiting)
                try:
                    if monotonic() - buried > _BURY_SECONDS:
                        await self._away(lambda: self._lines.bury(receipts))  # noqa: B023 - awaited here
                        buried = monotonic()
                    calls = await self._away(lambda: self._lines.called(receipts))  # noqa: B023 - awaited here
                except DragomanError as error:
                    self._tell(receipts, {}, error)
                    continue
                pause = _SHORTEST if self._tell(receipts, calls) else min(_LONGEST, pause * 1.5)
                self._moved.clear()
                try:
                    await asyncio.wait_for(self._moved.wait(), pause)
                except TimeoutError:
                    continue
        finally:
            self._looking = None

    def _tell(self, asked: Sequence[Receipt], states: Mapping[Receipt, bool], error: Exception | None = None) -> bool:
        """Start the turns that are first; returns whether there were any."""
        called = [place for place in asked if states.get(place, True) and place in self._waiting]
        for place in called:
            begin, lost = self._waiting.pop(place)
            if place in states:
                begin()
            else:
                lost(error or _taken_away())
        return bool(called)


class Standing:
    """A turn's place in the queue across servers."""

    def __init__(self, usher: Usher, place: Receipt, *, first: bool) -> None:
        self._usher = usher
        self.place = place
        self.is_first = first

    def wait(self, begin: Callable[[], None], lost: Callable[[Exception], None]) -> None:
        """Call `begin` or `lost` later."""
        self._usher.wait(self.place, begin, lost)

    def leave(self, *, kept: bool) -> None:
        """Release the place of a finished turn."""
        self._usher.leave(self.place, kept=kept)


def _taken_away() -> BusyError:
    return BusyError(
        "This turn lost its place in the line of its dialogue; nothing of it was kept.",
        remedy="Ask again.",
        seconds=1.0,
    )
