"""`dragoman serve` and `dragoman keys` as commands."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from dragoman.cli.app import app
from dragoman.core.errors import AccessError, ConfigError, InputError

AGENT = """
[models.language]
kind = "model.scripted.v1"
default = "I would not know."
[models.encoder]
kind = "encoder.hashing.v1"
[gate]
kind = "gate.never.v1"
"""


def run(*arguments):
    return CliRunner().invoke(app, list(arguments), prog_name="dragoman")


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "robin"
    place.mkdir()
    (place / "agent.toml").write_text(AGENT, encoding="utf-8")
    return place


def test_a_key_is_made_shown_once_listed_and_revoked(own_home):
    made = run("keys", "create", "the shop", "--tenant", "t", "--user", "ana", "--turns-per-minute", "5")
    assert made.exit_code == 0
    text = made.stdout.strip()
    (row,) = json.loads(run("keys", "list", "--json").stdout)
    assert (row["name"], row["tenant"], row["user"], row["turns_per_minute"]) == ("the shop", "t", "ana", 5)
    listed = run("keys", "list").stdout
    assert row["id"] in listed and text not in listed and text.split("_", 2)[2] not in listed
    assert run("keys", "revoke", row["id"]).exit_code == 0
    assert "revoked" in run("keys", "list").stdout
    assert isinstance(run("keys", "revoke", row["id"]).exception, InputError)
    assert (own_home / "server.db").is_file()


def test_no_keys_are_said_to_be_none():
    assert "There are no keys" in run("keys", "list").stdout


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::"])
def test_without_keys_no_other_address_is_served(folder, host):
    done = run("serve", str(folder), "--host", host, "--port", "0")
    assert isinstance(done.exception, AccessError) and "dragoman keys create" in str(done.exception)


def test_revoked_keys_are_no_keys(folder):
    run("keys", "create", "old")
    (row,) = json.loads(run("keys", "list", "--json").stdout)
    run("keys", "revoke", row["id"])
    assert isinstance(run("serve", str(folder), "--host", "0.0.0.0", "--port", "0").exception, AccessError)


@pytest.mark.parametrize("more", [[], ["--host", "0.0.0.0"]])
def test_a_server_whose_keys_are_all_revoked_does_not_start_open(folder, more):
    """Whoever revokes the last key wants fewer to get in, not everybody on this machine."""
    run("keys", "create", "old")
    (row,) = json.loads(run("keys", "list", "--json").stdout)
    assert "last valid one" in run("keys", "revoke", row["id"]).stderr
    done = run("serve", str(folder), "--port", "0", *more)
    assert isinstance(done.exception, AccessError) and "revoked" in str(done.exception)
    assert "--without-keys" in str(done.exception)


def test_without_keys_is_for_this_machine_alone(folder):
    run("keys", "create", "mine")
    done = run("serve", str(folder), "--without-keys", "--host", "0.0.0.0", "--port", "0")
    assert isinstance(done.exception, AccessError) and "no key is asked for" in str(done.exception)


def served_with(monkeypatch, *arguments):
    """The house and the door that a command would serve."""
    from dragoman.server import page
    from dragoman.server.http import app as server_app
    from dragoman.server.http import uvicorn_server

    seen = {}
    monkeypatch.setattr(page, "add_page", lambda _: None)
    monkeypatch.setattr(page, "preload", lambda: None)
    monkeypatch.setattr(uvicorn_server, "bind", lambda *_: socket.socket(socket.AF_UNIX))
    monkeypatch.setattr(uvicorn_server, "serve", lambda door, *_, **__: seen.update(door=door))
    made = server_app.with_request_limits
    monkeypatch.setattr(
        server_app,
        "with_request_limits",
        lambda app, service, **more: seen.update(service=service) or made(app, service, **more),
    )
    done = run("serve", *arguments, "--port", "0")
    assert done.exit_code == 0, done.exception
    return seen["service"], seen["door"]


def test_said_so_a_server_whose_keys_are_all_revoked_is_open_on_this_machine(folder, monkeypatch):
    run("keys", "create", "old")
    (row,) = json.loads(run("keys", "list", "--json").stdout)
    run("keys", "revoke", row["id"])
    service, _ = served_with(monkeypatch, str(folder), "--without-keys")
    assert service.ledger is None


def test_quotas_and_origins_are_what_was_said(folder, monkeypatch):
    from dragoman.server.access.quota import Quota
    from dragoman.server.http.cors import Origins

    service, door = served_with(monkeypatch, str(folder))
    assert service.settings.quota == Quota() and not isinstance(door, Origins)
    said = (
        "--tenant-megabytes 7 --tenant-files 8 --tenant-passages 9 --user-megabytes 1 --user-files 2 --user-passages 3"
    )
    more = ["--user-facts", "0", "--user-chat-megabytes", "4"]
    more += ["--allow-origin", "https://a.example", "--allow-origin", "https://b.example/"]
    service, door = served_with(monkeypatch, str(folder), *said.split(), *more)
    assert service.settings.quota == Quota(7 * 2**20, 8, 9, 2**20, 2, 3, None, 4 * 2**20)
    assert door._allowed == {b"https://a.example", b"https://b.example"}


def test_a_wrong_origin_is_said_before_anything_is_loaded(folder):
    assert isinstance(run("serve", str(folder), "--allow-origin", "*").exception, ConfigError)


def test_two_agents_of_one_name_are_refused(folder, tmp_path, monkeypatch):
    other = tmp_path / "more" / "robin"
    other.mkdir(parents=True)
    (other / "agent.toml").write_text(AGENT, encoding="utf-8")
    from dragoman.cli.serve import named

    with pytest.raises(ConfigError, match="Two agents are called 'robin'"):
        named([str(folder), str(other)])
    assert list(named([str(folder), "harbour"])) == ["robin", "harbour"]


@pytest.mark.integration
def test_the_command_says_where_it_listens_answers_and_leaves_in_good_order(folder, own_home):
    import httpx

    command = [sys.executable, "-m", "dragoman", "serve", str(folder), "--port", "0"]
    environment = {**os.environ, "DRAGOMAN_HOME": str(own_home)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            lines = [process.stderr.readline() for _ in range(3)]
            address = re.search(r"http://127\.0\.0\.1:\d+", lines[0])[0]
            assert "only this machine" in lines[1]
            deadline = time.monotonic() + 20
            while httpx.get(f"{address}/readyz").status_code != 200 and time.monotonic() < deadline:
                time.sleep(0.05)
            body = {"model": "robin", "messages": [{"role": "user", "content": "Hello"}]}
            assert httpx.post(f"{address}/v1/chat/completions", json=body, timeout=60).status_code == 200
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
            assert "Stopped" in process.stderr.read()
        finally:
            process.kill()
