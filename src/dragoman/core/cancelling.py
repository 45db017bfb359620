"""Cancel work in another thread: long steps check from time to time whether their result is still needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class WorkCancelled(BaseException):
    """Raised in a thread whose work was cancelled. Not an `Exception`, so that nothing catches it by accident."""


_is_cancelled: ContextVar[Callable[[], bool] | None] = ContextVar("is_cancelled", default=None)


@contextmanager
def cancellable(is_cancelled: Callable[[], bool]) -> Iterator[None]:
    """Make `check_cancelled` raise within the block once `is_cancelled`, or that of an outer block, returns true."""
    outer = _is_cancelled.get()
    either = is_cancelled if outer is None else lambda: is_cancelled() or outer()
    token = _is_cancelled.set(either)
    try:
        yield
    finally:
        _is_cancelled.reset(token)


def check_cancelled() -> None:
    """Raise `WorkCancelled` if this work was cancelled; stores call it at every read and write."""
    is_cancelled = _is_cancelled.get()
    if is_cancelled is not None and is_cancelled():
        raise WorkCancelled
