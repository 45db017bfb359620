"""Text for the terminal that holds words from elsewhere: names of files, errors about them, documents."""

from __future__ import annotations

import sys
from functools import cache

_KEPT = "\n\t"


def printable(text: str) -> str:
    """Strip control characters, with which a document, or the name of a file, could control the terminal."""
    if text.isprintable():
        return text
    return "".join(char for char in text if char in _KEPT or not (ord(char) < 32 or 127 <= ord(char) < 160))


def tell(text: str) -> None:
    """Write a message to standard error."""
    sys.stderr.write(f"{printable(text)}\n")
    sys.stderr.flush()


@cache
def tell_once(text: str) -> None:
    """Write a message to standard error, the first time that it is given."""
    tell(text)
