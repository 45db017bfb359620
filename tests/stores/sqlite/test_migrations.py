"""Migrations: from nothing, from every earlier version, interrupted, and from the future."""

from __future__ import annotations

import apsw
import pytest

from dragoman.core.clock import use_clock
from dragoman.core.errors import StoreCorruptError, StoreError
from dragoman.core.values import Passage, Scope, Turn
from dragoman.stores import SqliteStore
from dragoman.stores.in_memory import words
from dragoman.stores.sqlite.database import Database
from dragoman.stores.sqlite.migrations import APPLICATION, MIGRATIONS, SCOPED_TABLES, Migration, migrate

ANA = Scope("acme", "ana")


def shape(connection):
    """Every table and index with its definition."""
    return sorted(connection.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall())


@pytest.mark.parametrize("version", range(len(MIGRATIONS) + 1))
def test_every_earlier_version_ends_in_the_same_shape(version):
    earlier, empty = apsw.Connection(":memory:"), apsw.Connection(":memory:")
    migrate(earlier, "earlier", MIGRATIONS[:version])
    migrate(earlier, "earlier")
    migrate(empty, "empty")
    assert shape(earlier) == shape(empty)
    assert earlier.pragma("user_version") == len(MIGRATIONS)
    assert earlier.pragma("application_id") == APPLICATION


def test_each_step_is_recorded_once():
    connection = apsw.Connection(":memory:")
    migrate(connection, "x", MIGRATIONS[:1])
    migrate(connection, "x")
    migrate(connection, "x")
    recorded = connection.execute("SELECT number, name FROM migrations ORDER BY number").fetchall()
    assert recorded == [(i, migration.name) for i, migration in enumerate(MIGRATIONS, start=1)]


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS)))
def test_rows_of_an_earlier_version_are_kept(tmp_path, version):
    path = tmp_path / "store.db"
    old = Database(path, busy_seconds=1, migrations=MIGRATIONS[:version])
    store = SqliteStore(path=path, analyse=words)
    store._engine = store._database = old
    store.put(ANA, [Passage("a", "NOTES", "kept", parent="p")])
    store.close()
    new = SqliteStore(path=path, analyse=words)
    assert [passage.text for passage in new.passages(ANA, "NOTES")] == ["kept"]
    new.close()


def test_turns_of_an_earlier_version_have_no_time(tmp_path):
    path = tmp_path / "store.db"
    old = Database(path, busy_seconds=1, migrations=MIGRATIONS[:4])
    old.connections()
    old.close()
    connection = apsw.Connection(str(path))
    connection.execute(
        "INSERT INTO turns (tenant, user, dialogue, speaker, text) VALUES ('acme', 'ana', 'd', 'user', 'hello')"
    )
    connection.close()
    store = SqliteStore(path=path, analyse=words)
    with use_clock("2026-05-03T12:00:00Z"):
        store.append(ANA, "d", [Turn("agent", "hi")])
    turns = store.dialogue(ANA, "d")
    assert [(turn.text, turn.said_at) for turn in turns] == [("hello", ""), ("hi", "2026-05-03T12:00:00Z")]
    store.close()


def test_a_step_that_fails_leaves_nothing_behind():
    connection = apsw.Connection(":memory:")
    migrate(connection, "x")
    before = shape(connection)
    broken = Migration("half", "CREATE TABLE half (a); INSERT INTO half VALUES (1); SELECT no_such_function();")
    with pytest.raises(apsw.SQLError):
        migrate(connection, "x", (*MIGRATIONS, broken))
    assert shape(connection) == before
    assert connection.pragma("user_version") == len(MIGRATIONS)
    assert not connection.in_transaction


def test_steps_before_a_failing_one_stay():
    connection = apsw.Connection(":memory:")
    extra = (Migration("one", "CREATE TABLE one (a);"), Migration("bad", "CREATE TABLE one (a);"))
    with pytest.raises(apsw.SQLError):
        migrate(connection, "x", (*MIGRATIONS, *extra))
    assert connection.pragma("user_version") == len(MIGRATIONS) + 1


def test_a_newer_store_is_refused(tmp_path):
    path = tmp_path / "store.db"
    newer = Database(path, busy_seconds=1, migrations=(*MIGRATIONS, Migration("later", "CREATE TABLE later (a);")))
    newer.connections()
    newer.close()
    store = SqliteStore(path=path, analyse=words)
    with pytest.raises(StoreError, match="newer Dragoman") as caught:
        store.open()
    assert "Upgrade" in caught.value.remedy


def test_somebody_elses_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "store.db"
    theirs = apsw.Connection(str(path))
    theirs.execute("CREATE TABLE recipes (name)")
    theirs.close()
    with pytest.raises(StoreCorruptError, match="not a store of Dragoman"):
        SqliteStore(path=path, analyse=words).open()
    again = apsw.Connection(str(path))
    assert [name for _, name, _ in shape(again)] == ["recipes"]
    again.close()


def test_every_table_with_a_tenant_is_known_to_the_scope_check():
    connection = apsw.Connection(":memory:")
    migrate(connection, "x")
    tables = [name for kind, name, _ in shape(connection) if kind == "table"]
    scoped = {
        name
        for name in tables
        if "tenant" in [column[0] for column in connection.execute("SELECT name FROM pragma_table_info(?)", (name,))]
    }
    assert scoped == set(SCOPED_TABLES)
