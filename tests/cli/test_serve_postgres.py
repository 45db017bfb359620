"""`dragoman serve` and `dragoman keys` where the agent's store is on a PostgreSQL server."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from urllib.parse import quote

import pytest
from typer.testing import CliRunner

from dragoman.cli.app import app
from dragoman.core.errors import AccessError, ConfigError, InputError, StoreError
from dragoman.server.access.postgres_ledger import postgres_ledger

from ..server.conftest import database  # noqa: F401 - a fixture: a real PostgreSQL server
from ..stores.conftest import Server

pytestmark = [pytest.mark.slow, pytest.mark.trust]
AGENT = """
[models.language]
kind = "model.scripted.v1"
default = "I would not know."
[models.encoder]
kind = "encoder.hashing.v1"
[gate]
kind = "gate.never.v1"
[store]
kind = "postgres"
url = "env:SERVE_STORE"
"""


def run(*arguments):
    return CliRunner().invoke(app, list(arguments), prog_name="dragoman")


@pytest.fixture
def folder(tmp_path, database, monkeypatch):  # noqa: F811 - the fixture
    place = tmp_path / "robin"
    place.mkdir()
    (place / "agent.toml").write_text(AGENT, encoding="utf-8")
    monkeypatch.setenv("SERVE_STORE", database.url())
    database.run("DELETE FROM dragoman.keys")
    return place


def made(schema):
    """Makes the tables."""
    ledger = postgres_ledger("env:SERVE_STORE", schema=schema)
    ledger.listed()
    ledger.close()


def test_keys_lie_in_the_database_of_the_store(folder, database, own_home, monkeypatch):  # noqa: F811
    made = run("keys", "create", "the shop", "--agent", str(folder))
    assert made.exit_code == 0 and made.stdout.startswith("dk_")
    (row,) = json.loads(run("keys", "list", "--json", "--keys", "env:SERVE_STORE").stdout)
    assert database.run("SELECT id, name FROM dragoman.keys") == [(row["id"], "the shop")]
    assert not (own_home / "server.db").exists()
    monkeypatch.chdir(folder)
    assert "the shop" in run("keys", "list").stdout
    assert run("keys", "revoke", row["id"]).exit_code == 0
    assert isinstance(run("keys", "revoke", row["id"]).exception, InputError)
    done = run("serve", str(folder), "--port", "0")
    assert isinstance(done.exception, AccessError) and "revoked" in str(done.exception)


def test_keys_in_the_file_of_old_are_not_passed_over_in_silence(folder, tmp_path):
    """A store that moved to a server would otherwise be open to whoever sits at the machine."""
    place = str(tmp_path / "old.db")
    assert run("keys", "create", "old", "--keys", place).exit_code == 0
    assert run("keys", "create", "old").exit_code == 0  # no agent here: the file in the home
    done = run("serve", str(folder), "--port", "0")
    assert isinstance(done.exception, AccessError) and "--keys" in done.exception.remedy
    assert "keys create" in done.exception.remedy


def test_a_key_in_the_database_lets_a_server_listen_for_others(folder, monkeypatch):
    from dragoman.server.http import uvicorn_server

    def bind(*_):
        raise ConfigError("It would listen now.")

    monkeypatch.setattr(uvicorn_server, "bind", bind)
    assert isinstance(run("serve", str(folder), "--host", "0.0.0.0", "--port", "0").exception, AccessError)
    run("keys", "create", "the shop", "--agent", str(folder))
    assert "listen now" in str(run("serve", str(folder), "--host", "0.0.0.0", "--port", "0").exception)


def test_a_database_that_takes_no_writes_is_said_before_anything_is_served(folder, database, monkeypatch):  # noqa: F811
    monkeypatch.setenv("SERVE_STORE", f"{database.url()}&options={quote('-c default_transaction_read_only=on')}")
    done = run("serve", str(folder), "--port", "0")
    assert isinstance(done.exception, StoreError) and "read-only" in str(done.exception)
    assert "primary" in done.exception.remedy


def test_a_read_replica_given_as_the_primary_is_said_before_anything_is_served(folder, monkeypatch):
    server = Server(Path(tempfile.mkdtemp(prefix="dragoman-pg-")))
    try:
        monkeypatch.setenv("SERVE_STORE", server.url())
        made("dragoman")
        server.restart_as_replica()
        done = run("serve", str(folder), "--port", "0")
        assert isinstance(done.exception, StoreError) and "read replica" in str(done.exception)
        assert "primary" in done.exception.remedy
    finally:
        server.stop()


def test_a_schema_of_another_kind_or_of_a_newer_version_is_refused(folder, database):  # noqa: F811
    database.run("DROP SCHEMA IF EXISTS strange CASCADE; CREATE SCHEMA strange; CREATE TABLE strange.keys (a int)")
    for schema, words in (("strange", "not a store of Dragoman"), ("newer", "newer Dragoman")):
        if schema == "newer":
            made(schema)
            database.run("INSERT INTO newer.migrations VALUES (99, 'from the future', now())")
        done = run("serve", str(folder), "--port", "0", "--set", f"store.schema={schema}")
        assert isinstance(done.exception, StoreError) and words in str(done.exception) and done.exception.remedy


def test_a_server_that_is_not_there_is_said_with_no_password(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("SERVE_STORE", f"postgresql://ana:hunter2@/d?host={tmp_path}")
    done = run("serve", str(folder), "--port", "0")
    assert isinstance(done.exception, StoreError) and done.exception.remedy and "hunter2" not in str(done.exception)
