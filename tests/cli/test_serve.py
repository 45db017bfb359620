"""`dragoman serve` and `dragoman keys` as commands."""

from __future__ import annotations

import json
import os
import re
import signal
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
            assert httpx.post(f"{address}/v1/chat/completions", json=body, timeout=20).status_code == 200
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
            assert "Stopped" in process.stderr.read()
        finally:
            process.kill()
