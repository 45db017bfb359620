"""Process-wide settings that several threads change at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager


class FirstInLastOut:
    """Counted context manager: the first thread to enter changes a setting, the last to leave restores it."""

    def __init__(self, changed: Callable[[], AbstractContextManager[object]]) -> None:
        self._changed = changed
        self._lock = threading.Lock()
        self._inside = 0
        self._open: AbstractContextManager[object] | None = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                opened = self._changed()
                opened.__enter__()
                self._open = opened
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and self._open is not None:
                opened, self._open = self._open, None
                opened.__exit__(None, None, None)
