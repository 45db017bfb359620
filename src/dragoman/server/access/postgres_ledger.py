"""Ledger in a PostgreSQL database, shared by all servers that use it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any

from dragoman.server.access.keys import Key
from dragoman.server.access.ledger import DAY, Spent, too_many_tokens, too_many_turns

if TYPE_CHECKING:
    from dragoman.server.access.caller import Limits
    from dragoman.stores.postgres.database import PostgresDatabase

CONNECTIONS = 4
_FRESH_SECONDS = 0.5
_MOST_KNOWN = 10_000
_COLUMNS = 'id, name, tenant, "user", admin, turns_per_minute, tokens_per_day, created, revoked'
# Servers' clocks differ, so buckets are filled by the database's clock.
_NOW = "coalesce(%(now)s::double precision, extract(epoch FROM clock_timestamp())::double precision)"
_FILLED = "least(excluded.level + 1, b.level + greatest(0, excluded.at - b.at) * (excluded.level + 1) / 60.0)"
# What was used today, whether a turn could be taken from the minute's bucket, and how that stood before: one statement.
_ADMIT = f"""WITH clock AS MATERIALIZED (SELECT {_NOW} AS now),
    today AS (SELECT tokens FROM {{schema}}.spent, clock WHERE key = %(key)s AND day = floor(now / {DAY})::bigint),
    taken AS (
        INSERT INTO {{schema}}.buckets AS b SELECT %(key)s, %(turns)s::double precision - 1, now FROM clock
        WHERE %(turns)s::bigint >= 1
            AND (%(tokens)s::bigint IS NULL OR coalesce((SELECT tokens FROM today), 0) < %(tokens)s::bigint)
        ON CONFLICT (key) DO UPDATE SET level = {_FILLED} - 1, at = excluded.at WHERE {_FILLED} >= 1 RETURNING 1)
    SELECT now, coalesce((SELECT tokens FROM today), 0), EXISTS (SELECT FROM taken), b.level, b.at
    FROM clock LEFT JOIN {{schema}}.buckets AS b ON b.key = %(key)s"""
_SET_BACK = "UPDATE {schema}.buckets SET at = %(now)s WHERE key = %(key)s AND at > %(now)s"
# The counter need not be on the disk before the turn goes on.
_SPEND = f"""INSERT INTO {{schema}}.spent AS s SELECT %(key)s, floor({_NOW} / {DAY})::bigint, 1, %(tokens)s
    WHERE set_config('synchronous_commit', 'off', true) <> ''
    ON CONFLICT (key, day) DO UPDATE SET turns = s.turns + 1, tokens = s.tokens + excluded.tokens"""
_SPENT = f"""SELECT turns, tokens FROM {{schema}}.spent WHERE key = %(key)s AND day = floor({_NOW} / {DAY})::bigint"""
_ADD = f"""INSERT INTO {{schema}}.keys (digest, {_COLUMNS}) VALUES (%(digest)s, %(id)s, %(name)s, %(tenant)s, %(user)s,
    %(admin)s, %(turns_per_minute)s, %(tokens_per_day)s, %(created)s, %(revoked)s)"""
_REVOKE = "UPDATE {schema}.keys SET revoked = %(now)s WHERE id = %(id)s AND revoked IS NULL"


class PostgresLedger:
    """Keys and counters in the store's database. A call is one statement; keys are cached for half a second.

    Turns and tokens are counted by the database's clock; with `own_clock`, by the times passed in.
    """

    is_near = False

    def __init__(self, database: PostgresDatabase, *, own_clock: bool = False) -> None:
        self._database = database
        self._own_clock = own_clock
        self._known: dict[str, tuple[float, tuple[Key, bytes] | None]] = {}
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"PostgresLedger({self._database!r})"

    def add(self, key: Key, digest: bytes) -> None:
        fields = {name: getattr(key, name) for name in Key.__slots__}
        self._run(_ADD, {**fields, "digest": digest})

    def find(self, id: str) -> tuple[Key, bytes] | None:
        """A key and its digest, revoked or not, at most half a second old."""
        cached = self._known.get(id)
        if cached is not None and monotonic() - cached[0] < _FRESH_SECONDS:
            return cached[1]
        at = monotonic()
        rows = self._run(f"SELECT {_COLUMNS}, digest FROM {{schema}}.keys WHERE id = %(id)s", {"id": id})
        entry = (_key(rows[0][:-1]), bytes(rows[0][-1])) if rows else None
        with self._lock:
            if len(self._known) >= _MOST_KNOWN:  # callers can make up any number of unknown ids
                self._known.clear()
            self._known[id] = at, entry
        return entry

    def listed(self) -> Sequence[Key]:
        """All keys, oldest first."""
        return [_key(row) for row in self._run(f"SELECT {_COLUMNS} FROM {{schema}}.keys ORDER BY seq", {})]

    def revoke(self, id: str, now: float) -> bool:
        """Revoke a key on every server within a second; returns whether there was a valid one."""
        ((revoked,),) = self._run(_REVOKE, {"id": id, "now": now})
        self._known.pop(id, None)
        return bool(revoked)

    def admit(self, id: str, limits: Limits, now: float) -> None:
        """Count a starting turn, or raise LimitError."""
        turns, tokens = limits.turns_per_minute, limits.tokens_per_day
        if turns is None and tokens is None:
            return
        parameters = {"key": id, "turns": turns, "tokens": tokens, "now": self._now(now)}
        ((now, used, taken, level, at),) = self._run(_ADMIT, parameters)
        if tokens is not None and used >= tokens:
            raise too_many_tokens(tokens, now)
        if turns is None or taken:
            return
        filled = min(float(turns), (level or 0.0) + max(0.0, now - (at or now)) * turns / 60)
        if at is not None and at > now:  # the database's clock was set back: do not wait until it has caught up
            self._run(_SET_BACK, {"key": id, "now": now})
        raise too_many_turns(turns, max(0.0, 1 - filled) * 60 / max(1, turns))

    def spend(self, id: str, tokens: int, now: float) -> None:
        """Count the tokens of a finished turn."""
        self._run(_SPEND, {"key": id, "tokens": tokens, "now": self._now(now)})

    def spent(self, id: str, now: float) -> Spent:
        rows = self._run(_SPENT, {"key": id, "now": self._now(now)})
        return Spent(*map(int, rows[0])) if rows else Spent()

    def close(self) -> None:
        """Close the connections; a later call opens them again."""
        self._database.close()

    def _now(self, at: float) -> float | None:
        return at if self._own_clock else None

    def _run(self, sql: str, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
        return self._database.once(sql.format(schema=f'"{self._database.schema}"'), values)


def postgres_ledger(url: str, *, schema: str = "dragoman", wait_seconds: float = 5.0) -> PostgresLedger:
    """The ledger in the database at an address (`env:NAME`, or one without a password)."""
    from dragoman.stores.postgres.database import PostgresDatabase

    database = PostgresDatabase(
        url,
        schema=schema,
        connections=CONNECTIONS,
        wait_seconds=wait_seconds,
        busy_seconds=wait_seconds,
        statement_seconds=60.0,
    )
    return PostgresLedger(database)


def _key(row: Sequence[Any]) -> Key:
    return Key(*row)
