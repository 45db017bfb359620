"""What the shared store code asks of a database: rows of one scope, in transactions.

Statements are written once, in the SQL that SQLite and PostgreSQL have in common, with SQLite's names for bound
values (`:source`); an engine that spells something otherwise translates it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, TypeAlias

from dragoman.core.values import Scope

if TYPE_CHECKING:
    from dragoman.stores.rows import Cell

    Bindings: TypeAlias = Mapping[str, Cell]


class ScopedRows(Protocol):
    """The rows of one scope within a transaction."""

    def rows(self, sql: str, **bindings: Cell) -> list[tuple[Cell, ...]]:
        """Run one statement and fetch all its rows."""
        ...

    def run(self, sql: str, **bindings: Cell) -> int:
        """Run one statement; the number of rows that it changed."""
        ...

    def many(self, sql: str, rows: Iterable[Bindings]) -> None:
        """Run one statement for each row."""
        ...

    def tick(self) -> int:
        """The next value of a clock that never goes back: later writes of a scope have higher ones."""
        ...

    def new_keys(self, count: int) -> Sequence[int]:
        """Numbers for new rows, higher than any before; none is given twice, as an index may remember it."""
        ...


class Engine(Protocol):
    """A database that keeps the tables."""

    @property
    def tables(self) -> Sequence[str]:
        """Every table that holds rows of a scope."""
        ...

    def reading(self, scope: Scope) -> AbstractContextManager[ScopedRows]:
        """Rows of a scope as last committed by anyone."""
        ...

    def writing(self, scope: Scope) -> AbstractContextManager[ScopedRows]:
        """One transaction: when the block ends it is durable, when it raises nothing has happened."""
        ...

    def scopes(self) -> Sequence[Scope]:
        """Every scope that has rows, in order: for copying and checking a whole store."""
        ...

    def identity(self) -> str:
        """A name that the store got when it was made, so that an index knows whose it is."""
        ...

    def erase(self) -> None:
        """Make sure, as far as the engine can, that what was deleted is in no file."""
        ...

    def close(self) -> None:
        """Let go of connections; a later call opens them again."""
        ...
