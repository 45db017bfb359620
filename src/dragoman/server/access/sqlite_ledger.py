"""Ledger in an SQLite file, which processes of one machine may share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from dragoman.core.environment import home
from dragoman.core.errors import StoreError
from dragoman.core.private_files import make_private_file
from dragoman.server.access.keys import Key
from dragoman.server.access.ledger import DAY, Spent, too_many_tokens, too_many_turns
from dragoman.stores.sqlite.transaction import transaction
from dragoman.stores.sqlite.wal import use_wal

if TYPE_CHECKING:
    import apsw

    from dragoman.server.access.caller import Limits

APPLICATION = 0x44524B59  # "DRKY": marks the file as a ledger
_SCHEMA = (
    """
    CREATE TABLE keys (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, digest BLOB NOT NULL, name TEXT NOT NULL,
        tenant TEXT NOT NULL, user TEXT NOT NULL, admin INTEGER NOT NULL,
        turns_per_minute INTEGER, tokens_per_day INTEGER, created REAL NOT NULL, revoked REAL
    );
    CREATE TABLE buckets (key TEXT PRIMARY KEY, level REAL NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
    CREATE TABLE spent (
        key TEXT NOT NULL, day INTEGER NOT NULL, turns INTEGER NOT NULL, tokens INTEGER NOT NULL,
        PRIMARY KEY (key, day)
    ) WITHOUT ROWID;
    """,
)
"""Numbered steps: each runs once, in order."""
_COLUMNS = "id, name, tenant, user, admin, turns_per_minute, tokens_per_day, created, revoked"
_ADD = f"INSERT INTO keys (digest, {_COLUMNS}) VALUES ({', '.join('?' * 10)})"
# A bucket holds a minute's turns and fills steadily; a clock that was set back fills nothing.
_TAKE = """INSERT INTO buckets VALUES (:key, :limit - 1, :now)
    ON CONFLICT DO UPDATE SET level = min(:limit, level + max(0, :now - at) * :limit / 60.0) - 1, at = :now
    WHERE min(:limit, level + max(0, :now - at) * :limit / 60.0) >= 1 RETURNING level"""
_LEVEL = "SELECT min(:limit, level + max(0, :now - at) * :limit / 60.0) FROM buckets WHERE key = :key"
# Without it an empty bucket would wait until the clock has caught up with the time before it was set back.
_SET_BACK = "UPDATE buckets SET at = :now WHERE key = :key AND at > :now"
_SPEND = """INSERT INTO spent VALUES (:key, :day, 1, :tokens)
    ON CONFLICT DO UPDATE SET turns = turns + 1, tokens = tokens + excluded.tokens"""


def default_path() -> Path:
    """The default file of keys."""
    return home() / "server.db"


class SqliteLedger:
    """Keys are durable when a call returns; counters a moment later, so that no turn waits for the disk twice.

    Reads have a connection of their own: they wait for no writer, and can be made on the event loop.
    """

    is_near = True

    def __init__(self, path: Path, *, busy_seconds: float = 5.0) -> None:
        self._path = path
        self._busy_seconds = busy_seconds
        self._connection: apsw.Connection | None = None
        self._lock = Lock()
        self._reader: apsw.Connection | None = None
        self._read_lock = Lock()

    def add(self, key: Key, digest: bytes) -> None:
        limits = key.turns_per_minute, key.tokens_per_day
        cells = (digest, key.id, key.name, key.tenant, key.user, key.admin, *limits, key.created, key.revoked)
        with self._open() as connection:
            _durably(connection, _ADD, cells)

    def find(self, id: str) -> tuple[Key, bytes] | None:
        """A key and its digest, revoked or not."""
        with self._reading() as connection:
            row = connection.execute(f"SELECT {_COLUMNS}, digest FROM keys WHERE id = ?", (id,)).fetchone()
        return None if row is None else (_key(row[:-1]), bytes(row[-1]))

    def listed(self) -> Sequence[Key]:
        """All keys, oldest first."""
        with self._reading() as connection:
            return [_key(row) for row in connection.execute(f"SELECT {_COLUMNS} FROM keys ORDER BY seq")]

    def revoke(self, id: str, now: float) -> bool:
        """Revoke a key; returns whether there was a valid one."""
        with self._open() as connection:
            _durably(connection, "UPDATE keys SET revoked = ? WHERE id = ? AND revoked IS NULL", (now, id))
            return bool(connection.changes())

    def admit(self, id: str, limits: Limits, now: float) -> None:
        """Count a starting turn, or raise LimitError."""
        if limits.tokens_per_day is not None and self.spent(id, now).tokens >= limits.tokens_per_day:
            raise too_many_tokens(limits.tokens_per_day, now)
        limit = limits.turns_per_minute
        if limit is None:
            return
        values = {"key": id, "limit": limit, "now": now}
        with self._open() as connection:
            if limit >= 1 and connection.execute(_TAKE, values).fetchone() is not None:
                return
            connection.execute(_SET_BACK, {"key": id, "now": now})
            level = connection.execute(_LEVEL, values).get if limit else 0
        raise too_many_turns(limit, max(0.0, 1 - float(level or 0)) * 60 / max(1, limit))

    def spend(self, id: str, tokens: int, now: float) -> None:
        """Count the tokens of a finished turn."""
        with self._open() as connection:
            connection.execute(_SPEND, {"key": id, "day": int(now // DAY), "tokens": tokens})

    def spent(self, id: str, now: float) -> Spent:
        with self._reading() as connection:
            sql = "SELECT turns, tokens FROM spent WHERE key = ? AND day = ?"
            row = connection.execute(sql, (id, int(now // DAY))).fetchone()
        return Spent(*row) if row else Spent()

    def close(self) -> None:
        """Close the file; a later call opens it again."""
        with self._lock, self._read_lock:
            for connection in (self._reader, self._connection):
                if connection is not None:
                    connection.close()
            self._connection = self._reader = None

    @contextmanager
    def _open(self) -> Iterator[apsw.Connection]:
        with self._lock, self._explained():
            if self._connection is None:
                self._connection = self._connect()
            yield self._connection

    @contextmanager
    def _reading(self) -> Iterator[apsw.Connection]:
        with self._read_lock, self._explained():
            if self._reader is None:
                self._reader = self._connect()
            yield self._reader

    @contextmanager
    def _explained(self) -> Iterator[None]:
        import apsw

        try:
            yield
        except (apsw.Error, OSError) as error:
            raise StoreError(
                f"The keys in '{self._path}' cannot be read or written: {error}.",
                remedy="Check the file and its folder, or name another one with --keys.",
            ) from error

    def _connect(self) -> apsw.Connection:
        import apsw

        self._path.parent.mkdir(parents=True, exist_ok=True)
        make_private_file(self._path)  # before SQLite opens it, since its side files get the same mode
        connection = apsw.Connection(str(self._path))
        try:
            connection.set_busy_timeout(round(self._busy_seconds * 1000))
            use_wal(connection, self._busy_seconds)
            connection.pragma("synchronous", "NORMAL")
            self._migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _migrate(self, connection: apsw.Connection) -> None:
        if connection.pragma("user_version") == len(_SCHEMA) and connection.pragma("application_id") == APPLICATION:
            return
        with transaction(connection):  # another process may be taking the same step
            version, mark = int(connection.pragma("user_version")), int(connection.pragma("application_id"))
            tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
            if mark != APPLICATION and (mark or version or tables):
                raise StoreError(f"'{self._path}' is not a file of keys.", remedy="Name another one with --keys.")
            if version > len(_SCHEMA):
                raise StoreError(f"'{self._path}' was written by a newer Dragoman.", remedy="Upgrade Dragoman.")
            for statements in _SCHEMA[version:]:
                connection.execute(statements)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {len(_SCHEMA)}")


def _durably(connection: apsw.Connection, sql: str, cells: tuple[Any, ...]) -> None:
    connection.pragma("synchronous", "FULL")
    try:
        connection.execute(sql, cells)
    finally:
        connection.pragma("synchronous", "NORMAL")


def _key(row: Sequence[Any]) -> Key:
    id_, name, tenant, user, admin, turns, tokens, created, revoked = row
    return Key(id_, name, tenant, user, bool(admin), turns, tokens, created, revoked)
