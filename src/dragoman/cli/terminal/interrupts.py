"""Ctrl-C handling. Native libraries swallow it, or turn it into errors of their own, while they load."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_AFTERMATH = 15.0
"""Seconds after Ctrl-C in which an error is taken for one that it caused."""

_pressed: deque[float] = deque(maxlen=1)
"""When Ctrl-C came last, in seconds of `time.monotonic`."""


@contextmanager
def noticed() -> Iterator[None]:
    """Record Ctrl-C while the block runs; if the signal is ignored, as under nohup, it stays ignored."""
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _note)
    try:
        yield
    finally:
        hand_over()


def hand_over() -> None:
    """Restore the interpreter's handler, without which asyncio does not cancel its task on Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is _note:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def caused(error: BaseException) -> bool:
    """Whether Ctrl-C caused an error: in its context, named in a native library's message, or just before."""
    cause: BaseException | None = error
    seen: set[int] = set()
    while cause is not None and id(cause) not in seen:  # an error may be its own cause
        seen.add(id(cause))
        if isinstance(cause, KeyboardInterrupt) or KeyboardInterrupt.__name__ in str(cause):
            return True
        cause = cause.__cause__ or cause.__context__
    return any(time.monotonic() - moment < _AFTERMATH for moment in _pressed)


def lose_none(event: sys.UnraisableHookArgs) -> None:
    """Unraisable hook: resend a Ctrl-C that the interpreter swallowed in a callback."""
    if isinstance(event.exc_value, KeyboardInterrupt):
        import _thread

        threading.Timer(0.02, _thread.interrupt_main).start()
    else:
        sys.__unraisablehook__(event)


def end_quietly() -> None:
    """Let nothing interrupt the leaving: a second interrupt would end the process by its signal.

    A native library that was stopped in the middle of loading may never return; then the alarm ends the process. An
    interrupt that passed through `exec` (dataclasses are made by it) left the mark by which the interpreter ends itself
    with SIGINT whatever the exit code; the next `exec` wipes it off. What was broken off between two frames is cleaned
    up after its owner is closed: an error of that is no news to anybody.
    """
    exec("")
    sys.unraisablehook = _say_nothing
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "alarm"):
        signal.alarm(5)


def _note(number: int, frame: FrameType | None) -> None:
    _pressed.append(time.monotonic())
    signal.default_int_handler(number, frame)


def _say_nothing(event: sys.UnraisableHookArgs) -> None:
    """Ignore errors while the process exits."""
