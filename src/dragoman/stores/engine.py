"""Protocol between the shared store code and a database engine: rows of one scope, in transactions.

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
        """Run one statement and return the number of rows that it changed."""
        ...

    def many(self, sql: str, rows: Iterable[Bindings]) -> None:
        """Run one statement for each row."""
        ...

    def tick(self) -> int:
        """The next value of a clock that never goes back: later writes of a scope have higher ones."""
        ...

    def erasures(self) -> int:
        """The number of times that data of the scope was erased."""
        ...

    def count_erasure(self) -> None:
        """Count one more erasure; it counts if the transaction commits."""
        ...

    def new_keys(self, count: int) -> Sequence[int]:
        """Numbers for new rows above all earlier ones; never reused, since an index may still hold an old one."""
        ...


class Engine(Protocol):
    """A database with the store's tables."""

    @property
    def tables(self) -> Sequence[str]:
        """Every table that holds rows of a scope."""
        ...

    def reading(self, scope: Scope) -> AbstractContextManager[ScopedRows]:
        """Rows of a scope as last committed by anyone."""
        ...

    def writing(self, scope: Scope) -> AbstractContextManager[ScopedRows]:
        """One transaction: when the block ends it is durable, when it raises nothing has happened.

        Raises if this thread holds the scope (`stores.erasure_hold`) and it was erased since.
        """
        ...

    def scopes(self) -> Sequence[Scope]:
        """Every scope that has rows, in order: for copying and checking a whole store."""
        ...

    def identity(self) -> str:
        """The id that the store got when it was created; an index records which store it belongs to."""
        ...

    def erase(self) -> None:
        """Remove deleted bytes from the files, as far as the engine can."""
        ...

    def close(self) -> None:
        """Close the connections; a later call opens them again."""
        ...
