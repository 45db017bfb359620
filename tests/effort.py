"""How much work a call does, told without a limit in seconds: tests hold on slow and busy machines alike."""

from __future__ import annotations

import gc
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

LONGER = 8
"""How much longer the long input of `growth` is: linear work grows by 8, quadratic work by 64."""
MOST_GROWTH = 32.0
_TRIES = 5
_AT_LEAST = 0.01
"""Seconds for which the short input is run again and again, as clocks may tick slowly."""


class LateError(Exception):
    """A call ran past its limit."""


def growth(run: Callable[[int], object], size: int, *, clock: Callable[[], float] = time.thread_time) -> float:
    """How many times as long `run(size)` takes as `run(size // LONGER)`, the quickest of some tries of each.

    `run` must do its work anew each time: what it remembers of earlier calls is its own to forget.
    """
    short = long = float("inf")
    for _ in range(_TRIES):
        short = min(short, seconds_of(lambda: run(size // LONGER), at_least=_AT_LEAST, clock=clock))
        long = min(long, seconds_of(lambda: run(size), clock=clock))
        if long < MOST_GROWTH * short:
            break
    return long / max(short, 1e-9)


def assert_linear(run: Callable[[int], object], size: int, *, clock: Callable[[], float] = time.thread_time) -> None:
    """Work that grows with the square of its size fails, on whatever machine."""
    found = growth(run, size, clock=clock)
    assert found < MOST_GROWTH, f"{found:.0f} times the time for {LONGER} times the size"


def lines_of(run: Callable[[], object]) -> int:
    """How many lines of Python a call executes in this thread: the same number on every machine."""
    count = 0

    def trace(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


def seconds_of(
    function: Callable[[], object],
    limit: float | None = None,
    *,
    at_least: float = 0.0,
    clock: Callable[[], float] = time.thread_time,
) -> float:
    """The processor time of a call, which is stopped at a limit. A limit needs a signal, and so the main thread.

    A clock of processor time may tick as slowly as 100 times a second: what is quicker is called again and again until
    `at_least` seconds have gone by, and the mean is given. Garbage is collected before and after, not meanwhile.
    """
    try:
        with _without_collection(), stopped_after(limit):
            calls, start, began = 0, clock(), time.perf_counter()
            while not calls or time.perf_counter() - began < at_least:
                function()
                calls += 1
            return (clock() - start) / calls
    except LateError:
        return limit or 0.0


@contextmanager
def stopped_after(limit: float | None) -> Iterator[None]:
    """Raise `LateError` once the process has used so many seconds of the processor."""
    if limit is None:
        yield
        return

    def stop(number: int, frame: object) -> None:
        raise LateError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@contextmanager
def _without_collection() -> Iterator[None]:
    collected = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collected:
            gc.enable()
