"""Ctrl-C as a command meets it. Native libraries swallow it, or make an error of their own of it, while they load."""

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
    """Remember when Ctrl-C came, for as long as the block runs; where it is ignored, as behind nohup, it stays so."""
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
    """Leave Ctrl-C to asyncio, which ends its task by it only where the interpreter's own handler stands."""
    if signal.getsignal(signal.SIGINT) is _note:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def caused(error: BaseException) -> bool:
    """Whether an error came of Ctrl-C: raised while one was handled, spelt out by a native library, or right after."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, KeyboardInterrupt) or KeyboardInterrupt.__name__ in str(found):
            return True
        found = found.__cause__ or found.__context__
    return any(time.monotonic() - moment < _AFTERMATH for moment in _pressed)


def lose_none(event: sys.UnraisableHookArgs) -> None:
    """Ctrl-C that fell into a callback of the interpreter is swallowed there: send it once more, a moment later."""
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
    """Of what fails while the process ends."""
