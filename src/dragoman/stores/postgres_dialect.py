"""The shared statements in PostgreSQL's words, and text that PostgreSQL cannot hold in words that it can."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_LIST = re.compile(r"\bIN \(SELECT value FROM json_each\(:(\w+)\)\)")
_WORD = re.compile(r"(?<!:):(\w+)|\buser\b|\bNOT INDEXED\b")
_ESCAPE, _NUL = "\x10", "\x00"


class Statement(NamedTuple):
    """A statement for the driver, and which of its bindings are lists."""

    sql: str
    lists: frozenset[str]


@lru_cache(maxsize=256)
def translate(sql: str) -> Statement:
    """A shared statement for psycopg: `user` is a reserved word, lists are arrays, bindings are `%(name)s`."""
    listed = _LIST.sub(r"= ANY(:\1)", sql)
    return Statement(_WORD.sub(_word, listed), frozenset(_LIST.findall(sql)))


def _word(match: re.Match[str]) -> str:
    if match[1]:
        return f"%({match[1]})s"
    return '"user"' if match[0] == "user" else ""


def escape(text: str) -> str:
    """Text without the NUL character, which PostgreSQL's text cannot hold; `unescape` is the way back."""
    if _NUL not in text and _ESCAPE not in text:
        return text
    return text.replace(_ESCAPE, f"{_ESCAPE}1").replace(_NUL, f"{_ESCAPE}0")


def unescape(text: str) -> str:
    """Text as it was before `escape`."""
    if _ESCAPE not in text:
        return text
    return text.replace(f"{_ESCAPE}0", _NUL).replace(f"{_ESCAPE}1", _ESCAPE)
