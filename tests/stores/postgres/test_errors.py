"""What can be wrong with a server is said in a way that names the remedy, and never with the password."""

from __future__ import annotations

import logging
import os
import signal
import tempfile
import threading
import time
import traceback
from pathlib import Path

import pytest

from dragoman.core.errors import ConfigError, InputError, StoreCorruptError, StoreError, StoreLockedError
from dragoman.core.values import Passage, Scope
from dragoman.stores.locate import opened
from dragoman.stores.postgres import schema as postgres_schema
from dragoman.stores.postgres.address import PostgresAddress
from dragoman.stores.postgres.database import PostgresDatabase
from dragoman.stores.sqlite.migrations import Migration
from dragoman.testing.stores import ALL, ANA, FERRY, VECTORS

from ..conftest import Server

pytestmark = [pytest.mark.slow, pytest.mark.trust]
SECRET = "hunter2-correct-horse"


@pytest.fixture
def database(schema):
    """Makes databases of any version in schemas of their own."""
    made = []

    def make(name, steps=None, url=None):
        options = {"connections": 2, "wait_seconds": 1, "busy_seconds": 1, "statement_seconds": 5}
        made.append(PostgresDatabase(url or schema.url(), schema=name, steps=steps, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()
        schema.run(f"DROP SCHEMA IF EXISTS {each.schema} CASCADE")


@pytest.fixture(scope="module")
def guarded(schema):
    """The server with a user who needs a password."""
    rules = Path(schema.host) / "pg_hba.conf"
    rules.write_text(f"local all guarded scram-sha-256\n{rules.read_text()}")
    schema.run(f"CREATE ROLE guarded SUPERUSER LOGIN PASSWORD '{SECRET}'")
    schema.run("SELECT pg_reload_conf()")
    time.sleep(0.2)
    return schema


def test_a_server_that_is_not_there(make_store, tmp_path):
    with pytest.raises(StoreError, match="No server answers at postgresql://ana@") as raised:
        make_store(url=f"postgresql://ana:{SECRET}@/d?host={tmp_path}").open()
    assert "Check that it runs" in raised.value.remedy


def test_an_unknown_database(make_store, schema):
    with pytest.raises(StoreError, match=r"knows no such database"):
        make_store(url=schema.url(database="nowhere")).open()


def test_a_wrong_password(make_store, guarded):
    with pytest.raises(StoreError, match="refused the password") as raised:
        make_store(url=guarded.url(user="guarded", password=f"{SECRET}x")).open()
    shown = "".join(traceback.format_exception(raised.value))
    assert SECRET not in shown


def test_the_password_is_nowhere_to_be_seen(make_store, guarded, caplog, monkeypatch):
    monkeypatch.setenv("PLACE", guarded.url(user="guarded", password=SECRET))
    caplog.set_level(logging.DEBUG)
    store = make_store(url="env:PLACE", connections=1, wait_seconds=0.2)
    store.put(ANA, ALL, VECTORS)
    seen = [repr(store), repr(store._database), str(store.verify()), repr(PostgresAddress.of("env:PLACE"))]
    with store._database.reading(ANA), pytest.raises(StoreError) as raised:
        store.get(ANA, ["ferry"])
    seen += ["".join(traceback.format_exception(raised.value)), caplog.text]
    assert not [text for text in seen if SECRET in text]


@pytest.mark.parametrize("url", [f"postgres//ana:{SECRET}@host/d", f"postgresql://ana:{SECRET}%zz@host/d"])
def test_an_address_that_cannot_be_read_is_not_repeated(make_store, url):
    with pytest.raises(ConfigError, match="cannot be read") as raised:
        make_store(url=url).open()
    assert SECRET not in "".join(traceback.format_exception(raised.value))


def test_an_environment_variable_that_is_not_set(make_store):
    with pytest.raises(ConfigError, match=r"'NO_SUCH_PLACE'.*is not set"):
        make_store(url="env:NO_SUCH_PLACE").open()


def test_a_pool_that_is_used_up(make_store):
    store = make_store(connections=1, wait_seconds=0.2)
    store.put(ANA, [FERRY])
    with store._database.reading(ANA), pytest.raises(StoreError, match="All 1 connections") as raised:
        store.get(ANA, ["ferry"])
    assert "store.connections" in raised.value.remedy
    assert store.get(ANA, ["ferry"]) == [FERRY]


def test_a_scope_that_another_process_holds(make_store):
    holder, other = make_store(), make_store(busy_seconds=0.2)
    with holder._database.writing(ANA), pytest.raises(StoreLockedError, match=r"for more than 0\.2 s"):
        other.put(ANA, [FERRY])
    other.put(Scope("acme", "ben"), [FERRY])


def test_a_statement_that_takes_too_long(make_store):
    store = make_store(statement_seconds=0.2)
    with pytest.raises(StoreError, match=r"stopped after 0\.2 s"), store._database._transaction(ANA) as connection:
        connection.execute("SELECT pg_sleep(5)")


def test_a_server_that_takes_no_writes(make_store, schema):
    store = make_store(url=f"{schema.url()}&options=-c%20default_transaction_read_only%3Don")
    with pytest.raises(StoreError, match="read replica, or is set to read-only") as raised:
        store.put(ANA, [FERRY])
    assert "primary" in raised.value.remedy


def test_a_replica(make_store):
    folder = Path(tempfile.mkdtemp(prefix="dragoman-pg-"))
    server = Server(folder)
    server.restart_as_replica()
    try:
        with pytest.raises(StoreError, match=r"is a read replica"):
            make_store(url=server.url()).open()
    finally:
        server.stop()


def test_a_server_that_goes_away_in_the_middle(make_store):
    folder = Path(tempfile.mkdtemp(prefix="dragoman-pg-"))
    server = Server(folder)
    try:
        store = make_store(url=server.url(), connections=2, wait_seconds=1)
        store.put(ANA, [FERRY])
        with pytest.raises(StoreError, match="broke"), store._database.writing(ANA) as rows:
            os.kill(server.pid, signal.SIGQUIT)
            time.sleep(0.5)
            rows.tick()
        with pytest.raises(StoreError, match=r"No server answers|broke|starting or stopping"):
            store.put(ANA, ALL)
        server.restart()
        assert store.put(ANA, ALL) == 2, "what was acknowledged is there, and the pool has mended itself"
        assert store.get(ANA, ["ferry"]) == [FERRY]
        store.close()
    finally:
        server.stop()


def test_a_connection_that_breaks_in_the_commit_leaves_a_doubt_and_says_so(make_store, schema):
    store = make_store()
    store.open()
    with pytest.raises(StoreError, match="may have been kept or not"), store._database.writing(ANA) as rows:
        connection = rows._connection
        schema.run(f"SELECT pg_terminate_backend({connection.info.backend_pid})")
        time.sleep(0.1)
    assert store.put(ANA, [FERRY]) == 1


def test_a_forked_child_has_connections_of_its_own(make_store):
    store = make_store()
    store.put(ANA, [FERRY])
    child = os.fork()
    if child == 0:
        os._exit(0 if store.get(ANA, ["ferry"]) == [FERRY] else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert store.get(ANA, ["ferry"]) == [FERRY]


def test_looking_at_an_empty_database_makes_nothing_there(make_store, schema):
    with pytest.raises(InputError, match="There is no store at"), opened(schema.url(), schema="unmade", present=True):
        pass
    assert schema.run("SELECT count(*) FROM pg_namespace WHERE nspname = 'unmade'") == [(0,)]


def test_a_schema_of_a_newer_version_is_refused(database, schema):
    database("newer").opened()
    schema.run("INSERT INTO newer.migrations VALUES (99, 'from the future', now())")
    other = database("newer")
    with pytest.raises(StoreError, match=r"newer Dragoman \(schema 99"):
        other.opened()


def test_rows_of_an_older_version_are_kept(database, schema, tmp_path):
    steps = postgres_schema.migrations()
    old = database("older", steps[:1])
    with old.writing(ANA) as rows:
        rows.rows(
            "INSERT INTO kept (tenant, user, key, value) VALUES (:tenant, :user, :key, :value)", key="k", value="v"
        )
    new = database("older")
    with new.reading(ANA) as rows:
        assert rows.rows("SELECT value FROM kept WHERE tenant = :tenant AND user = :user") == [("v",)]
    numbers = schema.run("SELECT number, name FROM older.migrations ORDER BY number")
    assert numbers == [(i, step.name) for i, step in enumerate(steps, start=1)]


def test_a_step_that_fails_leaves_nothing_behind(database, schema):
    steps = postgres_schema.migrations()
    broken = Migration("half", "CREATE TABLE half (a int); SELECT no_such_function();")
    with pytest.raises(StoreError, match="no_such_function"):
        database("halfway", (*steps, broken)).opened()
    assert schema.run("SELECT to_regclass('halfway.half') IS NULL, max(number) FROM halfway.migrations") == [
        (True, len(steps))
    ]


def test_many_processes_may_open_a_new_store_at_once(database, schema):
    failed = []

    def begin(each):
        try:
            each.opened()
        except StoreError as error:
            failed.append(error)

    threads = [threading.Thread(target=begin, args=(database("fresh"),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert schema.run("SELECT count(*) FROM fresh.migrations") == [(len(postgres_schema.migrations()),)]


def test_somebody_elses_schema_is_let_alone(database, schema):
    schema.run("CREATE SCHEMA theirs")
    schema.run("CREATE TABLE theirs.accounts (a int)")
    with pytest.raises(StoreCorruptError, match="not a store of Dragoman"):
        database("theirs").opened()
    with pytest.raises(ConfigError, match="cannot be the store's schema"):
        database('x"; DROP SCHEMA dragoman; --')


def test_a_server_without_pgvector(database, monkeypatch):
    monkeypatch.setattr(postgres_schema, "EXTENSION", "not_installed_here")
    with pytest.raises(StoreError, match="has no pgvector") as raised:
        database("bare").opened()
    assert "Install it" in raised.value.remedy


def test_a_user_who_may_not_switch_pgvector_on(schema, database):
    schema.run("CREATE ROLE lowly LOGIN")
    schema.run("CREATE DATABASE plain_database")
    schema.run("GRANT CREATE ON DATABASE plain_database TO lowly", database="plain_database")
    schema.run("REVOKE CREATE ON SCHEMA public FROM PUBLIC", database="plain_database")
    with pytest.raises(StoreError, match=r"may not switch pgvector on|may not do this"):
        database("denied", url=schema.url(user="lowly", database="plain_database")).opened()


def test_a_missing_driver_names_the_extra(monkeypatch):
    import sys

    from dragoman.core.errors import MissingExtraError

    monkeypatch.setitem(sys.modules, "psycopg_pool", None)
    with pytest.raises(MissingExtraError, match=r"dragoman\[postgres\]"):
        PostgresAddress.of("postgresql://host/d")


def test_text_that_utf8_cannot_hold_is_refused(make_store):
    with pytest.raises(InputError):
        make_store().get(ANA, ["\ud800"])
    with pytest.raises(InputError):
        make_store().put(ANA, [Passage("a", "NOTES", "\ud800")])
