"""How much text may come out of a file: a small one must not unfold into more than a server can hold."""

from __future__ import annotations

from dragoman.core.errors import InputError

FREE = 16 * 2**20
"""Characters that any file may give."""
A_BYTE = 8
"""Characters that any larger file may give for each of its bytes."""
WIDE, MOST_WIDE = 32, 256 * 2**20
"""Characters for each byte, and in all, that a table of many columns with short values may give, such as a survey."""


class Allowance:
    """What a file may still give; names of columns, titles and headings count each time they are repeated."""

    def __init__(self, content: bytes, name: str) -> None:
        self._name = name
        self._most = self._left = max(FREE, min(WIDE * len(content), MOST_WIDE), A_BYTE * len(content))

    def take(self, *texts: str) -> None:
        """Count texts; the one that is too much is an error, before the others are made."""
        self._left -= sum(map(len, texts))
        if self._left < 0:
            raise InputError(
                f"'{self._name}' unfolds into more than {self._most:,} characters.",
                remedy="Shorten what is repeated, names of columns, headings and titles, or split it.",
            )
