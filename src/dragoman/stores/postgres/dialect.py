"""Translate the shared SQL statements to PostgreSQL, and escape text that PostgreSQL cannot store."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_LIST = re.compile(r"\bIN \(SELECT value FROM json_each\(:(\w+)\)\)")
_WORD = re.compile(r"(?<!:):(\w+)|\buser\b|\bNOT INDEXED\b")
_INSERT = re.compile(r"(INSERT INTO \w+ \([^)]*\)\s+)VALUES \(([^)]*)\)(.*)", re.DOTALL)
_TYPES = dict.fromkeys(("seq", "position", "changed", "length"), "bigint") | {"digest": "bytea", "vector": "vector"}
_ESCAPE, _NUL = "\x10", "\x00"


class Statement(NamedTuple):
    """A statement for the driver, and the names of its list bindings."""

    sql: str
    lists: frozenset[str]


@lru_cache(maxsize=256)
def translate(sql: str) -> Statement:
    """A shared statement for psycopg: `user` is a reserved word, lists are arrays, bindings are `%(name)s`."""
    listed = _LIST.sub(r"= ANY(:\1)", sql)
    return Statement(_WORD.sub(_word, listed), frozenset(_LIST.findall(sql)))


class Bulk(NamedTuple):
    """An insert of many rows at once, and which of its bindings are arrays, one value a row."""

    sql: str
    columns: tuple[str, ...]


@lru_cache(maxsize=16)
def bulk(sql: str) -> Bulk | None:
    """An insert of one row as an insert of many; None if the rows have no key of their own.

    Without one the order of the rows, or which of two comes last, would matter.
    """
    insert = _INSERT.fullmatch(sql.strip())
    if insert is None or ":seq" not in insert[2]:
        return None
    values = [value.strip() for value in insert[2].split(",")]
    columns = tuple(value[1:] for value in values if value.startswith(":") and value not in (":tenant", ":user"))
    assignments = ", ".join(f"given.{value[1:]}" if value[1:] in columns else value for value in values)
    arrays = ", ".join(f"%({name})b::{_TYPES.get(name, 'text')}[]" for name in columns)
    source = f"SELECT {assignments} FROM unnest({arrays}) AS given ({', '.join(columns)})"
    return Bulk(_WORD.sub(_word, f"{insert[1]}{source}{insert[3]}"), columns)


def _word(match: re.Match[str]) -> str:
    if match[1]:
        return f"%({match[1]})s"
    return '"user"' if match[0] == "user" else ""


def escape(text: str) -> str:
    """Text without the NUL character, which PostgreSQL cannot store; `unescape` reverts it."""
    if _NUL not in text and _ESCAPE not in text:
        return text
    return text.replace(_ESCAPE, f"{_ESCAPE}1").replace(_NUL, f"{_ESCAPE}0")


def unescape(text: str) -> str:
    """Text as it was before `escape`."""
    if _ESCAPE not in text:
        return text
    return text.replace(f"{_ESCAPE}0", _NUL).replace(f"{_ESCAPE}1", _ESCAPE)
