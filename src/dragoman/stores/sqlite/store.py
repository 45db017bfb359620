"""The SQLite store: one file, and beside it the search index of the shared sources."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.core.errors import StoreCorruptError
from dragoman.core.registry import stores
from dragoman.core.values import Receipt, Scope
from dragoman.stores.group_commit import Appending
from dragoman.stores.rows import Analyse
from dragoman.stores.sql_store import INDEX_ABOVE, TableStore, Verification
from dragoman.stores.sqlite.database import Database

if TYPE_CHECKING:
    from dragoman.stores.engine import Bindings
    from dragoman.stores.search import StoreSearch


@stores.register("sqlite.v1")
class SqliteStore(TableStore):
    """Rows, vectors, dialogues, traces and key-value pairs in one file that several processes can share.

    Every write is on the disk when its call returns. A source of a tenant's shared scope with more than
    `index_above` rows is searched through an index in the folder `index` beside the file.
    """

    def __init__(
        self, *, path: Path, analyse: Analyse, busy_seconds: float = 10.0, index_above: int = INDEX_ABOVE
    ) -> None:
        self._path = Path(path)
        self._index_above = index_above
        self._database = Database(self._path, busy_seconds=busy_seconds)
        self._appending = Appending(self._database)
        super().__init__(self._database, analyse=analyse, busy_seconds=busy_seconds)

    def open(self) -> None:
        """Open the file now, so that a damaged or foreign one is reported at once."""
        with self._database.errors():
            self._database.connections()

    @property
    def where(self) -> str:
        return str(self._path)

    def exists(self) -> bool:
        """Whether the file exists; creates nothing."""
        return self._path.is_file()

    def dump(self, folder: Path) -> Path:
        """A consistent copy of the file, made while others read and write this one."""
        path = folder / "store.db"
        self._database.copy(path)
        return path

    def new_identity(self) -> None:
        """Give a copied store its own id, so that it does not use the index of the original."""
        self._database.new_identity()

    def verify(self) -> Verification:
        """Check every page of the file; for `dragoman doctor`."""
        try:
            problems = (*self._database.problems(), *self._unfinished())
        except StoreCorruptError as error:
            problems = (error.message,)
        files = (self._path, self._path.with_name(f"{self._path.name}-wal"))
        return Verification(self._path, sum(file.stat().st_size for file in files if file.exists()), problems)

    @cached_property
    def _search(self) -> StoreSearch:
        from dragoman.stores.search import StoreSearch

        return StoreSearch(self._database, self._path.parent / "index", threshold=self._index_above)

    def _append(self, scope: Scope, turns: Sequence[Bindings], under: Receipt | None) -> None:
        self._appending.add(scope, turns)
