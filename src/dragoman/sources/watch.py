"""Notice changes of files and folders by looking at their times and sizes, on every system and network drive alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from time import sleep
from typing import TypeAlias

from dragoman.core.errors import InputError
from dragoman.sources.files import find

PAUSE = 0.4
"""Seconds between two looks."""

_State: TypeAlias = dict[Path, tuple[int, int]]


def changes(paths: Iterable[Path | str], *, follow_links: bool = False, pause: float = PAUSE) -> Iterator[None]:
    """Yield once for each look that finds a file added, changed or removed since the look before; never ends."""
    watched = [Path(path) for path in paths]
    before = _look(watched, follow_links)
    while True:
        sleep(pause)
        now = _look(watched, follow_links)
        if now != before:
            before = now
            yield


def _look(paths: Iterable[Path], follow_links: bool) -> _State:
    state: _State = {}
    for path in paths:
        try:
            files = find([path], follow_links=follow_links).files
        except InputError:  # the path itself is gone, perhaps for a moment
            continue
        for file in files:
            try:
                status = file.path.stat()
            except OSError:
                continue
            state[file.path] = (status.st_mtime_ns, status.st_size)
    return state
