"""Queue of turns: bounded numbers wait and run; turns of one dialogue run one after the other.

Everything but `_work` and `RunningTurn._put` runs on the event loop and needs no locks.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Hashable
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from time import perf_counter

from dragoman.core.cancelling import WorkCancelled, cancellable
from dragoman.core.errors import BusyError, DragomanError, ServiceError
from dragoman.models.compute_slots import ComputeSlots
from dragoman.server.turns.dialogue_order import Standing
from dragoman.server.turns.events import Event, Text, TurnDone
from dragoman.server.turns.fair_pool import FairPool
from dragoman.server.turns.fair_share import FairShare, too_many_waiting

_log = logging.getLogger("dragoman.server")
_SMOOTHING = 0.1
_SOON = 0.02
_ANEW = "Ask again in a moment."


class RunningTurn:
    """One turn. Iterate over it for its events, or wait for its end with `outcome`."""

    def __init__(
        self, turn_queue: TurnQueue, line: tuple[Hashable, ...], work: Callable[[], Generator[Event]], *, eager: bool
    ) -> None:
        self.began = perf_counter()
        self.started: float | None = None
        self.cancelled = False
        self.line = line
        self.whose: Hashable = None
        self.work = work
        self.future: Future[None] | None = None
        self.standing: Standing | None = None
        self.around: AbstractAsyncContextManager[None] | None = None
        self.surrounded: asyncio.Task[None] | None = None
        self.over = asyncio.Event()
        self.kept = False
        self.timer: asyncio.TimerHandle | None = None
        self._turn_queue = turn_queue
        self._eager = eager
        self._events: deque[Event] = deque()
        self.error: Exception | None = None
        self.ended = False
        self._waiter: asyncio.Future[None] | None = None
        self._woken = False

    async def __aiter__(self) -> AsyncGenerator[Event]:
        """Iterate over the events; stopping early cancels the turn."""
        try:
            while not self.ended or self._events:
                for event in self.drain():
                    yield event
                await self.wait()
            if self.error is not None:
                raise self.error
        finally:
            self.cancel()

    @property
    def pending(self) -> bool:
        """Whether there are unread events."""
        return bool(self._events)

    def drain(self) -> list[Event]:
        """Take the available events; consecutive pieces of text are merged."""
        events, batch, pieces = self._events, list[Event](), list[str]()
        for _ in range(len(events)):
            event = events.popleft()
            if isinstance(event, Text):
                pieces.append(event.text)
                continue
            if pieces:
                batch.append(Text("".join(pieces)))
                pieces = []
            batch.append(event)
        return [*batch, Text("".join(pieces))] if pieces else batch

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait for events, the end or a timeout; returns whether it was not the timeout."""
        if self._events or self.ended:
            return True
        self._waiter = waiter = self._turn_queue.loop.create_future()
        timer = None if seconds is None else self._turn_queue.loop.call_later(seconds, self.wake)
        try:
            await waiter
        finally:
            self._waiter = None
            if timer is not None:
                timer.cancel()
        return bool(self._events or self.ended)

    async def outcome(self) -> TurnDone:
        """Wait for the end of the turn; cancelling the wait cancels the turn."""
        last: Event | None = None
        async for event in self:
            last = event
        if not isinstance(last, TurnDone):
            raise ServiceError("The turn ended without a reply.", remedy="Try again.", code="internal")
        return last

    def cancel(self) -> None:
        """Cancel the turn: it does not start, or stops at the next piece."""
        if not self.ended:
            self.cancelled = True
            self._turn_queue.drop(self)

    def fail(self, error: Exception) -> None:
        """End the turn with an error and stop it."""
        if not self.ended:
            self.end(error)
            self.cancelled = True
            self._turn_queue.drop(self)

    def end(self, error: Exception | None) -> None:
        """Mark the end of the events."""
        if not self.ended:
            self.ended, self.error = True, error
            if self.timer is not None:
                self.timer.cancel()
            self.wake()

    def put(self, event: Event) -> None:
        """Add an event from the worker thread; wakes the event loop once for several events."""
        self._events.append(event)
        self.kept = self.kept or (isinstance(event, TurnDone) and not event.replayed and not event.calls)
        if self._eager and not self._woken:
            self._woken = True
            self._turn_queue.loop.call_soon_threadsafe(self.wake)

    def wake(self) -> None:
        self._woken = False
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class TurnQueue:
    """Runs up to `workers` turns at once, lets `queue` more wait, and rejects the rest.

    One caller's turns take three quarters of the workers at most, unless `fair` is off. Long texts are worked on one
    at a time, by whoever holds one of the `slots`.
    """

    def __init__(
        self, *, workers: int, queue: int, turn_seconds: float, fair: bool = True, slots: ComputeSlots | None = None
    ) -> None:
        self.loop: asyncio.AbstractEventLoop = None  # type: ignore[assignment]  # set when the first turn comes
        self.workers = workers
        self._most = workers + queue
        self._turn_seconds = turn_seconds
        self._pool = FairPool(workers, "dragoman-turn", fair=fair)
        self._slots = slots or ComputeSlots()
        self._lines: dict[tuple[Hashable, ...], deque[RunningTurn]] = {}
        self._live: set[RunningTurn] = set()
        self._shares = FairShare(self._most)
        self._hushed: Counter[tuple[tuple[Hashable, ...], tuple[Hashable, ...] | None]] = Counter()
        self._mean = 0.0
        self._closing = False
        self._idle: asyncio.Event | None = None

    @property
    def load(self) -> int:
        """Number of running and waiting turns."""
        return len(self._live)

    @property
    def runs(self) -> tuple[RunningTurn, ...]:
        """Running and waiting turns."""
        return tuple(self._live)

    @property
    def is_busy(self) -> bool:
        """Whether a worker is still busy, even with a cancelled turn, since a call of a model is not interrupted."""
        return self._pool.is_busy

    def check(self, whose: Hashable = None) -> None:
        """Raise an error if the queue is full or the caller's share is used up."""
        if self._closing:
            raise BusyError("The server is closing.", remedy="Try again in a moment.", seconds=5.0, code="closing")
        if len(self._live) >= self._most:
            seconds = min(60.0, max(1.0, self._mean * len(self._live) / self.workers))
            raise BusyError(
                f"{len(self._live)} turns are waiting or running already.",
                remedy=f"Try again in {math.ceil(seconds)} s.",
                seconds=seconds,
            )
        if not self._shares.may_take(whose):
            count = self._shares.held(whose)
            raise too_many_waiting(count, "turns", min(60.0, max(1.0, self._mean * count / self.workers)))

    def submit(
        self,
        line: tuple[Hashable, ...],
        work: Callable[[], Generator[Event]],
        *,
        eager: bool,
        whose: Hashable = None,
        standing: Standing | None = None,
        around: AbstractAsyncContextManager[None] | None = None,
    ) -> RunningTurn:
        """Queue a turn; `work` yields its events in a worker thread. The turn counts against the share of `whose`.

        With a `standing`, it also waits for its place among turns of other servers. The context `around` is entered
        when the turn is first in its queue, and left when it is over.
        """
        self.check(whose)
        if any(line != apart and line[: len(whose)] == whose for whose, apart in self._hushed):
            raise BusyError("What is known is being forgotten.", remedy=_ANEW, seconds=1.0)
        self.loop = asyncio.get_running_loop()
        run = RunningTurn(self, line, work, eager=eager)
        run.whose, run.standing, run.around = whose, standing, around
        self._live.add(run)
        self._shares.take(whose)
        run.timer = self.loop.call_later(self._turn_seconds, self._expire, run)
        if line in self._lines:
            self._lines[line].append(run)
        else:
            self._lines[line] = deque()
            self._begin(run)
        return run

    @asynccontextmanager
    async def hush(
        self, whose: tuple[Hashable, ...], *, apart: tuple[Hashable, ...] | None = None
    ) -> AsyncIterator[None]:
        """Context in which queues with this prefix have no turns: running ones are cancelled, new ones rejected.

        The queue `apart`, that of the turn which needs it, goes on.
        """
        self._hushed[whose, apart] += 1
        try:
            while running := [run for run in self._live if run.line != apart and run.line[: len(whose)] == whose]:
                for run in running:
                    run.fail(BusyError("What this turn rests on is being forgotten.", remedy=_ANEW, seconds=1.0))
                await asyncio.sleep(_SOON)  # a model stops at its next piece
            yield
        finally:
            self._hushed[whose, apart] -= 1
            self._hushed += Counter()  # drops counts of zero

    def callers(self) -> set[Hashable]:
        """Callers with running or waiting turns."""
        return {run.whose for run in self._live}

    def end(self, whose: Hashable, error: Exception) -> None:
        """Cancel all turns of a caller."""
        for run in [run for run in self._live if run.whose == whose]:
            run.fail(error)

    def drop(self, run: RunningTurn) -> None:
        """Remove a cancelled turn from its queue; a running one stops by itself and is released then."""
        waiting = self._lines.get(run.line)
        if run.future is None:
            if waiting is not None and run in waiting:
                waiting.remove(run)
                self._forget(run)
            else:  # first in its queue here, but waiting for other servers
                self._release(run, None)
        elif run.future.cancel():
            self._release(run, None)

    async def close(self, grace: float) -> None:
        """Accept no more turns; wait for the present ones, then cancel the rest."""
        self._closing = True
        for patience in (grace, 5.0):
            if self._live:
                self._idle = asyncio.Event()
                try:
                    await asyncio.wait_for(self._idle.wait(), patience)
                except TimeoutError:
                    for run in tuple(self._live):
                        run.fail(BusyError("The server is closing.", seconds=5.0, code="closing"))
        self._pool.shutdown(wait=not self._live, cancel_futures=True)

    def _begin(self, run: RunningTurn) -> None:
        if run.standing is None or run.standing.is_first:
            self._start(run)
        else:
            run.standing.wait(lambda: self._start(run), run.fail)

    def _start(self, run: RunningTurn) -> None:
        if run.around is None:
            run.future = self._pool.submit(partial(self._work, run), whose=run.whose)
        else:
            run.surrounded = self.loop.create_task(self._surround(run, run.around))

    async def _surround(self, run: RunningTurn, around: AbstractAsyncContextManager[None]) -> None:
        """Enter the context of a turn, then start it, unless it was dropped meanwhile."""
        try:
            async with around:
                run.future = self._pool.submit(partial(self._work, run), whose=run.whose)
                await run.over.wait()
        except Exception as error:  # noqa: BLE001 - the listener is told
            run.surrounded = None
            run.fail(error if isinstance(error, DragomanError) else _unexpected(error))

    def _work(self, run: RunningTurn) -> None:
        """Run in a worker thread: pass on the events and the error, if any."""
        error: Exception | None = None
        run.started = perf_counter()
        if not run.cancelled:
            try:
                with cancellable(lambda: run.cancelled), self._slots.sharing(run.whose):
                    events = run.work()
                    try:
                        for event in events:
                            if run.cancelled:
                                break
                            run.put(event)
                    finally:
                        events.close()  # stops a running generation
            except WorkCancelled:
                error = None  # the canceller has already sent the error
            except DragomanError as expected:
                error = expected
            except Exception as unexpected:  # noqa: BLE001 - the listener is told, and the worker goes on
                error = _unexpected(unexpected)
        self.loop.call_soon_threadsafe(self._release, run, error)

    def _release(self, run: RunningTurn, error: Exception | None) -> None:
        """Release a finished turn and start the next of its queue."""
        run.end(error)
        if run.started is not None:
            self._mean += _SMOOTHING * (perf_counter() - run.started - self._mean)
        line = self._lines.get(run.line)
        if line:
            self._begin(line.popleft())
        else:
            self._lines.pop(run.line, None)
        self._forget(run)

    def _forget(self, run: RunningTurn) -> None:
        run.end(None)
        if run in self._live:
            self._live.remove(run)
            self._shares.give_back(run.whose)
            if run.standing is not None:
                run.standing.leave(kept=run.kept)
            run.over.set()
            if run.surrounded is not None and run.future is None:
                run.surrounded.cancel()
        if not self._live and self._idle is not None:
            self._idle.set()

    def _expire(self, run: RunningTurn) -> None:
        waited = run.future is None or run.started is None
        message = "The turn waited too long to begin." if waited else "The turn took too long."
        remedy = f"Turns may take {self._turn_seconds:g} s (--turn-seconds)."
        if waited and run.standing is not None and run.future is None:
            message = "Earlier turns of this dialogue, here or on another server, have not ended."
            remedy = f"Ask again in a moment; turns wait {self._turn_seconds:g} s at most (--turn-seconds)."
        run.fail(BusyError(message, remedy=remedy, seconds=5.0, code="busy" if waited else "turn-timeout"))


def _unexpected(error: Exception) -> ServiceError:
    """The error for the client. Only its type is logged, since a traceback may hold user data."""
    _log.error("a turn failed: %s", type(error).__name__)
    _log.debug("the failed turn", exc_info=_where(error))
    return ServiceError("The turn failed unexpectedly.", remedy="Try again.", code="internal")


def _where(error: Exception) -> Exception:
    """The type and place of an error, without its message, which may hold user data."""
    return RuntimeError(type(error).__name__).with_traceback(error.__traceback__)
