"""The store on a PostgreSQL server, which processes on many machines can share."""

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
    """Rows, vectors, dialogues, traces and key-value pairs in one schema of a database.

    `url` is `env:NAME`, the variable that holds the address, or an address without a password. Every transaction is
    restricted to its scope twice: by the statements, and by row-level security. The words of a shared source with more
    than `index_above` rows are searched through an index in `index_folder` (default: the agent's state folder), its
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
        """Connect now, so that an unusable server is reported at once."""
        self._database.opened()

    def exists(self) -> bool:
        """Whether the store exists; creates nothing."""
        return self._database.exists()

    def verify(self) -> Verification:
        """Check that the server answers and holds no unfinished copy, and report the size of its tables."""
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
        """Remove deleted bytes from the server's files; see `postgres/purge.py`."""
        return self._database.purge()

    def refresh_index(self, scope: Scope, source: SourceName) -> None:
        """Bring a shared source's word index and graph up to date now, so that the next search need not."""
        super().refresh_index(scope, source)
        self._search.index_vectors(scope, source)

    def settle(self) -> None:
        """Build the HNSW graphs of large shared sources; each machine builds its own word index."""
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
        """Last messages of dialogues, for clients that resend the history; shared by all processes of this store."""
        from dragoman.stores.postgres.dialogue_ends import PostgresDialogueEnds

        return PostgresDialogueEnds(self._database)

    @cached_property
    def usage(self) -> PostgresStorageUsage:
        """Usage of upload folders, shared by all processes of this store."""
        from dragoman.stores.postgres.upload_usage import PostgresStorageUsage

        return PostgresStorageUsage(self._database)

    @cached_property
    def lines(self) -> PostgresDialogueOrder:
        """The turn queue of each dialogue, shared by all processes of this store."""
        from dragoman.stores.postgres.dialogue_order import PostgresDialogueOrder

        return PostgresDialogueOrder(self._database)

    def close(self) -> None:
        """Close connections and drop caches; a later call opens them again."""
        if "lines" in self.__dict__:  # made already
            self.lines.close()
        super().close()

    def _telling(self, rows: ScopedRows, purge: Purge) -> Purge:
        """Notify other machines as well: their indexes are valid only up to the tick before this change."""

        def told(source: SourceName, keys: Sequence[int]) -> None:
            rows.rows(_REWRITE, source=source, tick=rows.tick())
            purge(source, keys)

        return told
