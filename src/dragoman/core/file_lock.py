"""Exclusive locks on open files, on POSIX systems and on Windows; a lock ends with its process."""

from __future__ import annotations

import sys
from time import sleep
from typing import IO, TYPE_CHECKING, Any

from dragoman.core.errors import StoreLockedError

if TYPE_CHECKING:
    from pathlib import Path

_PAUSE = 0.1
"""Seconds between two tries on Windows, which has no call that waits for ever."""


def try_lock(file: IO[Any]) -> bool:
    """Lock an open file; False if another process holds it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(0)  # the lock covers the byte at the file's position
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def lock_folder(path: Path, message: str) -> IO[str]:
    """Open and lock the lock file of an output folder, or raise with `message`; the lock ends with the process."""
    lock = path.open("a")
    if not try_lock(lock):
        lock.close()
        raise StoreLockedError(
            message, remedy="Wait until it is done, or choose another folder with --out.", path=str(path.parent)
        )
    return lock


def wait_for_lock(file: IO[Any]) -> None:
    """Lock an open file as soon as no other process holds it."""
    if sys.platform == "win32":
        while not try_lock(file):
            sleep(_PAUSE)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)
