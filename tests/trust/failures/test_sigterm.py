"""SIGTERM in the middle of a turn: the turn is finished within its grace, or given up whole, and the server ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import httpx
import pytest

from ...agent_files import MEMORY

pytestmark = [pytest.mark.trust, pytest.mark.slow, pytest.mark.integration]

AGENT = (
    MEMORY
    + """
[models.language]
kind = "model.scripted.v1"
default = "Certainly."
seconds = {seconds}
[models.encoder]
kind = "encoder.hashing.v1"
[gate]
kind = "gate.never.v1"
[reader]
kind = "reader.prompted.v1"
[memory]
ask_model = false
"""
)
LONG = 600
"""Seconds that no test waits: of a turn that does not end, or of a grace that is not needed."""


@contextmanager
def serving(folder, home, *options):
    command = [sys.executable, "-m", "dragoman", "serve", str(folder), "--port", "0", *options]
    environment = {**os.environ, "DRAGOMAN_HOME": str(home)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            address = re.search(r"http://127\.0\.0\.1:\d+", process.stderr.readline())[0]
            threading.Thread(target=process.stderr.read, daemon=True).start()
            deadline = time.monotonic() + 300
            while httpx.get(f"{address}/readyz", timeout=30).status_code != 200 and time.monotonic() < deadline:
                time.sleep(0.05)
            yield process, address
        finally:
            process.kill()


def in_the_middle(tmp_path, *, seconds, grace):
    """Signal a server while a turn runs: the turn's answer or error, the exit status, and the seconds it took."""
    (tmp_path / "agent.toml").write_text(AGENT.format(seconds=seconds), encoding="utf-8")
    answers, begun = [], threading.Event()

    def ask(address):
        body, text = {"text": "My dog is called Bello.", "dialogue": "d"}, ""
        try:
            with httpx.stream("POST", f"{address}/v1/turns", json=body, timeout=300) as response:
                for piece in response.iter_text():
                    text += piece
                    begun.set()  # the gate has decided, and the model is asked
            answers.append((response.status_code, text))
        except httpx.HTTPError as error:
            answers.append((0, repr(error)))

    with serving(tmp_path, tmp_path / "home", "--grace", str(grace)) as (process, address):
        asking = threading.Thread(target=ask, args=(address,))
        asking.start()
        assert begun.wait(120)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        status = process.wait(LONG)
        took = time.monotonic() - began
        asking.join(60)
    return answers[0], status, took


def kept(tmp_path):
    """The turns of the dialogue as the next server finds them."""
    (tmp_path / "agent.toml").write_text(AGENT.format(seconds=0), encoding="utf-8")
    with serving(tmp_path, tmp_path / "home") as (_, address), httpx.Client(base_url=address, timeout=60) as client:
        found = client.get("/v1/dialogues/d")
        return found.json()["turns"] if found.status_code == 200 else []


def test_a_turn_that_ends_within_the_grace_is_answered_and_kept(tmp_path):
    (code, text), status, took = in_the_middle(tmp_path, seconds=4, grace=LONG)
    assert code == 200 and "Certainly." in text, text
    assert status == 0 and took < LONG / 2
    assert len(kept(tmp_path)) == 2


def test_a_turn_that_does_not_end_is_given_up_whole_and_the_server_ends_in_time(tmp_path):
    (code, text), status, took = in_the_middle(tmp_path, seconds=LONG, grace=1)
    assert code == 0 or '"closing"' in text, text
    assert status == 0 and took < LONG / 2
    assert kept(tmp_path) == [], "half a turn is not kept"
