"""Read files line by line with bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from dragoman.core.errors import InputError
from dragoman.datasets.reading import open_bytes

LONGEST = 32 * 2**20
"""Longest line in bytes; a longer one is reported instead of read."""


def lines(path: Path) -> Iterator[tuple[int, bytes | None]]:
    """Yield the lines that are not blank with their numbers from 1; None replaces a line that is too long."""
    with open_bytes(path) as file:
        number = 0
        while line := _next(file, path):
            number += 1
            if len(line) > LONGEST:
                while line and not line.endswith(b"\n"):
                    line = _next(file, path)
                yield number, None
            elif not line.isspace():
                yield number, line


def _next(file: BinaryIO, path: Path) -> bytes:
    try:
        return file.readline(LONGEST + 1)
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}.", file=str(path)) from error
