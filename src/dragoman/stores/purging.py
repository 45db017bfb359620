"""Take what was deleted out of the files of a store, and say what could not be reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.stores.tables import TableStore


@dataclass(frozen=True, slots=True)
class Purged:
    """How many tables were rewritten, and where bytes of deleted rows may still be."""

    tables: int
    left: tuple[str, ...] = ()


def purge(store: TableStore) -> Purged:
    """A server's files are rewritten; SQLite's hold nothing that was deleted, so that only its log is folded in."""
    from dragoman.stores.postgres import PostgresStore

    if isinstance(store, PostgresStore):
        return store.purge()
    store.engine.erase()
    return Purged(0)
