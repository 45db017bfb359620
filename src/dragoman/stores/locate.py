"""Open the store that a command-line argument names: an SQLite file, a folder with one, or a PostgreSQL URL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from dragoman.core.errors import InputError
from dragoman.stores.in_memory import words
from dragoman.stores.postgres.address import is_postgres
from dragoman.stores.postgres.store import PostgresStore
from dragoman.stores.sql_store import INDEX_ABOVE, TableStore
from dragoman.stores.sqlite.store import SqliteStore

_NAMES = ("dragoman.db", ".dragoman/dragoman.db")


def file_of(place: str) -> Path | None:
    """The SQLite file of a place, whether it exists or not; None for a server."""
    if is_postgres(place):
        return None
    path = Path(place)
    if path.is_dir():
        files = [path / name for name in _NAMES if (path / name).is_file()]
        return files[0] if files else path / _NAMES[0]
    return path


@contextmanager
def opened(
    place: str,
    *,
    schema: str = "dragoman",
    present: bool = False,
    index_folder: Path | None = None,
    index_above: int = INDEX_ABOVE,
) -> Iterator[TableStore]:
    """The store at a place, for copying and checking only: it has no tokenizer of a language for new texts.

    With `present`, the store must exist. A server's word index lies in `index_folder`, by default a temporary one.
    """
    with TemporaryDirectory() as folder:
        file = file_of(place)
        store: TableStore
        if file is None:
            store = PostgresStore(
                url=place,
                analyse=words,
                folder=Path(folder),  # temporary: nobody searches this store
                schema=schema,
                statement_seconds=3600.0,
                index_folder=index_folder,
                index_above=index_above,
            )
        else:
            store = SqliteStore(path=file, analyse=words, index_above=index_above)
        try:
            if present and not store.exists():
                raise InputError(f"There is no store at {store.where}.", remedy="Give the place of an agent's store.")
            store.open()
            yield store
        finally:
            store.close()
