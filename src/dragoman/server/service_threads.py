"""Thread pools of the service, one for each kind of work, so that slow work does not delay quick work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable
from concurrent.futures import Future, wait
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from dragoman.models.compute_slots import ComputeSlots, claim
from dragoman.server.turns.fair_pool import FairPool
from dragoman.server.turns.fair_share import FairShare

T = TypeVar("T")
_CHORES, _WAITING_CHORES = 4, 64
_LAST_SECONDS = 5.0
_ASKERS, _WAITING_ASKERS = 4, 1024
_PARSERS = 2
_READERS, _WAITING_READERS = 2, 512


class ServiceThreads:
    """Runs functions in threads. With `fair`, callers share the threads evenly."""

    def __init__(self, *, fair: bool) -> None:
        self.slots = ComputeSlots()
        self._chores = FairPool(_CHORES, "dragoman-chore", fair=fair)
        self._waiting = FairShare(_WAITING_CHORES)
        self._askers = FairPool(_ASKERS, "dragoman-asker", fair=False)
        self._asking = FairShare(_WAITING_ASKERS)
        self._parsers = FairPool(_PARSERS, "dragoman-parser", fair=fair)
        # Files have their own threads, so that one that takes hours does not delay other work.
        self._readers = FairPool(_READERS, "dragoman-reader", fair=fair)
        self.reading = FairShare(_WAITING_READERS)
        self._running: set[Future[Any]] = set()

    async def chore(self, function: Callable[[], T], *, whose: str | None = None) -> T:
        """Run a slow function; it counts against the share of `whose`."""
        with self._waiting.holding(whose, seconds=2.0):
            return await self._in(self._chores, function, whose)

    async def query(self, function: Callable[[], T]) -> T:
        """Run a statement on the shared database."""
        with self._asking.holding(None, seconds=2.0):
            return await self.look_up(function)

    async def look_up(self, function: Callable[[], T]) -> T:
        """Run a short read that a turn waits for."""
        return await self._in(self._askers, function)

    async def parse(self, function: Callable[[str], T], text: str, whose: str | None) -> T:
        """Parse a user's text, which must not run on the event loop."""

        def parse() -> T:
            with self.slots.sharing(whose):
                claim(len(text))
                return function(text)

        return await self._in(self._parsers, parse, whose)

    async def ingest(self, function: Callable[[], T], whose: str | None) -> T:
        """Read or delete files; call it inside of `reading.holding`."""
        return await self._in(self._readers, function, whose)

    def submit(self, function: Callable[[], object]) -> None:
        """Run a short function without waiting for it."""
        self._track(self._askers.submit(function))

    @property
    def is_busy(self) -> bool:
        """Whether a function still runs."""
        return any(not running.done() for running in tuple(self._running))

    def close(self) -> None:
        """Cancel waiting functions, and give running ones a moment to finish."""
        for pool in (self._chores, self._readers, self._askers, self._parsers):
            pool.shutdown(wait=False, cancel_futures=True)
        wait(tuple(self._running), timeout=_LAST_SECONDS)

    async def _in(self, pool: FairPool, function: Callable[[], T], whose: str | None = None) -> T:
        """Run a function in a thread, tracked even if its caller stops waiting."""
        return await asyncio.wrap_future(self._track(pool.submit(function, whose=whose)))

    def _track(self, running: Future[T]) -> Future[T]:
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        return running


class KeyedLocks:
    """Locks by key, made when first held and dropped after the last holder."""

    def __init__(self) -> None:
        self._held: dict[tuple[Hashable, ...], tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def holding(self, *key: Hashable) -> AsyncIterator[None]:
        """Hold the lock of a key for a block."""
        lock, waiting = self._held.get(key, (None, 0))
        lock = lock or asyncio.Lock()
        self._held[key] = (lock, waiting + 1)
        try:
            async with lock:
                yield
        finally:
            lock, waiting = self._held[key]
            if waiting > 1:
                self._held[key] = (lock, waiting - 1)
            else:
                del self._held[key]
