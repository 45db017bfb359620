"""Write files so that they survive a crash or a power cut."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def sync_file(path: Path) -> None:
    """Flush a file to the disk."""
    opened = os.open(path, os.O_RDWR)  # Windows flushes only what is open for writing
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def sync_folder(path: Path) -> None:
    """Flush the names of a folder to the disk, where the system and the file system can: Windows opens no folders."""
    try:
        opened = os.open(path, os.O_RDONLY)
    except PermissionError:
        return
    try:
        with suppress(OSError):
            os.fsync(opened)
    finally:
        os.close(opened)
