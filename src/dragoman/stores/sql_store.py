"""Base class of the SQL stores: everything that does not depend on the database engine."""

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
from dragoman.stores.dialogues import KEEP, DialogueTable
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
    from dragoman.stores.encoder_change import EncoderChange
    from dragoman.stores.engine import Engine, ScopedRows
    from dragoman.stores.index.index_manager import IndexState, Progress, Purge
    from dragoman.stores.search import StoreSearch

INDEX_ABOVE = 2000
"""Default number of rows above which a shared source gets an index."""
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
    """Result of a check of the store; `problems` is empty if the store is sound."""

    path: Path | str
    bytes: int
    problems: tuple[str, ...]

    @property
    def is_sound(self) -> bool:
        return not self.problems


class TableStore(DialogueTable):
    """Rows, vectors, dialogues, traces and key-value pairs in SQL tables, with a search index beside them.

    Every write is durable when its call returns. A source of a tenant's shared scope with more than a threshold of
    rows is searched through an index.
    """

    def __init__(self, engine: Engine, *, analyse: Analyse, busy_seconds: float) -> None:
        super().__init__(engine)
        self._analyse = analyse
        self._busy_seconds = busy_seconds
        self._encoder = ""

    @property
    @abstractmethod
    def _search(self) -> StoreSearch:
        """Made on first use."""

    def use_encoder(self, encoder: str) -> EncoderChange:
        """Take all vectors from now on for those of an encoder, by the name of its vector space; "" for any.

        Where a source has vectors of another one, those are never compared with these: searches by vectors find
        nothing there, and new rows get no vectors, until the returned change was carried out.
        """
        from dragoman.stores.encoder_change import EncoderChange

        self._encoder = encoder
        return EncoderChange(self._engine, encoder, self._forget_vectors)

    def _forget_vectors(self, scope: Scope, source: SourceName, done: bool) -> None:
        """Drop what is known of a source's vectors beside the tables; index them anew where that is `done`."""
        self._search.pools.drop(scope)
        if scope.user == SHARED_USER:
            self._search.sidecars.drop_vectors(scope, source)
            if done:
                self.refresh_index(scope, source)

    def put(self, scope: Scope, passages: Sequence[Passage], vectors: FloatArray | None = None) -> int:
        """Write passages by id, all or none; return the number of new or changed ones.

        Putting a superseded row again revives it. An unchanged row that is put without a vector keeps its vector.
        """
        from dragoman.stores.vectors import pack

        check_passages(passages)
        return self._put(scope, passages, pack(vectors, len(passages)))

    def _put(self, scope: Scope, passages: Sequence[Passage], vectors: Sequence[bytes | None]) -> int:
        from dragoman.stores.passage_writes import PassageBatch

        batch = PassageBatch(passages, vectors, self._analyse, encoder=self._encoder)
        with self._engine.reading(scope) as rows:
            batch.plan(rows)
        while True:
            rewrites = bool(batch.rewritten)
            with self._purging(scope) if rewrites else nullcontext() as purge, self._engine.writing(scope) as rows:
                batch.plan(rows)
                if batch.rewritten and purge is None:
                    continue  # another process has just written one of these rows: plan again, holding the index lock
                for source, keys in batch.rewritten.items():
                    if purge is not None:
                        self._telling(rows, purge)(source, keys)
                written = batch.write(rows)
            if rewrites:
                self._engine.erase()
            return written

    def get(self, scope: Scope, ids: Sequence[str]) -> Sequence[Passage | None]:
        with self._engine.reading(scope) as rows:
            by_id = {cells[0]: from_cells(cells) for cells in rows.rows(_GET, ids=json.dumps(list(ids)))}
        return [by_id.get(key) for key in ids]

    def passages(
        self, scope: Scope, source: SourceName, *, origin: str | None = None, superseded: bool = False
    ) -> Iterator[Passage]:
        """Live rows of a source in order of insertion; with `superseded`, the replaced rows instead."""
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
        """The number of rows that `passages` lists."""
        return self._search.sidecars.place(scope, source).live

    def remove(self, scope: Scope, ids: Sequence[str]) -> int:
        """Delete rows so that no byte of them stays in any file; return the number deleted."""
        from dragoman.stores.passage_writes import remove

        with self._purging(scope) as purge, self._engine.writing(scope) as rows:
            removed = remove(rows, ids, self._telling(rows, purge))
        self._search.pools.drop(scope)
        self._engine.erase()
        return removed

    def switch(
        self,
        scope: Scope,
        passages: Sequence[Passage],
        vectors: FloatArray | None = None,
        *,
        remove: Sequence[str] = (),
        notes: Mapping[str, str] | None = None,
    ) -> int:
        """Write passages, delete others and keep values, all or none; return the number deleted."""
        from dragoman.stores.passage_writes import PassageBatch
        from dragoman.stores.passage_writes import remove as delete
        from dragoman.stores.vectors import pack

        check_passages(passages)
        batch = PassageBatch(passages, pack(vectors, len(passages)), self._analyse, encoder=self._encoder)
        with self._engine.reading(scope) as rows:
            batch.plan(rows)  # analyses the texts, so that the transaction is short
        with self._purging(scope) as purge, self._engine.writing(scope) as rows:
            batch.plan(rows)
            purged = self._telling(rows, purge)
            for source, keys in batch.rewritten.items():
                purged(source, keys)
            batch.write(rows)
            removed = delete(rows, remove, purged)
            for key, value in (notes or {}).items():
                rows.rows(KEEP, key=key, value=value)
        self._search.pools.drop(scope)
        if removed or batch.rewritten:
            self._engine.erase()
        return removed

    def purge(self) -> Purged:
        """Remove deleted bytes from the files. SQLite overwrites them at once, so only its log is emptied here."""
        self._engine.erase()
        return Purged(0)

    def supersede(self, scope: Scope, id: str, by: str, *, meta: Mapping[str, str] | None = None) -> None:
        """Mark a row as replaced by another, and add to its meta: it stays in the store, and no search returns it."""
        from dragoman.stores.passage_writes import supersede

        with self._purging(scope) as purge, self._engine.writing(scope) as rows:
            supersede(rows, id, by, self._telling(rows, purge), meta or {})

    def lexical(self, queries: Sequence[Query]) -> Sequence[Sequence[Hit]]:
        """BM25 search with exact scores, also where an index supplies the candidates."""
        return [self._search.lexical(query) for query in queries]

    def nearest(self, queries: Sequence[Query]) -> Sequence[Sequence[Hit]]:
        """Cosine search: exact over private rows and small sources, approximate through the index."""
        return [self._search.nearest(query, self._encoder) for query in queries]

    def frequencies(self, scope: Scope, source: SourceName, tokens: Sequence[str]) -> tuple[int, Mapping[str, int]]:
        """The number of rows of a source, and in how many of them each token occurs."""
        return self._search.frequencies(scope, source, tokens)

    def forget(self, scope: Scope) -> int:
        """Erase a scope from every file; return the number of passages, turns and key-value pairs erased."""
        counted = ("passages", "turns", "kept")
        with self._purging(scope), self._engine.writing(scope) as rows:
            if scope.user == SHARED_USER:
                for source in self._search.sidecars.sources(rows):
                    self._search.sidecars.drop(scope, source)
            erased = {
                table: rows.run(f"DELETE FROM {table} WHERE tenant = :tenant AND user = :user")
                for table in self._engine.tables
            }
            rows.count_erasure()
        self._search.pools.drop(scope)
        self._engine.erase()
        return sum(erased[table] for table in counted)

    @property
    def engine(self) -> Engine:
        """The database, for checks of the whole store."""
        return self._engine

    @abstractmethod
    def open(self) -> None:
        """Open the store now, so that an unusable one is reported at once."""

    @abstractmethod
    def exists(self) -> bool:
        """Whether the store exists; creates nothing."""

    def require_whole(self) -> None:
        """Refuse a store with an unfinished copy into it: a write could be lost when the copy goes on."""
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
        """The location for messages; holds no secret."""

    def identity(self) -> str:
        """The id that the store got when it was created."""
        return self._engine.identity()

    def scopes(self) -> Sequence[Scope]:
        """Every scope with rows: for copying and checking a whole store only, never for answering a user."""
        return self._engine.scopes()

    def records(self, scope: Scope, after: Position = START) -> Iterator[tuple[Record, Position]]:
        """All records of a scope in a fixed order, each with the position after it, from which to resume."""
        from dragoman.stores.transfer.table_records import TableRecords

        return TableRecords(self._engine).records(scope, after)

    def receive(self, scope: Scope, records: Sequence[Record], notes: Mapping[str, str]) -> None:
        """Add records of another store, with notes about the copy, all or none."""
        from dragoman.stores.transfer.table_records import write_records

        with self._engine.writing(scope) as rows:
            write_records(rows, records, notes)

    def drop_note(self, scope: Scope, key: str) -> None:
        """Delete a note about a copy."""
        from dragoman.stores.transfer.table_records import drop_note

        with self._engine.writing(scope) as rows:
            drop_note(rows, key)

    @abstractmethod
    def dump(self, folder: Path) -> Path:
        """Write a consistent snapshot to a new file in a folder, while the store is in use."""

    @abstractmethod
    def verify(self) -> Verification:
        """Check the database, and report its size."""

    def settle(self) -> None:
        """Build the indexes of large shared sources now, after a bulk write."""
        for scope in self.scopes():
            if scope.user == SHARED_USER:
                with self._engine.reading(scope) as rows:
                    sources = self._search.sidecars.sources(rows)
                for source in sources:
                    self.refresh_index(scope, source)

    def close(self) -> None:
        """Close files and drop caches; a later call opens them again."""
        if "_search" in self.__dict__:  # made already
            self._search.sidecars.close()
            self._search.pools.drop()
        self._engine.close()

    def check_index(self, scope: Scope) -> Sequence[IndexState]:
        """The state of the index of each shared source of a tenant."""
        return self._search.sidecars.states(scope.shared)

    def refresh_index(self, scope: Scope, source: SourceName) -> None:
        """Update the index of a shared source now instead of in the next search."""
        if self._search.is_large(scope, self._search.sidecars.place(scope, source)):
            self._search.sidecars.prepare(scope, source)

    def rebuild_index(self, scope: Scope, source: SourceName, *, progress: Progress | None = None) -> None:
        """Rebuild the index of a shared source from its rows; searches use the old one until it is done."""
        if self._search.is_large(scope, self._search.sidecars.place(scope, source)):
            self._search.sidecars.rebuild(scope, source, progress)
        else:
            with self._purging(scope):
                self._search.sidecars.drop(scope, source)

    def _purging(self, scope: Scope) -> AbstractContextManager[Purge]:
        return self._search.sidecars.purging(scope, seconds=self._busy_seconds)

    def _telling(self, rows: ScopedRows, purge: Purge) -> Purge:
        """Hook called with rows about to change; engines may extend `purge`."""
        return purge
