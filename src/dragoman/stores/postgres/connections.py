"""Connections to a PostgreSQL server: a pool, migration of the schema, and translation of errors."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from select import POLLIN, poll
from threading import RLock
from typing import TYPE_CHECKING, Any

from dragoman.core.errors import InputError, StoreError
from dragoman.stores.postgres import errors
from dragoman.stores.postgres.address import PostgresAddress, require_psycopg
from dragoman.stores.postgres.rows import adapt
from dragoman.stores.postgres.schema import check_name, ensure_extension, migrations, prepare, scoped_role
from dragoman.stores.sqlite.migrations import Migration

if TYPE_CHECKING:
    from psycopg.types import TypeInfo
    from psycopg_pool import ConnectionPool

    from dragoman.stores.postgres.schema import Connection

_CONNECT_SECONDS = 10
# A server that fell silent, as when a cable is pulled, is given up within half a minute.
_KEEPALIVE = {
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "25000",
}


class PostgresConnections:
    """The connections of one schema of one database; the first is made on first use."""

    def __init__(
        self,
        url: str,
        *,
        schema: str,
        connections: int,
        wait_seconds: float,
        busy_seconds: float,
        statement_seconds: float,
        steps: Sequence[Migration] | None = None,
    ) -> None:
        self._url = url
        self.schema = check_name(schema)
        self._connections = connections
        self._wait_seconds = wait_seconds
        self._busy_seconds = busy_seconds
        self._statement_seconds = statement_seconds
        self._steps = steps
        self._lock = RLock()
        self._pool: ConnectionPool[Connection] | None = None
        self._inherited: ConnectionPool[Connection] | None = None
        self._process = 0
        self._role: str | None = None
        self._path = self._store = self._where = ""

    @property
    def where(self) -> str:
        """The address without its password."""
        if not self._where:
            self._where = PostgresAddress.of(self._url).where
        return self._where

    def identity(self) -> str:
        """The id that the store got when it was created."""
        self.opened()
        return self._store

    def opened(self) -> ConnectionPool[Connection]:
        """The pool, opened after the schema is migrated. A forked child opens its own."""
        if self._pool is None or self._process != os.getpid():
            with self._lock:
                if self._pool is None or self._process != os.getpid():
                    self._inherited = self._pool  # a parent's connections must not be closed by its forked child
                    self._pool = self._open()
                    self._process = os.getpid()
        return self._pool

    def exists(self) -> bool:
        """Whether the schema holds a store; creates nothing."""
        with self._connected() as connection, self.explained():
            return connection.execute("SELECT to_regclass(%s)", (f'"{self.schema}".migrations',)).fetchone() != (None,)

    def close(self) -> None:
        """Close the pool; a later call opens another."""
        with self._lock:
            pool, self._pool = (self._pool if self._process == os.getpid() else None), None
            if pool is not None:
                pool.close()

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Translate PostgreSQL's errors into store errors with a remedy."""
        psycopg = require_psycopg()
        try:
            yield
        except psycopg.Error as error:
            limits = {"busy_seconds": self._busy_seconds, "statement_seconds": self._statement_seconds}
            raise errors.explained(error, self.where, **limits) from error
        except UnicodeEncodeError as error:
            raise InputError("A key holds a lone surrogate, which UTF-8 cannot hold.", remedy="Remove it.") from error

    def session(self) -> Connection:
        """A connection outside the pool, which the caller closes; its locks end with it, also after a crash."""
        self.opened()
        return self._connect()

    def _fresh(self, pool: ConnectionPool[Connection]) -> Connection:
        """A connection that is known to be open, for statements that cannot be repeated."""
        for _ in range(self._connections):
            connection = self._lent(pool)
            if not connection.closed:
                notices = poll()
                notices.register(connection.fileno(), POLLIN)
                if not notices.poll(0):
                    return connection
                connection.close()  # an unexpected message from the server: it is closing the connection
            pool.putconn(connection)
        return self._lent(pool)

    def _lent(self, pool: ConnectionPool[Connection]) -> Connection:
        from psycopg_pool import PoolTimeout

        try:
            return pool.getconn(timeout=self._wait_seconds)
        except PoolTimeout:
            with self._connected():  # raises the server's error, if there is one
                pass
            raise errors.exhausted(self.where, self._connections, self._wait_seconds) from None

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """A connection outside the pool."""
        connection = self._connect()
        try:
            yield connection
        finally:
            connection.close()

    def _connect(self) -> Connection:
        psycopg, address = require_psycopg(), PostgresAddress.of(self._url)
        try:
            connection: Connection = psycopg.connect(**self._parameters(address), autocommit=True)
        except psycopg.OperationalError as error:
            raise errors.refused(error, address.where) from error
        return connection

    def _parameters(self, address: PostgresAddress) -> dict[str, Any]:
        ours = {"connect_timeout": str(_CONNECT_SECONDS), "application_name": "dragoman", "client_encoding": "utf8"}
        return ours | _KEEPALIVE | dict(address.parameters)

    def _open(self) -> ConnectionPool[Connection]:
        from psycopg.types import TypeInfo
        from psycopg_pool import ConnectionPool

        address = PostgresAddress.of(self._url)
        self._where = address.where
        with self._connected() as connection, self.explained():
            steps = migrations() if self._steps is None else self._steps
            prepare(connection, self._where, self.schema, steps)
            self._role = scoped_role(connection, self._where, self.schema)
            extension = ensure_extension(connection, self._where)
            self._path = f'"{self.schema}", "{extension}"'
            connection.execute(f"SET search_path TO {self._path}")
            info = TypeInfo.fetch(connection, "vector")
            identity = connection.execute("SELECT store FROM identity").fetchone()
        if info is None or identity is None:
            raise StoreError(f"The store at {self._where} lost its identity.", remedy="Restore it from a backup.")
        self._store = str(identity[0])

        def configure(connection: Connection, info: TypeInfo = info) -> None:
            adapt(connection, info)

        return ConnectionPool(
            kwargs=self._parameters(address),
            min_size=1,
            max_size=self._connections,
            timeout=self._wait_seconds,
            reconnect_timeout=self._wait_seconds,
            configure=configure,
            open=True,
            name="dragoman",
        )
