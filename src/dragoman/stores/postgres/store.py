"""The system of record on a PostgreSQL server, which many processes on many machines share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.core.registry import stores
from dragoman.core.values import SHARED_USER, Receipt, Scope, SourceName
from dragoman.stores.group_commit import APPEND
from dragoman.stores.rows import Analyse
from dragoman.stores.sql_store import INDEX_ABOVE, TableStore, Verification

if TYPE_CHECKING:
    from dragoman.stores.engine import Bindings, ScopedRows
    from dragoman.stores.index.index_manager import Purge
    from dragoman.stores.postgres.dialogue_ends import PostgresDialogueEnds
    from dragoman.stores.postgres.dialogue_order import PostgresDialogueOrder
    from dragoman.stores.postgres.search import PostgresSearch
    from dragoman.stores.postgres.upload_usage import PostgresStorageUsage
    from dragoman.stores.purging import Purged

_REWRITE = """UPDATE places SET rewritten = :tick
    WHERE tenant = :tenant AND user = :user AND source = :source"""


@stores.register("postgres.v1")
class PostgresStore(TableStore):
    """Rows, vectors, dialogues, traces and kept values in one schema of a database, each scope behind its own door.

    `url` is `env:NAME`, the variable that holds the address, or an address without a password. Every transaction is
    held to its scope twice: by the statements, and by row-level security. The words of a shared source with more than
    `index_above` rows are searched through an index in `index_folder` (the agent's state folder unless given), its
    vectors through an HNSW graph on the server.
    """

    def __init__(
        self,
        *,
        url: str,
        analyse: Analyse,
        folder: Path,
        schema: str = "dragoman",
        connections: int = 8,
        wait_seconds: float = 5.0,
        busy_seconds: float = 10.0,
        statement_seconds: float = 60.0,
        index_above: int = INDEX_ABOVE,
        index_folder: Path | None = None,
    ) -> None:
        from dragoman.stores.postgres.database import PostgresDatabase

        self._index_folder = Path(index_folder or folder / "index")
        self._index_above = index_above
        self._database = PostgresDatabase(
            url,
            schema=schema,
            connections=connections,
            wait_seconds=wait_seconds,
            busy_seconds=busy_seconds,
            statement_seconds=statement_seconds,
        )
        super().__init__(self._database, analyse=analyse, busy_seconds=busy_seconds)

    def __repr__(self) -> str:
        return f"PostgresStore({self._database!r})"

    def open(self) -> None:
        """Connect now, so that a server that cannot be used is known at once."""
        self._database.opened()

    def exists(self) -> bool:
        """Whether there is a store already; nothing is made."""
        return self._database.exists()

    def verify(self) -> Verification:
        """Whether the server answers, how much it keeps, and whether a copy into it is unfinished."""
        return Verification(self._database.where, self._database.size(), self._unfinished())

    @property
    def where(self) -> str:
        return f"{self._database.where} (schema {self._database.schema})"

    def dump(self, folder: Path) -> Path:
        """A file of records, read in one transaction: everything as it was at one moment."""
        from dragoman.stores.transfer.record_file import write_file
        from dragoman.stores.transfer.table_records import TableRecords

        path = folder / "records.jsonl.gz"
        with self._database.snapshot() as snapshot:
            write_file(path, TableRecords(snapshot), identity=self.identity())
        return path

    def purge(self) -> Purged:
        """Take what was deleted out of the server's files; see `postgres_purge`."""
        return self._database.purge()

    def refresh_index(self, scope: Scope, source: SourceName) -> None:
        """Bring a shared source's word index and graph up to date now, so that the next search need not."""
        super().refresh_index(scope, source)
        self._search.index_vectors(scope, source)

    def settle(self) -> None:
        """Build the graphs of large shared sources; the words are each machine's own affair."""
        for scope in self.scopes():
            if scope.user == SHARED_USER:
                with self._database.reading(scope) as rows:
                    sources = self._search.sidecars.sources(rows)
                for source in sources:
                    self._search.index_vectors(scope, source)

    @cached_property
    def _search(self) -> PostgresSearch:
        from dragoman.stores.postgres.search import PostgresSearch

        return PostgresSearch(self._database, self._index_folder, threshold=self._index_above)

    def _append(self, scope: Scope, turns: Sequence[Bindings], under: Receipt | None) -> None:
        with self._database.writing(scope) as rows:
            rows.append(APPEND, turns, under)

    @cached_property
    def ends(self) -> PostgresDialogueEnds:
        """How dialogues end whose clients repeat them, over every process that serves this store."""
        from dragoman.stores.postgres.dialogue_ends import PostgresDialogueEnds

        return PostgresDialogueEnds(self._database)

    @cached_property
    def room(self) -> PostgresStorageUsage:
        """How much of uploaded files lies where, over every process that serves this store."""
        from dragoman.stores.postgres.upload_usage import PostgresStorageUsage

        return PostgresStorageUsage(self._database)

    @cached_property
    def lines(self) -> PostgresDialogueOrder:
        """The line of each dialogue, over every process that serves this store."""
        from dragoman.stores.postgres.dialogue_order import PostgresDialogueOrder

        return PostgresDialogueOrder(self._database)

    def close(self) -> None:
        """Let go of connections and caches; a later call opens them again."""
        if "lines" in self.__dict__:  # made already
            self.lines.close()
        super().close()

    def _telling(self, rows: ScopedRows, purge: Purge) -> Purge:
        """Tell the other machines too: their indexes are good only up to the tick before this change."""

        def told(source: SourceName, keys: Sequence[int]) -> None:
            rows.rows(_REWRITE, source=source, tick=rows.tick())
            purge(source, keys)

        return told
