"""The store over tables: everything that does not depend on which database keeps them."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.core.errors import StoreError
from dragoman.core.values import SHARED_USER, Hit, Passage, Query, Scope, SourceName
from dragoman.stores.dialogues import DialogueTable
from dragoman.stores.purging import Purged
from dragoman.stores.rows import (
    COLUMNS,
    Analyse,
    check_passages,
    from_cells,
)
from dragoman.stores.transfer.portable import START, Position, Record

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray
    from dragoman.stores.engine import Engine, ScopedRows
    from dragoman.stores.index.index_manager import IndexState, Progress, Purge
    from dragoman.stores.search import StoreSearch

INDEX_ABOVE = 2000
"""How many rows a shared source has at most without an index, where nothing else is said."""
_PAGE = 500

_GET = f"""SELECT {COLUMNS} FROM passages
    WHERE tenant = :tenant AND user = :user AND id IN (SELECT value FROM json_each(:ids))"""
_LIST = f"""SELECT seq, {COLUMNS} FROM passages
    WHERE tenant = :tenant AND user = :user AND source = :source AND seq > :last
    AND (superseded_by IS NOT NULL) = :superseded ORDER BY seq LIMIT {_PAGE}"""
_LIST_ORIGIN = f"""SELECT seq, {COLUMNS} FROM passages
    WHERE tenant = :tenant AND user = :user AND source = :source AND origin = :origin AND seq > :last
    AND (superseded_by IS NOT NULL) = :superseded ORDER BY seq LIMIT {_PAGE}"""


@dataclass(frozen=True, slots=True)
class Verification:
    """What a check of the store found; `problems` is empty where all is well."""

    path: Path | str
    bytes: int
    problems: tuple[str, ...]

    @property
    def is_sound(self) -> bool:
        return not self.problems


class TableStore(DialogueTable):
    """Rows, vectors, dialogues, traces and kept values in the tables of an engine, with an index beside them.

    Every write is durable when its call returns. A source of a tenant's shared scope with more than a threshold of
    rows is searched through an index.
    """

    def __init__(self, engine: Engine, *, analyse: Analyse, busy_seconds: float) -> None:
        super().__init__(engine)
        self._analyse = analyse
        self._busy_seconds = busy_seconds

    @property
    @abstractmethod
    def _search(self) -> StoreSearch:
        """Made on first use."""

    def put(self, scope: Scope, passages: Sequence[Passage], vectors: FloatArray | None = None) -> int:
        """Write passages by id, all or none; the number that were new or changed.

        A superseded row that is put again is live again. Without a vector, an unchanged row keeps its own.
        """
        from dragoman.stores.vectors import pack

        check_passages(passages)
        return self._put(scope, passages, pack(vectors, len(passages)))

    def _put(self, scope: Scope, passages: Sequence[Passage], vectors: Sequence[bytes | None]) -> int:
        from dragoman.stores.passage_writes import PassageBatch

        batch = PassageBatch(passages, vectors, self._analyse)
        with self._engine.reading(scope) as rows:
            batch.plan(rows)
        while True:
            rewrites = bool(batch.rewritten)
            with self._purging(scope) if rewrites else nullcontext() as purge, self._engine.writing(scope) as rows:
                batch.plan(rows)
                if batch.rewritten and purge is None:
                    continue  # another process wrote one of these rows just now: begin again with the index held
                for source, keys in batch.rewritten.items():
                    if purge is not None:
                        self._telling(rows, purge)(source, keys)
                written = batch.write(rows)
            if rewrites:
                self._engine.erase()
            return written

    def get(self, scope: Scope, ids: Sequence[str]) -> Sequence[Passage | None]:
        with self._engine.reading(scope) as rows:
            found = {cells[0]: from_cells(cells) for cells in rows.rows(_GET, ids=json.dumps(list(ids)))}
        return [found.get(key) for key in ids]

    def passages(
        self, scope: Scope, source: SourceName, *, origin: str | None = None, superseded: bool = False
    ) -> Iterator[Passage]:
        """Rows of a source in order of insertion; with `superseded`, those that newer ones replaced instead."""
        sql, last = _LIST if origin is None else _LIST_ORIGIN, 0
        while True:
            with self._engine.reading(scope) as rows:
                page = rows.rows(sql, source=source, origin=origin, superseded=superseded, last=last)
            for cells in page:
                last = int(cells[0] or 0)
                yield from_cells(cells[1:])
            if len(page) < _PAGE:
                return

    def count(self, scope: Scope, source: SourceName) -> int:
        """The rows that `passages` lists."""
        return self._search.sidecars.place(scope, source).live

    def remove(self, scope: Scope, ids: Sequence[str]) -> int:
        """Delete rows so that no byte of them is left in any file; the number deleted."""
        from dragoman.stores.passage_writes import remove

        with self._purging(scope) as purge, self._engine.writing(scope) as rows:
            removed = remove(rows, ids, self._telling(rows, purge))
        self._search.pools.drop(scope)
        self._engine.erase()
        return removed

    def purge(self) -> Purged:
        """Take what was deleted out of the files. SQLite's hold nothing of it, so that only its log is folded in."""
        self._engine.erase()
        return Purged(0)

    def supersede(self, scope: Scope, id: str, by: str) -> None:
        """Mark a row as replaced by another: it is kept, and no search finds it."""
        from dragoman.stores.passage_writes import supersede

        with self._purging(scope) as purge, self._engine.writing(scope) as rows:
            supersede(rows, id, by, self._telling(rows, purge))

    def lexical(self, queries: Sequence[Query]) -> Sequence[Sequence[Hit]]:
        """BM25: exact, with the exact scores also where an index proposes the rows."""
        return [self._search.lexical(query) for query in queries]

    def nearest(self, queries: Sequence[Query]) -> Sequence[Sequence[Hit]]:
        """Cosine: exact over private rows and small sources, about exact through the index."""
        return [self._search.nearest(query) for query in queries]

    def frequencies(self, scope: Scope, source: SourceName, tokens: Sequence[str]) -> tuple[int, Mapping[str, int]]:
        """The number of rows of a source, and in how many of them each token occurs."""
        return self._search.frequencies(scope, source, tokens)

    def forget(self, scope: Scope) -> int:
        """Erase everything of a scope from every file; the number of passages, turns and kept values erased."""
        counted = ("passages", "turns", "kept")
        with self._purging(scope), self._engine.writing(scope) as rows:
            if scope.user == SHARED_USER:
                for source in self._search.sidecars.sources(rows):
                    self._search.sidecars.drop(scope, source)
            erased = {
                table: rows.run(f"DELETE FROM {table} WHERE tenant = :tenant AND user = :user")
                for table in self._engine.tables
            }
        self._search.pools.drop(scope)
        self._engine.erase()
        return sum(erased[table] for table in counted)

    @property
    def engine(self) -> Engine:
        """The database, for checks of the whole store."""
        return self._engine

    @abstractmethod
    def open(self) -> None:
        """Open it now, so that what cannot be used is known at once."""

    @abstractmethod
    def exists(self) -> bool:
        """Whether there is a store already; nothing is made."""

    def require_whole(self) -> None:
        """Refuse a store that another one is still being copied into: what is written to it now could be lost."""
        from dragoman.stores.transfer.copying import unfinished

        if (origin := unfinished(self)) is not None:
            raise StoreError(
                f"{self.where} holds half a copy of the store {origin}.",
                remedy="Repeat the `dragoman store` command that was interrupted: it goes on from there.",
                where=self.where,
            )

    def _unfinished(self) -> tuple[str, ...]:
        try:
            self.require_whole()
        except StoreError as error:
            return (f"{error.message} {error.remedy}",)
        return ()

    @property
    @abstractmethod
    def where(self) -> str:
        """How to call it before people; it holds no secret."""

    def identity(self) -> str:
        """A name that the store got when it was made."""
        return self._engine.identity()

    def scopes(self) -> Sequence[Scope]:
        """Every scope that has rows: for copying and checking a whole store, never for answering anybody."""
        return self._engine.scopes()

    def records(self, scope: Scope, after: Position = START) -> Iterator[tuple[Record, Position]]:
        """Everything of a scope in a fixed order, each with the position from which to go on."""
        from dragoman.stores.transfer.table_records import TableRecords

        return TableRecords(self._engine).records(scope, after)

    def receive(self, scope: Scope, records: Sequence[Record], notes: Mapping[str, str]) -> None:
        """Add records of another store, with notes about the copy, all or none."""
        from dragoman.stores.transfer.table_records import write_records

        with self._engine.writing(scope) as rows:
            write_records(rows, records, notes)

    def drop_note(self, scope: Scope, key: str) -> None:
        """Let go of a note about a copy."""
        from dragoman.stores.transfer.table_records import drop_note

        with self._engine.writing(scope) as rows:
            drop_note(rows, key)

    @abstractmethod
    def dump(self, folder: Path) -> Path:
        """Write everything, as it is at one moment, to a new file in a folder; others may go on writing here."""

    @abstractmethod
    def verify(self) -> Verification:
        """Whether what keeps the tables is sound, and how large it is."""

    def settle(self) -> None:
        """After much was written: build now what searches of large shared sources need."""
        for scope in self.scopes():
            if scope.user == SHARED_USER:
                with self._engine.reading(scope) as rows:
                    sources = self._search.sidecars.sources(rows)
                for source in sources:
                    self.refresh_index(scope, source)

    def close(self) -> None:
        """Let go of files and caches; a later call opens them again."""
        if "_search" in self.__dict__:  # made already
            self._search.sidecars.close()
            self._search.pools.drop()
        self._engine.close()

    def check_index(self, scope: Scope) -> Sequence[IndexState]:
        """How the index of each of a tenant's shared sources stands beside the store."""
        return self._search.sidecars.states(scope.shared)

    def refresh_index(self, scope: Scope, source: SourceName) -> None:
        """Bring a shared source's index up to date now, so that the next search need not."""
        if self._search.is_large(scope, self._search.sidecars.place(scope, source)):
            self._search.sidecars.prepare(scope, source)

    def rebuild_index(self, scope: Scope, source: SourceName, *, progress: Progress | None = None) -> None:
        """Make a shared source's index anew from the rows; until it is there, searches use the one before."""
        if self._search.is_large(scope, self._search.sidecars.place(scope, source)):
            self._search.sidecars.rebuild(scope, source, progress)
        else:
            with self._purging(scope):
                self._search.sidecars.drop(scope, source)

    def _purging(self, scope: Scope) -> AbstractContextManager[Purge]:
        return self._search.sidecars.purging(scope, seconds=self._busy_seconds)

    def _telling(self, rows: ScopedRows, purge: Purge) -> Purge:
        """What is told of rows that a transaction changes or removes: `purge`, and whatever an engine adds."""
        return purge
