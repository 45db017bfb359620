"""Many users like one that the product wrote: its rows, copied in the database under other names and keys.

A store of a million users is filled by the product at some hundred users a second, which is measured on some of them;
the others are there only to be in the way. Every column is taken from the product's row, but for the user's name, the
numbers that the sequences give out, and the clock's tick: what the product would have written for each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.core.values import Scope
from dragoman.stores import PostgresStore
from dragoman.stores.postgres.schema import TABLES

AT_ONCE = 10_000  # users of a transaction
_KEYS = {"passages": "passage_keys", "turns": "turn_keys"}
_COLUMNS = """SELECT quote_ident(column_name) FROM information_schema.columns
    WHERE table_schema = 'dragoman' AND table_name = %s AND is_generated = 'NEVER' ORDER BY ordinal_position"""
_TICK = "(SELECT last_value FROM ticks) + number - %(first)s + 1"  # one of its own for each user, as `rows.tick()`


def copy(store: PostgresStore, like: Scope, first: int, end: int) -> None:
    """Users `u<first>` up to `u<end>`, without the last, each with the rows of one; then vacuumed, as in time it is."""
    with store.engine.session() as connection:
        connection.execute("SET search_path TO dragoman, public")
        statements = [_statement(connection, table) for table in TABLES if _used(connection, table, like)]
        for at in range(first, end, AT_ONCE):
            given = {"tenant": like.tenant, "like": like.user, "first": at, "last": min(end, at + AT_ONCE) - 1}
            with connection.transaction():
                for sql in statements:
                    connection.execute(sql, given)
                connection.execute("SELECT setval('ticks', last_value + %s) FROM ticks", (given["last"] - at + 1,))
        connection.execute("VACUUM (ANALYZE)")
        connection.execute("CHECKPOINT")  # else the calls that are measured would wait for the filling's pages


def check(store: PostgresStore, like: Scope, others: Sequence[Scope]) -> None:
    """Refuse to measure anything where the store reads a copied user otherwise than one it wrote itself."""
    wanted = [record for record, _ in store.records(like)]
    rows = {table: _rows(store, table, like) for table in TABLES}
    for other in others:
        if [record for record, _ in store.records(other)] != wanted:
            raise SystemExit(f"{other.user} has other records than {like.user}.")
        for table, expected in rows.items():
            if _rows(store, table, other) != expected:
                raise SystemExit(f"{other.user} has other rows in {table} than {like.user}.")


def _used(connection: Any, table: str, like: Scope) -> bool:
    sql = f'SELECT EXISTS (SELECT FROM {table} WHERE tenant = %s AND "user" = %s)'
    return bool(connection.execute(sql, (like.tenant, like.user)).fetchone()[0])


def _statement(connection: Any, table: str) -> str:
    """All rows of one user in a table, again for each number, in the order in which the product would write them."""
    if table == "vectors":
        raise SystemExit("A vector's number is its passage's: users with vectors cannot be copied.")
    made = {'"user"': "'u' || number", "changed": _TICK, "counter": _TICK, "rewritten": _TICK}
    if table in _KEYS:
        made["seq"] = f"nextval('{_KEYS[table]}')"
    columns = [name for (name,) in connection.execute(_COLUMNS, (table,)).fetchall()]
    order = "number, seq" if table in _KEYS else "number"
    return f"""INSERT INTO {table} ({", ".join(columns)}) SELECT {", ".join(made.get(name, name) for name in columns)}
        FROM (SELECT * FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS number, {table}
        WHERE tenant = %(tenant)s AND "user" = %(like)s ORDER BY {order}) AS given"""


def _rows(store: PostgresStore, table: str, scope: Scope) -> list[Any]:
    """Every cell of a user's rows in a table but names, numbers and ticks; of those, whether they are the same tick."""
    told = "to_jsonb(given) - '{user,seq,changed,counter,rewritten}'::text[]"
    order = "ORDER BY seq" if table in _KEYS else ""
    tick = "counter = rewritten" if table == "places" else "true"
    with store.engine.session() as connection:
        sql = f'SELECT {told}, {tick} FROM dragoman.{table} AS given WHERE tenant = %s AND "user" = %s {order}'
        return list(connection.execute(sql, (scope.tenant, scope.user)).fetchall())
