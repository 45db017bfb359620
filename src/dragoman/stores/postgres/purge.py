"""Remove deleted bytes from a PostgreSQL server's files: rewrite tables and indexes, renew statistics and log."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dragoman.stores.purging import Purged

if TYPE_CHECKING:
    from dragoman.stores.postgres.schema import Connection

_TABLES = """SELECT c.oid, c.oid::regclass::text, pg_total_relation_size(c.oid) FROM pg_class AS c
    JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relkind = 'r' ORDER BY c.relname"""
_STATISTICS = """DELETE FROM pg_statistic WHERE starelid IN (SELECT c.oid FROM pg_class AS c
    JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = %s)"""
_SEGMENT = "right(pg_walfile_name(pg_current_wal_lsn()), 16)"
_WAL = "SELECT name FROM pg_ls_waldir() WHERE length(name) = 24 AND right(name, 16) {} ORDER BY name"
_STRAYS = """WITH folder AS (SELECT 'base/' || oid || '/' AS path FROM pg_database WHERE datname = current_database()),
    since AS (SELECT min(xact_start) AS start FROM pg_stat_activity)
    SELECT path || name FROM folder, since, pg_ls_dir(path) AS name, pg_stat_file(path || name, true) AS stat
    WHERE name ~ '^[0-9]+(_[a-z]+)?([.][0-9]+)?$' AND stat.size > 0 AND stat.modification < since.start
    AND pg_filenode_relation(0, substring(name FROM '^[0-9]+')::oid) IS NULL ORDER BY name"""
"""Files of no table, which no transaction that runs now can have written."""
_SETTLE_SECONDS = 0.5
_MOST_SEGMENTS = 1024


def purge(connection: Connection, schema: str) -> Purged:
    """Rewrite all tables of a schema and recycle the log; each table is locked while it is rewritten.

    VACUUM alone would only mark the space as free. `left` names what this user may not purge.
    """
    connection.execute("SET statement_timeout TO 0")
    tables = connection.execute(_TABLES, (schema,)).fetchall()
    remains = [*_drop_statistics(connection, schema)]
    for _, name, size in tables:
        if size:
            connection.execute(f"VACUUM (FULL, ANALYZE) {name}")
    if not remains:
        connection.execute("VACUUM (FULL) pg_catalog.pg_statistic")
    remains += _renew_log(connection)
    remains += _strays(connection)
    return Purged(sum(1 for _, _, size in tables if size), tuple(remains))


def _drop_statistics(connection: Connection, schema: str) -> list[str]:
    """Delete the planner's column samples, which may hold deleted rows, also of tables that are empty now."""
    import psycopg

    try:
        connection.execute(_STATISTICS, (schema,))
    except psycopg.errors.InsufficientPrivilege:
        return ["samples of columns in pg_statistic, until the next ANALYZE of a table that has rows"]
    return []


def _renew_log(connection: Connection) -> list[str]:
    """Overwrite or remove every segment of the log, unless a replication slot or archive holds it."""
    import psycopg

    try:
        connection.execute("ALTER SYSTEM SET wal_recycle = off")  # recycled segments keep what they held
    except psycopg.errors.InsufficientPrivilege:
        return ["the write-ahead log, until the server has recycled it (needs a superuser)"]
    try:
        _reload(connection)
        present = [str(name) for (name,) in connection.execute(_WAL.format("IS NOT NULL")).fetchall()]
        newest = max((name[8:] for name in present), default="")
        for _ in range(_MOST_SEGMENTS):  # a segment that is left early is filled with zeros
            connection.execute("SELECT pg_logical_emit_message(false, 'dragoman', 'purge')")
            connection.execute("SELECT pg_switch_wal()")
            if connection.execute(f"SELECT {_SEGMENT} > %s", (newest,)).fetchone() == (True,):
                break
        connection.execute("CHECKPOINT")
        connection.execute("SELECT pg_logical_emit_message(false, 'dragoman', 'purged')")
        connection.execute("CHECKPOINT")
        segments = connection.execute(_WAL.format(f"< {_SEGMENT}")).fetchall()
    finally:
        connection.execute("ALTER SYSTEM RESET wal_recycle")
        _reload(connection)
    old = [str(name) for (name,) in segments if str(name) in present]
    return (
        [f"{len(old)} segments of the write-ahead log that a replica, a slot or the archive still needs"] if old else []
    )


def _strays(connection: Connection) -> list[str]:
    """Files that a crash of the server left: a table that was being rewritten, which PostgreSQL never removes."""
    import psycopg

    try:
        strays = [str(name) for (name,) in connection.execute(_STRAYS).fetchall()]
    except psycopg.errors.InsufficientPrivilege:
        return ["files that a crash of the server may have left (needs a superuser to see them)"]
    names = ", ".join(strays)
    return [f"files that a crash of the server left; stop it and delete them in its folder: {names}"] if strays else []


def _reload(connection: Connection) -> None:
    connection.execute("SELECT pg_reload_conf()")
    time.sleep(_SETTLE_SECONDS)  # the checkpointer looks when it is told to, not at once
