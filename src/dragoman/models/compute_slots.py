"""Slots for computing: long texts are worked on by one thread at a time, in turn for each caller.

Python runs one thread at a time, so several that compute finish no sooner than one after the other, and each of them
keeps the event loop waiting. A thread that waits, for a model or for the network, computes nothing and loses its slot.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dragoman.core.cancelling import check_cancelled

LONG = 1000
"""A turn of more characters, with its history, needs a slot."""
_LOOK_SECONDS = 0.05
_IDLE_SECONDS, _IDLE_SHARE = 0.1, 0.05
"""A thread that uses less of a processor than this share over so many seconds waits for something."""


class ComputeSlots:
    """Gives out `slots` slots; callers who wait take turns."""

    def __init__(self, slots: int = 1) -> None:
        self._free = slots
        self._lock = threading.Lock()
        self._holders: dict[_Worker, _Pulse | None] = {}
        """None until the thread goes on: the clock of a thread is known to the thread alone."""
        self._waiting: OrderedDict[Hashable, deque[_Worker]] = OrderedDict()

    @contextmanager
    def sharing(self, whose: Hashable) -> Iterator[None]:
        """Within the block `claim` takes a slot for this thread, on account of `whose`; it is free again at the end."""
        worker = _Worker(self, whose)
        token = _worker.set(worker)
        try:
            yield
        finally:
            _worker.reset(token)
            self._give_back(worker)

    def _take(self, worker: _Worker) -> None:
        """Wait for a slot; raises an error once the work is cancelled."""
        with self._lock:
            if worker in self._holders:
                return
            if self._free:
                self._free -= 1
                self._holders[worker] = _Pulse()
                return
            worker.granted.clear()
            self._waiting.setdefault(worker.whose, deque()).append(worker)
        try:
            while not worker.granted.wait(_LOOK_SECONDS):
                check_cancelled()
                self._replace_idle()
        except BaseException:
            self._give_back(worker)
            raise
        with self._lock:
            if worker in self._holders:
                self._holders[worker] = _Pulse()

    def _give_back(self, worker: _Worker) -> None:
        with self._lock:
            line = self._waiting.get(worker.whose)
            if line is not None and worker in line:
                line.remove(worker)
                if not line:
                    del self._waiting[worker.whose]
            if worker in self._holders:
                del self._holders[worker]
                self._pass_on()

    def _pass_on(self) -> None:
        """Give a slot to the next caller; called with the lock held."""
        if not self._waiting:
            self._free += 1
            return
        whose, line = self._waiting.popitem(last=False)
        worker = line.popleft()
        if line:
            self._waiting[whose] = line  # behind the others
        self._holders[worker] = None
        worker.granted.set()

    def _replace_idle(self) -> None:
        """Take the slots of threads that computed nothing since the last look."""
        with self._lock:
            for worker, pulse in list(self._holders.items()):
                if pulse is not None and pulse.is_idle():
                    del self._holders[worker]
                    self._pass_on()


class _Worker:
    """A thread's place among those who share the slots."""

    def __init__(self, slots: ComputeSlots, whose: Hashable) -> None:
        self.slots = slots
        self.whose = whose
        self.wants = False
        self.granted = threading.Event()


class _Pulse:
    """Tells from the processor time of the thread that made it whether that thread computes."""

    def __init__(self) -> None:
        clock = getattr(time, "pthread_getcpuclockid", None)  # not on every platform
        self._clock: int | None = None if clock is None else clock(threading.get_ident())
        self._seen = time.monotonic()
        self._used = self._processor_seconds()

    def is_idle(self) -> bool:
        now, used = time.monotonic(), self._processor_seconds()
        if now - self._seen < _IDLE_SECONDS:
            return False
        share = (used - self._used) / (now - self._seen)
        self._seen, self._used = now, used
        return share < _IDLE_SHARE

    def _processor_seconds(self) -> float:
        try:
            return 0.0 if self._clock is None else time.clock_gettime(self._clock)
        except OSError:
            return 0.0  # the thread has ended


_worker: ContextVar[_Worker | None] = ContextVar("compute_slot", default=None)


def claim(characters: int) -> None:
    """Wait for a slot before work on a text of so many characters; nothing to wait for where nobody shares any.

    Call it where this thread holds no lock.
    """
    worker = _worker.get()
    if worker is not None and characters > LONG:
        worker.wants = True
        worker.slots._take(worker)


def resume() -> None:
    """Wait for a slot again, if this thread claimed one and lost it while it waited for something."""
    worker = _worker.get()
    if worker is not None and worker.wants:
        worker.slots._take(worker)
