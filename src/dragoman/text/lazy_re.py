"""Stand-in for `re` in modules with many patterns: `compile` returns at once, and a pattern compiles at first use.

An ordinary turn needs under half of the patterns of the rules, and compiling them all is a tenth of a command's start.
Use it as `from dragoman.text import lazy_re as re`, for patterns of modules. `PATTERN.sub(...)` works, and
`re.sub(PATTERN, ...)` does not.
"""

from __future__ import annotations

import re
from re import (
    ASCII,
    DOTALL,
    IGNORECASE,
    MULTILINE,
    UNICODE,
    VERBOSE,
    I,
    Match,
    Pattern,
    S,
    escape,
    findall,
    finditer,
    fullmatch,
    match,
    search,
    split,
    sub,
)
from typing import Any, cast

__all__ = [
    "ASCII",
    "DOTALL",
    "IGNORECASE",
    "MULTILINE",
    "UNICODE",
    "VERBOSE",
    "I",
    "LazyPattern",
    "Match",
    "Pattern",
    "S",
    "compile",
    "escape",
    "findall",
    "finditer",
    "fullmatch",
    "match",
    "search",
    "split",
    "sub",
]
_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split")


class LazyPattern:
    """A pattern that compiles when one of its methods is first needed; from then on they are the compiled pattern's."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self._flags)

    def __getattr__(self, name: str) -> Any:  # called only for what is not yet an attribute
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = self.compiled()
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def compile(pattern: str, flags: int = 0) -> re.Pattern[str]:  # noqa: A001 - it stands in for re.compile
    """The pattern, typed as a compiled one."""
    return cast(re.Pattern[str], LazyPattern(pattern, flags))
