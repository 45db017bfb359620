"""Loading models in the background while other work goes on."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Thread

from dragoman.core.errors import DragomanError

_log = logging.getLogger("dragoman.agent")
_PATIENCE = 10.0


class WarmUp:
    """Loads parts in the background, each once; a caller that needs a part earlier waits for it as usual."""

    def __init__(self) -> None:
        self._begun: dict[int, Thread] = {}

    def begin(self, part: object) -> None:
        """Load a part in the background, where it has anything to load."""
        load = getattr(part, "warm_up", None)
        if load is not None and id(part) not in self._begun:
            thread = Thread(target=_quietly, args=(load,), name="dragoman-warm-up", daemon=True)
            self._begun[id(part)] = thread
            thread.start()

    def wait(self) -> None:
        """Wait for running loads: the interpreter must not exit while a library is loading."""
        for thread in self._begun.values():
            thread.join(_PATIENCE)


def _quietly(load: Callable[[], object]) -> None:
    """Load the part; ignore a failure, which the first use raises again."""
    try:
        load()
    except (DragomanError, OSError) as error:
        _log.info("warm-up failed: %s", type(error).__name__)
