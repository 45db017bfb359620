"""Create files and folders that only their owner can use, and tighten existing ones."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_private_folder(path: Path) -> None:
    """Create a folder and its missing parents with mode 0700; folders that exist keep their mode."""
    missing = [folder for folder in (path, *path.parents) if not folder.is_dir()]
    for folder in reversed(missing):
        with suppress(FileExistsError):  # another process may create it at the same time
            folder.mkdir(mode=0o700)
    path.mkdir(exist_ok=True)  # a file in the place of the folder is an error


def make_private_file(path: Path) -> None:
    """Create an empty file with mode 0600, or tighten the file that exists.

    An existing file is never opened: closing an SQLite file would release the locks that this process holds on it.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        tighten(path)


def tighten(path: Path) -> None:
    """Remove the permissions of group and others from a file or folder, if this process runs as its owner."""
    with suppress(OSError):  # a missing file, or a disk that is read-only
        status = path.stat()
        if os.name == "posix" and status.st_uid == os.geteuid() and status.st_mode & _OTHERS:
            path.chmod(stat.S_IMODE(status.st_mode) & ~_OTHERS)


def tighten_tree(path: Path) -> None:
    """Tighten a file, or a folder and everything below it; links are not followed."""
    tighten(path)
    if path.is_dir():
        for folder, folders, files in os.walk(path):
            for name in (*folders, *files):
                if not (entry := Path(folder, name)).is_symlink():
                    tighten(entry)
