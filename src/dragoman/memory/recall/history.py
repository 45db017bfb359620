"""A user's facts at another time: those true, believed or stated then."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dragoman.core.protocols import Store
from dragoman.core.values import Passage, Scope, SourceName
from dragoman.memory.upkeep import PENDING

EVER = "9999"
"""Sorts after every moment."""


def all_rows(store: Store, scope: Scope, source: SourceName) -> list[Passage]:
    """Return all rows of a user's facts, current ones last, each group in the order in which it was stated."""
    return [row for old in (True, False) for row in store.passages(scope, source, superseded=old)]


def believed(rows: Sequence[Passage], at: str) -> list[Passage]:
    """Return what was believed at a time: stated by then, and not yet replaced. Rows without times always count."""
    return _in_order(
        row for row in rows if row.meta.get("said_at", "") <= at < row.meta.get("replaced_at", EVER) and _begun(row, at)
    )


def valid(rows: Sequence[Passage], start: str, end: str) -> list[Passage]:
    """Return what was true at some moment of a period, as known today."""
    return _in_order(row for row in rows if _start(row) < end and start < _end(row))


def told(rows: Sequence[Passage], start: str, end: str) -> list[Passage]:
    """Return what was stated within a period."""
    return _in_order(row for row in rows if start <= row.meta.get("said_at", "") < end and not row.meta.get("aged"))


def is_current(row: Passage, live: Sequence[Passage]) -> bool:
    return any(row.id == other.id for other in live)


def _begun(row: Passage, at: str) -> bool:
    return not row.meta.get(PENDING) or row.meta.get("valid_from", "") <= at


def _start(row: Passage) -> str:
    return row.meta.get("valid_from", "")


def _end(row: Passage) -> str:
    return row.meta.get("valid_until") or row.meta.get("replaced_at") or EVER


def _in_order(rows: Iterable[Passage]) -> list[Passage]:
    return sorted(rows, key=lambda row: (row.meta.get("said_at", ""), row.position))
