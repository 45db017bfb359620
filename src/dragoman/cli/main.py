"""Entry point of the command line: turns errors into messages and exit codes.

Exit codes: 0 success, 1 failure, 2 wrong usage, 130 stopped by Ctrl-C. Slow imports happen inside `run`, so that Ctrl-C
is handled at any moment.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from dragoman.cli.terminal import interrupts
from dragoman.cli.terminal.messages import tell
from dragoman.core.errors import DragomanError

STOPPED = 130


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the `dragoman` command and exit the process with its exit code."""
    ordered = _root_options_first(sys.argv[1:] if arguments is None else arguments)
    sys.unraisablehook = interrupts.lose_none
    try:
        with interrupts.noticed():
            _tolerate_any_text()
            from dragoman.cli.app import app

            app(ordered, prog_name="dragoman")
    except SystemExit as leaving:
        if leaving.code == STOPPED:
            _stop()
        raise
    except KeyboardInterrupt:
        _stop()
    except BrokenPipeError:
        _drop_output()
        sys.exit(1)
    except Exception as error:  # noqa: BLE001 - the last line of defence: nobody is shown a traceback unasked
        if interrupts.caused(error):
            _stop()
        _raise_if_debugging(ordered)
        if isinstance(error, DragomanError):
            from dragoman.cli.terminal.rendering import error_text

            _say(error_text(error))
            sys.exit(1)
        words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        _say(f"Error: something unexpected happened: {words}\n       Run again with --debug for the traceback.")
        sys.exit(1)


def _root_options_first(arguments: Sequence[str]) -> list[str]:
    """Move `--debug` and `--verbose` to the front: people append them to a command that failed."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    words, rest = arguments[:end], arguments[end:]
    moved = [word for word in dict.fromkeys(words) if word in ("--debug", "--verbose")]
    return [*moved, *(word for word in words if word not in moved), *rest]


def _raise_if_debugging(arguments: Sequence[str]) -> None:
    """Re-raise the current exception if `--debug` is given."""
    if arguments[:1] == ["--debug"] or arguments[:2] == ["--verbose", "--debug"]:
        raise  # noqa: PLE0704 - only called from an except block


def _stop() -> NoReturn:
    """Print "Stopped." and exit."""
    interrupts.end_quietly()
    _say("Stopped.")
    sys.exit(STOPPED)


def _say(text: str) -> None:
    try:
        tell(text)
    except OSError:
        _drop_output()


def _tolerate_any_text() -> None:
    """Replace characters that a stream cannot encode or decode, instead of raising an error."""
    for stream, errors in ((sys.stdin, "surrogateescape"), (sys.stdout, "replace"), (sys.stderr, "backslashreplace")):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=errors)


def _drop_output() -> None:
    """Redirect standard output to the null device, so that the interpreter's last flush meets no broken pipe."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
