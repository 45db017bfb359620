"""Schema of the SQLite file as numbered migrations: each runs once, in order, in its own transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dragoman.core.errors import StoreCorruptError, StoreError
from dragoman.stores.sqlite.transaction import transaction

if TYPE_CHECKING:
    import apsw

APPLICATION = 0x44524147  # "DRAG": marks the file as Dragoman's

SCOPED_TABLES = ("passages", "vectors", "places", "turns", "kept")
"""Every table with rows of a scope, which `forget` empties; a migration that adds a table adds its name here."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One step from a version of the schema to the next."""

    name: str
    statements: str


MIGRATIONS: tuple[Migration, ...] = (
    Migration(
        "passages, vectors, dialogues and kept values",
        """
        CREATE TABLE clock (ticks INTEGER NOT NULL, store TEXT NOT NULL);
        INSERT INTO clock VALUES (0, hex(randomblob(8)));
        CREATE TABLE passages (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            tenant TEXT NOT NULL, user TEXT NOT NULL, source TEXT NOT NULL, id TEXT NOT NULL,
            text TEXT NOT NULL, title TEXT NOT NULL, headings TEXT NOT NULL, parent TEXT,
            position INTEGER NOT NULL, origin TEXT NOT NULL, meta TEXT NOT NULL,
            digest BLOB NOT NULL, tokens TEXT NOT NULL, length INTEGER NOT NULL,
            superseded_by TEXT, changed INTEGER NOT NULL
        );
        CREATE UNIQUE INDEX passages_by_id ON passages (tenant, user, id);
        CREATE INDEX passages_by_source ON passages (tenant, user, source, seq);
        CREATE INDEX passages_by_change ON passages (tenant, user, source, changed);
        CREATE TABLE vectors (
            tenant TEXT NOT NULL, user TEXT NOT NULL, source TEXT NOT NULL, seq INTEGER NOT NULL,
            id TEXT NOT NULL, parent TEXT, superseded INTEGER NOT NULL, vector BLOB NOT NULL,
            PRIMARY KEY (tenant, user, source, seq)
        ) WITHOUT ROWID;
        CREATE TABLE places (
            tenant TEXT NOT NULL, user TEXT NOT NULL, source TEXT NOT NULL,
            counter INTEGER NOT NULL, live INTEGER NOT NULL, length INTEGER NOT NULL,
            PRIMARY KEY (tenant, user, source)
        ) WITHOUT ROWID;
        CREATE TABLE turns (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            tenant TEXT NOT NULL, user TEXT NOT NULL, dialogue TEXT NOT NULL,
            speaker TEXT NOT NULL, text TEXT NOT NULL, trace TEXT
        );
        CREATE INDEX turns_by_dialogue ON turns (tenant, user, dialogue, seq);
        CREATE TABLE kept (
            tenant TEXT NOT NULL, user TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
            PRIMARY KEY (tenant, user, key)
        ) WITHOUT ROWID;
        """,
    ),
    Migration(
        "find the rows of a file, or under a parent, without reading the whole source",
        """
        CREATE INDEX passages_by_origin ON passages (tenant, user, source, origin);
        CREATE INDEX passages_by_parent ON passages (tenant, user, source, parent) WHERE parent IS NOT NULL;
        """,
    ),
    Migration(
        "the id of the request that a reply answers, so that one that is repeated is answered once",
        """
        ALTER TABLE turns ADD COLUMN request TEXT;
        CREATE UNIQUE INDEX turns_by_request ON turns (tenant, user, request) WHERE request IS NOT NULL;
        """,
    ),
    Migration(
        "the erasures of each scope, so that a turn that began before one stores nothing after it",
        """
        CREATE TABLE erasures (scope BLOB PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
        """,
    ),
    Migration(
        "when a turn was said",
        """
        ALTER TABLE turns ADD COLUMN said_at TEXT;
        """,
    ),
    Migration(
        "which encoder the vectors of a source are from, and how far a change of it has come",
        """
        ALTER TABLE places ADD COLUMN encoder TEXT NOT NULL DEFAULT '';
        ALTER TABLE places ADD COLUMN encoding TEXT NOT NULL DEFAULT '';
        """,
    ),
    Migration(
        "search by time: when a fact was said, or the day of a document",
        """
        ALTER TABLE passages ADD COLUMN moment TEXT GENERATED ALWAYS AS (
            coalesce(nullif(json_extract(meta, '$.said_at'), ''), json_extract(meta, '$.date'), '')) VIRTUAL;
        CREATE INDEX passages_by_moment ON passages (tenant, user, source, moment) WHERE moment <> '';
        """,
    ),
)


def migrate(connection: apsw.Connection, path: str, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Migrate a database to the newest version; refuse a newer one, and one that is not Dragoman's."""
    while (version := _version(connection, path, len(migrations))) < len(migrations):
        with transaction(connection):
            # Another process may have taken this step while we waited for the lock.
            if _version(connection, path, len(migrations)) == version:
                _step(connection, version + 1, migrations[version])


def _step(connection: apsw.Connection, number: int, migration: Migration) -> None:
    connection.execute(
        "CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, at TEXT NOT NULL)"
    )
    connection.execute(migration.statements)
    connection.execute("INSERT INTO migrations VALUES (?, ?, datetime('now'))", (number, migration.name))
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {number}")


_STATE = """SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema)
    FROM pragma_user_version, pragma_application_id"""


def _version(connection: apsw.Connection, path: str, newest: int) -> int:
    # In one statement, hence one snapshot: another process may be creating the tables.
    [(version, application, tables)] = connection.execute(_STATE)
    if application != APPLICATION and (application or version or tables):
        raise StoreCorruptError(
            f"'{path}' is an SQLite database, but not a store of Dragoman.",
            remedy="Give another path, or move the file away.",
            path=path,
        )
    if version > newest:
        raise StoreError(
            f"'{path}' was written by a newer Dragoman (schema {version}; this one knows {newest}).",
            remedy="Upgrade Dragoman, or give another path.",
            path=path,
        )
    return int(version)
