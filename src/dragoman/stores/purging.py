"""What a purge of a store's files reached, and what it could not."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Purged:
    """How many tables were rewritten, and where bytes of deleted rows may still be."""

    tables: int
    left: tuple[str, ...] = ()
