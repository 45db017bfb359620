"""The PostgreSQL engine: transactions restricted to one scope, and operations on all scopes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from dragoman.core.cancelling import check_cancelled
from dragoman.core.values import Scope
from dragoman.stores.erasure_hold import current_hold
from dragoman.stores.postgres import errors
from dragoman.stores.postgres.address import require_psycopg
from dragoman.stores.postgres.connections import PostgresConnections
from dragoman.stores.postgres.rows import PostgresRows, counted_erasures, erasures_cursor
from dragoman.stores.postgres.schema import TABLES

if TYPE_CHECKING:
    from psycopg_pool import ConnectionPool

    from dragoman.stores.postgres.schema import Connection, Cursor
    from dragoman.stores.purging import Purged
    from dragoman.stores.rows import Cell

    First: TypeAlias = Callable[[Connection], None]

_WIDEST = 2000  # dimensions that pgvector can index

# All of it ends with the transaction, so that a pooler between us and the server may give each one another connection.
_SCOPED = """SELECT set_config('search_path', %(path)s, true), set_config('lock_timeout', %(lock)s, true),
    set_config('statement_timeout', %(statement)s, true), set_config('dragoman.directory', %(directory)s, true),
    set_config('dragoman.scoped', %(scoped)s, true), set_config('dragoman.tenant', %(tenant)s, true),
    set_config('dragoman.user', %(user)s, true), set_config('role', %(role)s, true)"""
_HOLD = "SELECT pg_advisory_xact_lock(hashtextextended(%(tenant)s || chr(31) || %(user)s, 7))"
_ENTER = 'INSERT INTO scopes (tenant, "user") VALUES (%(tenant)s, %(user)s) ON CONFLICT DO NOTHING'


class PostgresDatabase(PostgresConnections):
    """One schema of one database; connections are made on first use."""

    tables = TABLES

    def __repr__(self) -> str:
        return f"PostgresDatabase({self.where!r}, schema={self.schema!r})"

    @contextmanager
    def reading(self, scope: Scope) -> Iterator[PostgresRows]:
        """Rows of a scope as last committed by anyone."""
        with self._transaction(scope) as connection:
            yield PostgresRows(connection, scope)

    def read(self, scope: Scope, sql: str, **bindings: Cell) -> list[tuple[Cell, ...]]:
        """The rows of one statement in its own transaction, in one round trip."""
        asked: list[Cursor] = []

        def first(connection: Connection) -> None:
            asked.append(PostgresRows(connection, scope).sent(sql, **bindings))
            connection.commit()

        with self._transaction(scope, first=first):
            return asked[-1].fetchall()

    @contextmanager
    def writing(self, scope: Scope) -> Iterator[PostgresRows]:
        """One transaction that locks its scope against other writers and is durable when the block ends.

        Raises if this thread holds the scope and it was erased since.
        """
        hold = current_hold(scope)
        asked: list[Cursor] = []

        def first(connection: Connection) -> None:  # with the statements that begin: it costs no round trip
            asked.append(erasures_cursor(connection, scope))

        with self._transaction(scope, writes=True, first=None if hold is None else first) as connection:
            if hold is not None:
                hold.check(counted_erasures(asked[-1]))
            yield PostgresRows(connection, scope)

    @contextmanager
    def snapshot(self) -> Iterator[PostgresSnapshot]:
        """A consistent snapshot of every scope, however long the reading takes."""
        psycopg = require_psycopg()
        with self._transaction(None, isolation=psycopg.IsolationLevel.REPEATABLE_READ, seconds=0) as connection:
            yield PostgresSnapshot(self, connection)

    def scopes(self) -> Sequence[Scope]:
        """Every scope that was written to, in order."""
        with self._transaction(None) as connection:
            return listed(connection)

    def erase(self) -> None:
        """No query returns deleted rows; their bytes go with `purge`, or when the server vacuums."""

    def size(self) -> int:
        """The bytes that the schema's tables and indexes take up on the server."""
        sql = """SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class AS c
            JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relkind = 'r'"""
        with self._transaction(None) as connection:
            cells = connection.execute(sql, (self.schema,)).fetchone()
        return int(cells[0]) if cells else 0

    def index_vectors(self, width: int, *, wait: bool = False) -> bool | None:
        """Build HNSW graphs over the shared vectors of one width; return whether they exist now.

        Writers are not blocked. None if another process is building them, unless `wait` is set.
        """
        from dragoman.stores.postgres.hnsw import build

        if width > _WIDEST:
            return False
        self.opened()
        with self._connected() as connection, self.explained():
            return build(connection, schema=self.schema, path=self._path, width=int(width), wait=wait)

    def purge(self) -> Purged:
        """Remove deleted bytes from the server's files, as far as this user may; locks one table after the other."""
        from dragoman.stores.postgres.purge import purge

        self.opened()
        with self._connected() as connection, self.explained():
            return purge(connection, self.schema)

    def settings(self, scope: Scope | None, *, seconds: float | None = None) -> dict[str, str]:
        """SQL that restricts a transaction to the rows of a scope, or, without one, to the list of scopes."""
        statement = self._statement_seconds if seconds is None else seconds
        return {
            "path": self._path,
            "lock": f"{round(self._busy_seconds * 1000)}ms",
            "statement": f"{round(statement * 1000)}ms",
            "directory": "off" if scope else "on",
            "scoped": "on" if scope else "off",
            "tenant": scope.tenant if scope else "",
            "user": scope.user if scope else "",
            "role": self._role or "none",
        }

    @contextmanager
    def _transaction(
        self,
        scope: Scope | None,
        *,
        isolation: Any = None,
        seconds: float | None = None,
        writes: bool = False,
        first: First | None = None,
    ) -> Iterator[Connection]:
        check_cancelled()
        psycopg = require_psycopg()
        pool = self.opened()
        with self.explained():
            connection = self._begun(pool, scope, isolation, seconds, writes=writes, first=first)
            try:
                yield connection
                try:
                    connection.commit()
                except psycopg.OperationalError as error:
                    if connection.broken:
                        raise errors.uncertain(self.where) from error
                    raise
            except BaseException:
                with suppress(psycopg.Error):
                    connection.rollback()
                raise
            finally:
                if isolation is not None and not connection.closed:
                    connection.isolation_level = None
                pool.putconn(connection)

    def once(self, sql: str, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
        """Run and commit one statement on tables without a scope, in one round trip."""
        pool = self.opened()
        with self.explained():
            connection = self._fresh(pool)
            try:
                connection.autocommit = True  # local state only: nothing is sent
                cursor = connection.execute(sql, values)
                return cursor.fetchall() if cursor.description else [(cursor.rowcount,)]
            finally:
                with suppress(
                    require_psycopg().Error
                ):  # broken, or interrupted within the statement: the pool discards it
                    connection.autocommit = False
                pool.putconn(connection)

    def _begun(
        self,
        pool: ConnectionPool[Connection],
        scope: Scope | None,
        isolation: Any,
        seconds: float | None,
        *,
        writes: bool,
        first: First | None,
    ) -> Connection:
        """A connection in a new transaction; connections that broke in the pool are discarded."""
        psycopg = require_psycopg()
        for attempt in range(self._connections + 1):
            connection = self._lent(pool)
            try:
                if isolation is not None:
                    connection.isolation_level = isolation
                with connection.pipeline():  # one round trip
                    connection.execute(_SCOPED, settings := self.settings(scope, seconds=seconds))
                    if writes:
                        connection.execute(_HOLD, settings)
                        connection.execute(_ENTER, settings)
                    if first is not None:
                        first(connection)
                return connection
            except psycopg.OperationalError:
                broken = connection.broken
                with suppress(psycopg.Error):
                    connection.rollback()
                pool.putconn(connection)
                if not broken or attempt == self._connections:
                    raise
            except BaseException:
                with suppress(psycopg.Error):
                    connection.rollback()
                pool.putconn(connection)
                raise
        raise AssertionError("unreachable")


class PostgresSnapshot:
    """Rows of any scope within one transaction, one scope after another."""

    def __init__(self, database: PostgresDatabase, connection: Connection) -> None:
        self._database = database
        self._connection = connection

    def scopes(self) -> Sequence[Scope]:
        """Every scope that was written to, in order."""
        self._connection.execute(_SCOPED, self._database.settings(None, seconds=0))
        return listed(self._connection)

    @contextmanager
    def reading(self, scope: Scope) -> Iterator[PostgresRows]:
        """Rows of a scope as they were when the snapshot began."""
        self._connection.execute(_SCOPED, self._database.settings(scope, seconds=0))
        yield PostgresRows(self._connection, scope)


def listed(connection: Connection) -> list[Scope]:
    """The scopes, in a transaction that may see their list."""
    with connection.cursor(binary=True) as cursor:
        cursor.execute('SELECT tenant, "user" FROM scopes ORDER BY tenant, "user"')
        return [Scope(tenant, user) for tenant, user in cursor.fetchall()]
