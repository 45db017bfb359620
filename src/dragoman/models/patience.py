"""Give up a model's call after some seconds, where there is something to say without it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Generic, TypeVar

from dragoman.core.cancelling import WorkCancelled, cancellable, check_cancelled
from dragoman.core.errors import LimitError

T = TypeVar("T")
_TICK = 0.05


def within(seconds: float, call: Callable[[], T]) -> T:
    """The result of a call, or a `LimitError` where it takes longer; 0 seconds is no limit.

    The call runs in a thread of its own, with the context of this one. One that is given up is cancelled at its next
    step (`core.cancelling`), as it is where this thread's own work is cancelled.
    """
    if seconds <= 0:
        return call()
    attempt = _Attempt(call)
    thread = threading.Thread(target=copy_context().run, args=(attempt.run,), name="dragoman-patience", daemon=True)
    thread.start()
    waited = 0.0
    try:
        while waited < seconds:
            if attempt.done.wait(min(_TICK, seconds - waited)):
                return attempt.result()
            waited += _TICK
            check_cancelled()
    finally:
        attempt.given_up.set()
    raise LimitError(
        f"The model took longer than {seconds:g} seconds.",
        seconds=0.0,
        remedy="Raise reader.patience, or choose a quicker model.",
    )


class _Attempt(Generic[T]):
    """A call with its outcome."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._results: list[T] = []
        self._error: BaseException | None = None
        self.done = threading.Event()
        self.given_up = threading.Event()

    def run(self) -> None:
        try:
            with cancellable(self.given_up.is_set):
                self._results.append(self._call())
        except WorkCancelled:
            pass  # nobody waits for it
        except BaseException as error:  # noqa: BLE001 - raised in the thread that waits
            self._error = error
        finally:
            self.done.set()

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        if not self._results:
            raise WorkCancelled
        return self._results[0]
