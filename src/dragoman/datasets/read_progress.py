"""Progress of reading files, reported to observers that the loaders do not know."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TypeAlias

Progress: TypeAlias = Callable[[int, int, str], None]
"""Bytes read, bytes in all, and name of a file."""

_BUFFER = 2**18
_watcher: ContextVar[Progress | None] = ContextVar("dragoman_reading", default=None)


@contextmanager
def watched(progress: Progress) -> Iterator[None]:
    """Call an observer with the progress of reading inside the block."""
    token = _watcher.set(progress)
    try:
        yield
    finally:
        _watcher.reset(token)


def telling(file: Path) -> io.BufferedReader:
    """Open a file that reports its progress to the observers after each buffer."""
    return io.BufferedReader(_Telling(file), _BUFFER)


class _Telling(io.FileIO):
    def __init__(self, file: Path) -> None:
        super().__init__(file, "r")
        self._label = file.name
        self._total = file.stat().st_size

    def readinto(self, buffer: memoryview) -> int | None:  # type: ignore[override]  # any buffer, to the type checker
        count = super().readinto(buffer)
        progress = _watcher.get()
        if progress is not None:
            progress(min(self.tell(), self._total), self._total, self._label)
        return count
