"""The command `dragoman`, and `python -m dragoman`: Ctrl-C during the imports prints no traceback."""

from __future__ import annotations

import signal

_BEFORE = signal.getsignal(signal.SIGINT)
if _BEFORE is signal.default_int_handler:  # not where Ctrl-C is ignored, as behind nohup
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing is begun yet, so that nothing has to be ended

from dragoman.cli.main import run  # noqa: E402 - from here on there is somebody to meet it


def start() -> None:
    """Run the command that the arguments of the process give."""
    if _BEFORE is signal.default_int_handler:
        signal.signal(signal.SIGINT, _BEFORE)
    run()


if __name__ == "__main__":
    start()
