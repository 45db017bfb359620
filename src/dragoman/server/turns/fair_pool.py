"""A thread pool with fair shares: no caller takes all threads, and the one with the fewest goes first."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any, TypeVar

from dragoman.server.turns.fair_share import FairShare

T = TypeVar("T")


class _Job:
    __slots__ = ("function", "future", "number", "whose")

    def __init__(self, function: Callable[[], Any], whose: Hashable, number: int) -> None:
        self.function = function
        self.whose = whose
        self.number = number
        self.future: Future[Any] = Future()


class FairPool:
    """Runs functions in threads, at most three quarters of them for one caller (`FairShare`).

    So a caller with slow or unstoppable functions leaves threads to others. The caller None is the service itself,
    which is unlimited; without `fair`, every caller is.
    """

    def __init__(self, threads: int, name: str, *, fair: bool = True) -> None:
        self._threads = threads
        self._fair = fair
        self._executor = ThreadPoolExecutor(threads, name)
        self._shares = FairShare(threads)
        self._waiting: dict[Hashable, deque[_Job]] = {}
        self._lock = Lock()
        self._submitted = 0

    def submit(self, function: Callable[[], T], *, whose: Hashable = None) -> Future[T]:
        """Run a function when a thread is free for its caller; the future can be cancelled until then."""
        with self._lock:
            self._submitted += 1
            job = _Job(function, whose if self._fair else None, self._submitted)
            self._waiting.setdefault(job.whose, deque()).append(job)
            self._dispatch()
        return job.future

    @property
    def is_busy(self) -> bool:
        """Whether a function still runs."""
        return self._shares.total > 0

    def shutdown(self, *, wait: bool, cancel_futures: bool) -> None:
        """Accept no more functions; with `cancel_futures`, cancel the waiting ones."""
        if cancel_futures:
            with self._lock:
                for job in [job for jobs in self._waiting.values() for job in jobs]:
                    job.future.cancel()
                self._waiting.clear()
        self._executor.shutdown(wait=wait, cancel_futures=cancel_futures)

    def _dispatch(self) -> None:
        """Start the functions that may run now; called with the lock held."""
        while self._shares.total < self._threads:
            callers = [whose for whose in self._waiting if self._shares.may_take(whose)]
            if not callers:
                return
            whose = min(callers, key=lambda caller: (self._shares.held(caller), self._waiting[caller][0].number))
            jobs = self._waiting[whose]
            job = jobs.popleft()
            if not jobs:
                del self._waiting[whose]
            if job.future.set_running_or_notify_cancel():
                self._shares.take(whose)
                self._executor.submit(self._run, job)

    def _run(self, job: _Job) -> None:
        try:
            result = job.function()
        except BaseException as error:  # noqa: BLE001 - whoever waits for the future is told
            self._over(job)
            job.future.set_exception(error)
        else:
            self._over(job)
            job.future.set_result(result)

    def _over(self, job: _Job) -> None:
        with self._lock:
            self._shares.give_back(job.whose)
            self._dispatch()
