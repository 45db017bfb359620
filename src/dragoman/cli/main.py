"""The entry point: the one place where errors become messages and exit codes.

Exit codes: 0 done, 1 failed, 2 wrong use, 130 stopped by Ctrl-C. Nothing is imported before `run` that takes time, so
that Ctrl-C is met with a word at any moment.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from dragoman.core.errors import DragomanError

STOPPED = 130


def run(arguments: Sequence[str] | None = None) -> None:
    """The entry point of the `dragoman` command; leaves the process with its exit code."""
    given = _root_options_first(sys.argv[1:] if arguments is None else arguments)
    sys.unraisablehook = _lose_no_interrupt
    try:
        _tolerate_any_text()
        from dragoman.cli.app import app

        app(given, prog_name="dragoman")
    except SystemExit as leaving:
        if leaving.code == STOPPED:
            _stop()
        raise
    except KeyboardInterrupt:
        _stop()
        sys.exit(STOPPED)
    except BrokenPipeError:
        _drop_output()
        sys.exit(1)
    except Exception as error:  # noqa: BLE001 - the last line of defence: nobody is shown a traceback unasked
        if _interrupted(error):
            _stop()
            sys.exit(STOPPED)
        _raise_if_debugging(given)
        if isinstance(error, DragomanError):
            from dragoman.cli.show import error_text

            _say(error_text(error))
            sys.exit(1)
        words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        _say(f"Error: something unexpected happened: {words}\n       Run again with --debug for the traceback.")
        sys.exit(1)


def _root_options_first(arguments: Sequence[str]) -> list[str]:
    """`--debug` and `--verbose` may stand anywhere before `--`: one adds them at the end of a failed command."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    words, rest = arguments[:end], arguments[end:]
    moved = [word for word in dict.fromkeys(words) if word in ("--debug", "--verbose")]
    return [*moved, *(word for word in words if word not in moved), *rest]


def _raise_if_debugging(given: Sequence[str]) -> None:
    """Re-raise what is being handled."""
    if given[:1] == ["--debug"] or given[:2] == ["--verbose", "--debug"]:
        raise  # noqa: PLE0704 - only called from an except block


def _interrupted(error: BaseException) -> bool:
    """Whether an error came of Ctrl-C: raised while one was handled, or by a native library that spells it out."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, KeyboardInterrupt) or KeyboardInterrupt.__name__ in str(found):
            return True
        found = found.__cause__ or found.__context__
    return False


def _lose_no_interrupt(event: sys.UnraisableHookArgs) -> None:
    """Ctrl-C that fell into a callback of the interpreter is swallowed there: send it once more, a moment later."""
    if isinstance(event.exc_value, KeyboardInterrupt):
        import _thread
        import threading

        threading.Timer(0.02, _thread.interrupt_main).start()
    else:
        sys.__unraisablehook__(event)


def _say_nothing(event: sys.UnraisableHookArgs) -> None:
    """Of what fails while the process ends."""


def _stop() -> None:
    """Say so, and let nothing interrupt the leaving: a second interrupt would end the process by its signal.

    A native library that was stopped in the middle of loading may never return; then the alarm ends the process. An
    interrupt that passed through `exec` (dataclasses are made by it) left the mark by which the interpreter ends itself
    with SIGINT whatever the exit code; the next `exec` wipes it off. What was broken off between two frames is cleaned
    up after its owner is closed: an error of that is no news to anybody.
    """
    import signal

    exec("")
    sys.unraisablehook = _say_nothing
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "alarm"):
        signal.alarm(5)
    _say("Stopped.")


def _say(text: str) -> None:
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except OSError:
        _drop_output()


def _tolerate_any_text() -> None:
    """A byte or character that a stream cannot carry must not end a conversation."""
    for stream, errors in ((sys.stdin, "surrogateescape"), (sys.stdout, "replace"), (sys.stderr, "backslashreplace")):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=errors)


def _drop_output() -> None:
    """Point standard output nowhere, so that the interpreter's last flush finds no broken pipe."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
