"""Limit on the text that a file may yield: a small file must not expand beyond what a server can hold."""

from __future__ import annotations

from dragoman.core.errors import InputError

FREE = 16 * 2**20
"""Characters that any file may yield."""
A_BYTE = 8
"""Characters per byte that a larger file may yield."""
WIDE, MOST_WIDE = 32, 256 * 2**20
"""Characters for each byte, and in all, that a table of many columns with short values may give, such as a survey."""


class Allowance:
    """The characters that a file may still yield; column names, titles and headings count each time they repeat."""

    def __init__(self, content: bytes, name: str) -> None:
        self._name = name
        self._most = self._left = max(FREE, min(WIDE * len(content), MOST_WIDE), A_BYTE * len(content))

    def take(self, *texts: str) -> None:
        """Count texts; raises at the first one over the limit, before the next is built."""
        self._left -= sum(map(len, texts))
        if self._left < 0:
            raise InputError(
                f"'{self._name}' unfolds into more than {self._most:,} characters.",
                remedy="Shorten what is repeated, names of columns, headings and titles, or split it.",
            )
