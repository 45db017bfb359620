"""Schema of the PostgreSQL store: numbered migrations, one SQL file each, and the requirements on the server."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias

from dragoman.core.errors import ConfigError, StoreCorruptError, StoreError
from dragoman.stores.postgres.errors import replica
from dragoman.stores.sqlite.migrations import SCOPED_TABLES, Migration

if TYPE_CHECKING:
    import psycopg

    Connection: TypeAlias = psycopg.Connection[Any]
    Cursor: TypeAlias = psycopg.Cursor[Any]

TABLES = (*SCOPED_TABLES, "scopes")
SCOPED_ROLE = "dragoman_scoped"
"""The role that a transaction takes if row-level security does not apply to its own user."""
EXTENSION = "vector"
_OLDEST_EXTENSION = (0, 8)  # goes on searching where a filter leaves too few rows
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_LOCK = 0x44524147  # "DRAG"


@cache
def migrations() -> tuple[Migration, ...]:
    """Every step, in order; the first line of a file says what it is for."""
    folder = files("dragoman.stores.postgres") / "migrations"
    texts = [entry.read_text("utf-8") for entry in sorted(folder.iterdir(), key=lambda e: e.name)]
    return tuple(Migration(text.partition("\n")[0].removeprefix("-- "), text) for text in texts)


def check_name(schema: str) -> str:
    """The schema's name stands in statements, so it must be a plain one."""
    if not _NAME.fullmatch(schema):
        raise ConfigError(f"'{schema}' cannot be the store's schema.", remedy="Use lower-case letters, digits and _.")
    return schema


def prepare(connection: Connection, where: str, schema: str, steps: Sequence[Migration]) -> None:
    """Migrate the schema to the newest version; refuse a replica, a foreign or newer schema, and a missing pgvector."""
    _check_server(connection, where)
    while (version := _version(connection, where, schema, len(steps))) < len(steps):
        with connection.transaction():
            _run(connection, f"SELECT pg_advisory_xact_lock({_LOCK}, hashtext('{schema}'))")
            # Another process may have taken this step while we waited for the lock.
            if _version(connection, where, schema, len(steps)) == version:
                _step(connection, where, schema, version + 1, steps[version])


def scoped_role(connection: Connection, where: str, schema: str) -> str | None:
    """The role to take in each transaction; None if row-level security applies to the user itself."""
    import psycopg

    (above,) = _one(connection, "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user")
    if not above:
        return None
    try:
        with connection.transaction():
            _run(connection, f"SELECT pg_advisory_xact_lock({_LOCK}, 0)")
            if not _one(connection, f"SELECT count(*) FROM pg_roles WHERE rolname = '{SCOPED_ROLE}'")[0]:
                _run(connection, f"CREATE ROLE {SCOPED_ROLE} NOLOGIN NOSUPERUSER NOBYPASSRLS")
                _run(connection, f"GRANT {SCOPED_ROLE} TO CURRENT_USER")
            _run(connection, f'GRANT USAGE ON SCHEMA "{schema}" TO {SCOPED_ROLE}')
            _run(connection, f'GRANT USAGE ON ALL SEQUENCES IN SCHEMA "{schema}" TO {SCOPED_ROLE}')
            tables = ", ".join(f'"{schema}".{table}' for table in TABLES)
            _run(connection, f"GRANT SELECT, INSERT, UPDATE, DELETE ON {tables} TO {SCOPED_ROLE}")
            _run(connection, f'GRANT SELECT ON "{schema}".migrations, "{schema}".identity TO {SCOPED_ROLE}')
            if _one(connection, f"SELECT to_regclass('\"{schema}\".line') IS NOT NULL")[0]:
                _run(connection, f'GRANT SELECT, DELETE ON "{schema}".line TO {SCOPED_ROLE}')
            if _one(connection, f"SELECT to_regclass('\"{schema}\".erasures') IS NOT NULL")[0]:
                _run(connection, f'GRANT SELECT, INSERT, UPDATE ON "{schema}".erasures TO {SCOPED_ROLE}')
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreError(
            f"The user at {where} is above row-level security, and may not make or use the role '{SCOPED_ROLE}'.",
            remedy="Use an ordinary user (NOSUPERUSER, NOBYPASSRLS) that owns the schema.",
            where=where,
        ) from error
    return SCOPED_ROLE


def _check_server(connection: Connection, where: str) -> None:
    if _one(connection, "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean")[0]:
        raise replica(where)
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreError(
            f"The database at {where} is kept in {encoding}, which cannot hold every text.",
            remedy="Make one with `createdb --encoding=UTF8 --template=template0`.",
            where=where,
        )


def _step(connection: Connection, where: str, schema: str, number: int, migration: Migration) -> None:
    if number == 1:
        _run(connection, f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
    extension = ensure_extension(connection, where)
    _run(connection, f'SET LOCAL search_path TO "{schema}", "{extension}"')
    if number == 1:
        _run(
            connection,
            "CREATE TABLE migrations (number integer PRIMARY KEY, name text NOT NULL, at timestamptz NOT NULL)",
        )
    _run(connection, migration.statements)
    connection.execute("INSERT INTO migrations VALUES (%s, %s, now())", (number, migration.name))


def ensure_extension(connection: Connection, where: str) -> str:
    """The schema of the pgvector extension, which is created if needed."""
    import psycopg

    sql = """SELECT n.nspname, e.extversion FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
        WHERE e.extname = %s"""
    extension = connection.execute(sql, (EXTENSION,)).fetchone()
    if extension is None:
        try:
            with connection.transaction():
                _run(connection, f"CREATE EXTENSION {EXTENSION} SCHEMA public")
        except (psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedFile) as error:
            raise StoreError(
                f"The server at {where} has no pgvector, which keeps the vectors.",
                remedy="Install it there (Debian: postgresql-NN-pgvector) and try again.",
                where=where,
            ) from error
        except psycopg.errors.InsufficientPrivilege as error:
            raise StoreError(
                f"The user at {where} may not switch pgvector on in this database.",
                remedy="Let its owner or a superuser run CREATE EXTENSION vector there.",
                where=where,
            ) from error
        extension = connection.execute(sql, (EXTENSION,)).fetchone()
        assert extension is not None
    place, version = extension
    if tuple(int(part) for part in str(version).split(".")[:2]) < _OLDEST_EXTENSION:
        raise StoreError(
            f"The server at {where} has pgvector {version}; 0.8 or newer is needed.",
            remedy="Upgrade it there, then run ALTER EXTENSION vector UPDATE.",
            where=where,
        )
    return str(place)


def _version(connection: Connection, where: str, schema: str, newest: int) -> int:
    if not _one(connection, f"SELECT to_regclass('\"{schema}\".migrations') IS NOT NULL")[0]:
        (tables,) = _one(connection, f"SELECT count(*) FROM pg_tables WHERE schemaname = '{schema}'")
        if tables:
            raise StoreCorruptError(
                f"The schema '{schema}' at {where} holds {tables} tables, but not a store of Dragoman.",
                remedy="Set `store.schema` to another name.",
                where=where,
            )
        return 0
    version = int(_one(connection, f'SELECT coalesce(max(number), 0) FROM "{schema}".migrations')[0])
    if version > newest:
        raise StoreError(
            f"The schema '{schema}' at {where} was written by a newer Dragoman (schema {version}; this one knows "
            f"{newest}).",
            remedy="Upgrade Dragoman, or set `store.schema` to another name.",
            where=where,
        )
    return version


def _run(connection: Connection, sql: str) -> None:
    # Only names that were checked, and our own files, are in these texts.
    connection.execute(sql)


def _one(connection: Connection, sql: str) -> tuple[Any, ...]:
    cells = connection.execute(sql).fetchone()
    assert cells is not None
    return tuple(cells)
