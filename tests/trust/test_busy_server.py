"""A server stays reachable, and stops when told to, while one key posts the texts that are worst to parse."""

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

from dragoman.server import service
from dragoman.server.access.keys import create
from dragoman.server.access.sqlite_ledger import SqliteLedger
from dragoman.server.turns import forget_requests

pytestmark = [pytest.mark.trust, pytest.mark.slow, pytest.mark.integration]

WORST = [
    "嗯" * 26 + "吗",
    "哈" * 40 + "x",
    "ha" * 30 + " what is this",
    "thanks" + " for a a" * 17 + " x",
    "goodbye " + "for youra " * 13 + "☃",
    "ha" * 190 + "☃",
    "我" + "刚" * 390,
    "i live in " + " " * 30_000 + "?",
    "i like " * 4_500 + "?",
    "the dog. it " * 2_600,
    "1," * 15_900 + " x?",
    "thanks for a a " * 2_100 + "☃",
]
"""Texts that took seconds to hours before the patterns were linear, and the longest that a turn may be."""


@contextmanager
def serving(folder, home, ledger):
    command = [sys.executable, "-m", "dragoman", "serve", str(folder), "--port", "0", "--keys", str(ledger)]
    environment = {**os.environ, "DRAGOMAN_HOME": str(home)}
    with subprocess.Popen([*command, "--grace", "5"], stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            address = re.search(r"http://127\.0\.0\.1:\d+", process.stderr.readline())[0]
            threading.Thread(target=process.stderr.read, daemon=True).start()
            deadline = time.monotonic() + 60
            while httpx.get(f"{address}/readyz", timeout=30).status_code != 200 and time.monotonic() < deadline:
                time.sleep(0.05)
            yield process, address
        finally:
            process.kill()


def test_health_is_told_and_a_signal_heard_while_a_key_posts_the_worst_turns(folder, tmp_path):
    ledger = SqliteLedger(tmp_path / "server.db")
    _, key = create(ledger, "ana's", user="ana")
    ledger.close()
    stopped = threading.Event()
    answered = []

    def post(address, number):
        with httpx.Client(headers={"authorization": f"Bearer {key}"}, timeout=60) as client:
            while not stopped.is_set():
                for text in WORST[number::3]:
                    try:
                        body = {"text": text, "dialogue": f"d{number}"}
                        answered.append(client.post(f"{address}/v1/turns", json=body).status_code)
                    except httpx.HTTPError:
                        return

    with serving(folder, tmp_path / "home", tmp_path / "server.db") as (process, address):
        posting = [threading.Thread(target=post, args=(address, number), daemon=True) for number in range(3)]
        for thread in posting:
            thread.start()
        waited = []
        for _ in range(30):
            began = time.monotonic()
            assert httpx.get(f"{address}/healthz", timeout=30).status_code == 200
            waited.append(time.monotonic() - began)
            time.sleep(0.2)
        assert len(answered) >= len(WORST) and set(answered) == {200}
        assert sorted(waited)[-2] < 2.0, waited  # one may be unlucky on a machine that is busy with something else
        process.send_signal(signal.SIGTERM)
        stopped.set()
        assert process.wait(30) == 0


def test_no_turn_is_parsed_on_the_event_loop(folder, monkeypatch):
    """Whatever its length: `asks_to_forget` is the one rule that runs before a turn stands in line."""
    import asyncio

    import dragoman
    from dragoman.server.access.caller import LOCAL

    threads = []

    def noted(text):
        threads.append(threading.current_thread())
        return forget_requests.asks_to_forget(text)

    monkeypatch.setattr(service, "asks_to_forget", noted)

    async def scene():
        with dragoman.load(folder) as assistant:
            served = service.Service({"robin": (assistant, folder)})
            for text in ("Hi", "Hello there. " * 100):
                run = await served.begin(LOCAL, service.CallerTurn(text))
                assert [event async for event in run]
            await served.close()

    asyncio.run(scene())
    assert len(threads) == 2 and threading.main_thread() not in threads
