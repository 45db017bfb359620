"""Result of a purge of a store's files."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Purged:
    """The number of rewritten tables, and the places that may still hold bytes of deleted rows."""

    tables: int
    left: tuple[str, ...] = ()
