"""HNSW graphs over shared vectors, one per partition, built without blocking writers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.stores.postgres.schema import Connection

_WAIT_SECONDS = 0.5
_STATES = """SELECT part.relname, part.relname || '_near_' || %(width)s::text, x.indisvalid FROM pg_inherits AS h
    JOIN pg_class AS part ON part.oid = h.inhrelid JOIN pg_class AS parent ON parent.oid = h.inhparent
    JOIN pg_namespace AS n ON n.oid = parent.relnamespace
    LEFT JOIN pg_class AS near
        ON near.relnamespace = n.oid AND near.relname = part.relname || '_near_' || %(width)s::text
    LEFT JOIN pg_index AS x ON x.indexrelid = near.oid
    WHERE n.nspname = %(schema)s AND parent.relname = 'vectors' AND x.indisvalid IS NOT TRUE ORDER BY part.relname"""
_TRY = "SELECT pg_try_advisory_lock(hashtext(%s), %s)"
_LEAVE = "SELECT pg_advisory_unlock(hashtext(%s), %s)"


def build(connection: Connection, *, schema: str, path: str, width: int, wait: bool) -> bool | None:
    """Build a graph on every partition; None if another process is building them and `wait` is not set.

    `path` is the schema of pgvector. An interrupted build leaves an invalid graph, which is rebuilt.
    """
    import psycopg

    values = {"schema": schema, "width": width}
    if not connection.execute(_STATES, values).fetchall():
        return True
    # Tried, not waited for: a session that waits in a statement is one that a concurrent build waits for itself.
    while connection.execute(_TRY, (schema, width)).fetchone() != (True,):
        if not wait:
            return None
        time.sleep(_WAIT_SECONDS)
    try:
        connection.execute(f"SET search_path TO {path}")
        connection.execute("SET statement_timeout TO 0")
        for partition, name, valid in connection.execute(_STATES, values).fetchall():
            if valid is False:
                connection.execute(f'DROP INDEX CONCURRENTLY IF EXISTS "{schema}".{name}')
            connection.execute(_create(schema, str(partition), str(name), width))
    except psycopg.errors.InsufficientPrivilege:
        return False  # not the owner: search stays exact, and slower
    finally:
        if not connection.closed:
            connection.execute(_LEAVE, (schema, width))
    return True


def _create(schema: str, partition: str, name: str, width: int) -> str:
    return f"""CREATE INDEX CONCURRENTLY {name} ON "{schema}".{partition}
        USING hnsw ((vector::vector({width})) vector_cosine_ops)
        WHERE "user" = '' AND superseded = 0 AND vector_dims(vector) = {width}"""
