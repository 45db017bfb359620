"""The SQLite file: connections, transactions, error messages, and the check that statements name their scope."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from dragoman.core.cancelling import check_cancelled
from dragoman.core.errors import InputError, StoreCorruptError, StoreError, StoreFullError, StoreLockedError
from dragoman.core.private_files import make_private_file, make_private_folder, tighten
from dragoman.core.values import Scope
from dragoman.stores.erasure_hold import current_hold, moved, scope_digest
from dragoman.stores.sqlite.migrations import MIGRATIONS, SCOPED_TABLES, Migration, migrate
from dragoman.stores.sqlite.transaction import transaction
from dragoman.stores.sqlite.wal import use_wal

if TYPE_CHECKING:
    import apsw

    from dragoman.stores.engine import Bindings
    from dragoman.stores.rows import Cell

# A page of this size holds several 384-dimensional vectors, so that the vectors of a user lie together.
_PAGE = 16384
_STATE_FOLDER = ".dragoman"
_HELD = frozenset((*SCOPED_TABLES, "scopes"))  # a server also keeps a list of the scopes
_TABLE = re.compile(r"\b(?:FROM|JOIN|INTO|UPDATE)\s+(\w+)", re.IGNORECASE)
_BOUND = re.compile(r"\btenant = :tenant AND (?:\w+\.)?user = :user\b")
_NAME = re.compile(r":(\w+)")
_GIVEN = re.compile(r"\(tenant, user\b.*\bVALUES \(:tenant, :user\b", re.DOTALL)


@lru_cache(maxsize=256)
def check_scoped(sql: str) -> None:
    """Refuse a statement that does not restrict every scoped table to one tenant and one user."""
    tables = [name for name in _TABLE.findall(sql) if name in _HELD]
    bound = len(_BOUND.findall(sql)) + len(_GIVEN.findall(sql))
    if not tables or bound < len(tables):
        raise StoreError(f"A statement is not held to a scope: {' '.join(sql.split())}", remedy="Report this as a bug.")


@lru_cache(maxsize=256)
def _values(sql: str) -> itemgetter[str]:
    """Getter of a statement's bound values from a row, in order: binding by position is quicker than by name."""
    return itemgetter(*dict.fromkeys(_NAME.findall(sql)))


class Scoped:
    """Access to the rows of one scope: every statement is checked, and its tenant and user come from the scope."""

    def __init__(self, connection: apsw.Connection, scope: Scope) -> None:
        self._connection = connection
        self._scope = scope
        self._keys = {"tenant": scope.tenant, "user": scope.user}

    def of(self, scope: Scope) -> Scoped:
        """The rows of another scope in the same transaction."""
        return Scoped(self._connection, scope)

    def rows(self, sql: str, **bindings: Cell) -> list[tuple[Cell, ...]]:
        """Run one statement and fetch all its rows."""
        check_scoped(sql)
        return self._connection.execute(sql, {**bindings, **self._keys}).fetchall()

    def run(self, sql: str, **bindings: Cell) -> int:
        """Run one statement and return the number of rows that it changed."""
        before = self._connection.total_changes()
        self.rows(sql, **bindings)
        return self._connection.total_changes() - before

    def many(self, sql: str, rows: Iterable[Bindings]) -> None:
        """Run one statement for each row."""
        check_scoped(sql)
        values = _values(sql)
        self._connection.executemany(sql, (values({**row, **self._keys}) for row in rows))

    def tick(self) -> int:
        """The next value of the clock that all writes to the file share; it never goes back."""
        return int(self._connection.execute("UPDATE clock SET ticks = ticks + 1 RETURNING ticks").get)

    def erasures(self) -> int:
        """The number of times that data of the scope was erased."""
        sql = "SELECT count FROM erasures WHERE scope = ?"
        return int(self._connection.execute(sql, (scope_digest(self._scope),)).get or 0)

    def count_erasure(self) -> None:
        """Count one more, with the transaction that erases."""
        sql = """INSERT INTO erasures VALUES (?, 1) ON CONFLICT (scope) DO UPDATE SET count = count + 1
            RETURNING count"""
        moved(self._scope, int(self._connection.execute(sql, (scope_digest(self._scope),)).get))

    def new_keys(self, count: int) -> Sequence[int]:
        """Numbers above all earlier ones; never reused, since an index may still hold an old one."""
        last = int(self._connection.execute("SELECT max(seq) FROM sqlite_sequence WHERE name = 'passages'").get or 0)
        return range(last + 1, last + 1 + count)


class Database:
    """One SQLite file with a connection for reading and one for writing, opened on first use."""

    tables = SCOPED_TABLES

    def __init__(self, path: Path, *, busy_seconds: float, migrations: Sequence[Migration] = MIGRATIONS) -> None:
        self.path = path
        self._busy_seconds = busy_seconds
        self._migrations = migrations
        self._reader: apsw.Connection | None = None
        self._writer: apsw.Connection | None = None
        self._inherited: tuple[apsw.Connection | None, ...] = ()
        self._process = 0
        self._reading, self._writing = RLock(), RLock()

    @contextmanager
    def reading(self, scope: Scope) -> Iterator[Scoped]:
        """Rows of a scope as last committed by anyone."""
        check_cancelled()
        with self._reading, self.errors():
            yield Scoped(self.connections()[0], scope)

    @contextmanager
    def writing(self, scope: Scope, *, checked: bool = True) -> Iterator[Scoped]:
        """One transaction: when the block ends it is on the disk, when it raises nothing has happened.

        Raises if this thread holds the scope and it was erased since, unless its caller checks that (`checked`).
        """
        if checked:
            check_cancelled()
        hold = current_hold(scope) if checked else None
        with self._writing, self.errors():
            connection = self.connections()[1]
            with transaction(connection):
                rows = Scoped(connection, scope)
                if hold is not None:
                    hold.check(rows.erasures())
                yield rows

    def connections(self) -> tuple[apsw.Connection, apsw.Connection]:
        """The reading and the writing connection; a forked child opens its own."""
        if self._reader is None or self._writer is None or self._process != os.getpid():
            with self._reading, self._writing:
                if self._reader is None or self._writer is None or self._process != os.getpid():
                    # A forked child must not close its parent's connections; keeping a reference prevents that.
                    self._inherited = (self._reader, self._writer) if self._process else ()
                    self._writer = self._connect()
                    self._reader = self._connect()
                    self._process = os.getpid()
                    self._truncate()
        return self._reader, self._writer

    def identity(self) -> str:
        """The id that the file got when it was created; an index records which store it belongs to."""
        with self._reading, self.errors():
            return str(self.connections()[0].execute("SELECT store FROM clock").get)

    def new_identity(self) -> None:
        """Set a new id; called for a copied file."""
        with self._writing, self.errors():
            self.connections()[1].execute("UPDATE clock SET store = hex(randomblob(8))")

    def scopes(self) -> Sequence[Scope]:
        """Every scope with rows, in order."""
        union = " UNION ".join(f"SELECT tenant, user FROM {table}" for table in self.tables)
        with self._reading, self.errors():
            pairs = self.connections()[0].execute(f"{union} ORDER BY tenant, user").fetchall()
        return [Scope(str(tenant), str(user)) for tenant, user in pairs]

    def copy(self, path: Path) -> None:
        """Write a consistent snapshot of the file to a new path while others use it."""
        import apsw

        with self._reading, self.errors():
            make_private_file(path)
            target = apsw.Connection(str(path))
            try:
                with target.backup("main", self.connections()[0], "main") as backup:
                    backup.step(-1)  # one step is one snapshot, and in WAL mode nobody waits for it
            finally:
                target.close()

    def problems(self) -> tuple[str, ...]:
        """The findings of SQLite's integrity check, which reads every page."""
        with self._reading, self.errors():
            lines = self.connections()[0].execute("PRAGMA integrity_check").fetchall()
        return tuple(str(line) for (line,) in lines if line != "ok")

    def erase(self) -> None:
        """Remove deleted bytes from all files: `secure_delete` zeroes the pages, this empties the log."""
        deadline = time.monotonic() + self._busy_seconds
        with self._reading, self._writing, self.errors():
            self.connections()
            while not self._truncate():
                if time.monotonic() > deadline:
                    raise StoreLockedError(
                        f"The rows are deleted, but the write-ahead log of '{self.path}' still holds their pages: "
                        "another process keeps reading an older state.",
                        remedy="Repeat the call when that process is done, or close it.",
                        path=str(self.path),
                    )
                time.sleep(0.02)

    def close(self) -> None:
        """Close both connections; a later call opens them again."""
        with self._reading, self._writing, self.errors():
            connections = (self._reader, self._writer) if self._process == os.getpid() else ()
            self._reader = self._writer = None
            self._process = 0
            for connection in connections:
                if connection is not None:
                    connection.close()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Translate SQLite's errors into store errors with a remedy."""
        import apsw

        try:
            yield
        except (apsw.NotADBError, apsw.CorruptError) as error:
            remedy = "Restore it from a backup, or move it (and its -wal file) away to start afresh."
            raise StoreCorruptError(
                f"'{self.path}' is not a store, or is damaged: {error}.", remedy=remedy, path=str(self.path)
            ) from error
        except (apsw.BusyError, apsw.LockedError) as error:
            raise StoreLockedError(
                f"Another process holds '{self.path}' for more than {self._busy_seconds:g} s.",
                remedy="Close it, or try again when it is done.",
                path=str(self.path),
            ) from error
        except apsw.FullError as error:
            raise StoreFullError(
                f"The disk that holds '{self.path}' is full; nothing that was acknowledged is lost.",
                remedy="Free some space and repeat the call.",
                path=str(self.path),
            ) from error
        except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError) as error:
            remedy = "Check that the folder exists and that you may write to it and to the file."
            raise StoreError(f"'{self.path}' cannot be opened or written: {error}.", remedy=remedy) from error
        except apsw.Error as error:
            raise StoreError(
                f"'{self.path}' failed: {error}.", remedy="Run `dragoman doctor`.", path=str(self.path)
            ) from error
        except UnicodeEncodeError as error:
            raise InputError("A key holds a lone surrogate, which UTF-8 cannot hold.", remedy="Remove it.") from error

    def _connect(self) -> apsw.Connection:
        import apsw

        try:
            make_private_folder(self.path.parent)
        except OSError as error:
            remedy = "Give a path in a folder that you may write to."
            raise StoreError(f"The folder '{self.path.parent}' cannot be made: {error}.", remedy=remedy) from error
        self._make_private()
        connection = apsw.Connection(str(self.path))
        try:
            connection.set_busy_timeout(round(self._busy_seconds * 1000))
            connection.pragma("page_size", _PAGE)
            connection.pragma("secure_delete", "ON")
            use_wal(connection, self._busy_seconds)
            # FULL: a commit waits for the disk, so that acknowledged writes survive a power cut.
            for name, value in (
                ("synchronous", "FULL"),
                ("foreign_keys", "ON"),
                ("temp_store", "MEMORY"),  # sorting must not leave content in a temporary file
                ("cache_size", -8192),
                ("mmap_size", 2**28),
                ("wal_autocheckpoint", 512),
            ):
                connection.pragma(name, value)
            migrate(connection, str(self.path), self._migrations)
        except BaseException:
            connection.close()
            raise
        return connection

    def _make_private(self) -> None:
        """Let only the owner read the database; SQLite gives new -wal and -shm files the mode of the database."""
        if _STATE_FOLDER in self.path.absolute().parts:  # any other folder may hold files that are not Dragoman's
            tighten(self.path.parent)
        with suppress(OSError):  # SQLite reports why the file cannot be created
            make_private_file(self.path)
        for suffix in ("-wal", "-shm", "-journal"):
            tighten(self.path.with_name(self.path.name + suffix))

    def _truncate(self) -> bool:
        import apsw

        if self._writer is None:
            return True
        self._writer.set_busy_timeout(0)
        try:
            busy, _, _ = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]
        except apsw.BusyError:
            return False
        finally:
            self._writer.set_busy_timeout(round(self._busy_seconds * 1000))
        return not busy
