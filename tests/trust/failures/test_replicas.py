"""Three servers of their own on one database: one is killed with -9, all are started anew, and no turn is lost."""

from __future__ import annotations

import itertools
import json
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
import pytest
from pytest_socket import enable_socket, socket_allow_hosts

from dragoman.core.protocols import Store
from dragoman.core.values import Scope
from dragoman.stores import PostgresStore, SqliteStore
from dragoman.stores.in_memory import words

from ...stores.conftest import Server

pytestmark = [pytest.mark.slow, pytest.mark.trust]
AGENT = """
name = "Robin"
[[sources]]
name = "MEMORY"
about = "user"
private = true
[models.language]
kind = "model.scripted.v1"
default = "Noted."
seconds = 0.05
[models.encoder]
kind = "encoder.hashing.v1"
[gate]
kind = "gate.never.v1"
[reader]
kind = "reader.prompted.v1"
[memory]
learn = false
"""
ON_SERVER = """
[store]
kind = "store.postgres.v1"
url = "env:REPLICAS"
wait_seconds = 5
"""
DIALOGUES, TURNS = 9, 16


@pytest.fixture
def database(closed_network):
    """A server of this test alone, as strict about the disk as by default; only this machine is reached."""
    enable_socket()
    socket_allow_hosts(["127.0.0.1"], allow_unix_socket=True)
    started = Server(Path(tempfile.mkdtemp(prefix="dragoman-pg-")))
    yield started
    started.stop()


@pytest.fixture
def folder(tmp_path, database, monkeypatch):
    monkeypatch.setenv("REPLICAS", database.url())
    place = tmp_path / "robin"
    place.mkdir()
    (place / "agent.toml").write_text(AGENT + ON_SERVER, encoding="utf-8")
    return place


class Replica:
    """A `dragoman serve` of its own, on a port that it keeps when it is started anew."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder, self.options, self.port = folder, options, 0
        self.asked: dict[str, float] = {}
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "dragoman", "serve", str(self.folder), "--port", str(self.port)]
        self.process = subprocess.Popen([*command, *self.options], stderr=subprocess.PIPE, text=True)
        lines = iter(self.process.stderr.readline, "")
        found = next((match for line in lines if (match := re.search(r"http://127\.0\.0\.1:(\d+)", line))), None)
        assert found, "the server did not start"
        self.port = int(found[1])
        deadline = time.monotonic() + 300
        while not self.is_ready():
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/readyz").status_code == 200
        except httpx.TransportError:
            return False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> str:
        """SIGTERM, and what it said until it ended by itself."""
        self.process.send_signal(signal.SIGTERM)
        _, told = self.process.communicate(timeout=300)
        assert self.process.returncode == 0, told
        return told

    def is_answering(self) -> bool:
        """Whether a turn is in its hands: it came a moment ago, and takes longer than that."""
        now = time.monotonic()
        return any(0.01 < now - came < 0.04 for came in list(self.asked.values()))

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


@pytest.fixture
def replicas(folder):
    made = []

    def start(count, *options):
        # One after the other: two cores are soon busy with imports.
        made.extend(Replica(folder, *options) for _ in range(count))
        return made

    yield start
    for replica in made:
        replica.kill()


@dataclass
class Account:
    """What clients did and saw."""

    done: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    failures: Counter = field(default_factory=Counter)
    replayed: int = 0
    problems: list[str] = field(default_factory=list)


def talk(account: Account, replicas: list[Replica], who: str, dialogue: str, enough: threading.Event | None) -> None:
    """One client: each turn under an id of its own, sent to one server after the other until it is answered."""
    chance = random.Random(f"{who}{dialogue}")
    for number in range(TURNS) if enough is None else itertools.count():
        began = time.monotonic()
        for attempt in itertools.count():
            if time.monotonic() - began > 60:
                account.problems.append(f"{who} got no answer to turn {number} of {dialogue}")
                return
            found = ask(account, chance.choice(replicas), f"{who} {number}", dialogue, f"{who}-{dialogue}-{number}")
            if found is not None:
                break
            time.sleep(min(0.5, 0.02 * 2**attempt))
        account.seconds.append(time.monotonic() - began)
        account.replayed += bool(found.get("replayed"))
        account.done.setdefault((who, dialogue), []).append(found["turn"])
        if enough is not None and enough.wait(0.2):
            return


def ask(account: Account, replica: Replica, text: str, dialogue: str, key: str) -> dict | None:
    """The last event of a turn, or None where it has to be sent again."""
    try:
        with httpx.Client(verify=False, timeout=30) as client:  # certificates take longer to read than a turn takes
            request = client.build_request(
                "POST",
                f"{replica.url}/v1/turns",
                json={"text": text, "dialogue": dialogue},
                headers={"idempotency-key": key, "connection": "close"},
            )
            replica.asked[key] = time.monotonic()
            response = client.send(request)
    except httpx.TransportError as error:
        account.failures[type(error).__name__] += 1
        return None
    finally:
        replica.asked.pop(key, None)
    if response.status_code != 200:
        account.failures[response.json()["code"]] += 1
        return None
    name, data = re.findall(r"event: (\w+)\ndata: (.*)\n", response.text)[-1]
    if name != "done":
        account.failures[json.loads(data)["code"]] += 1
        return None
    return json.loads(data)


def start_clients(account: Account, replicas: list[Replica], *, enough: threading.Event | None = None):
    """One client for most dialogues, and two at the same time for each third of them; until there were `enough`."""
    pairs = [(who, f"d{i}") for i in range(DIALOGUES) for who in (("ana", "ben") if i % 3 == 0 else ("ana",))]
    threads = [
        threading.Thread(target=talk, args=(account, replicas, who, dialogue, enough), daemon=True)
        for who, dialogue in pairs
    ]
    for thread in threads:
        thread.start()
    return pairs, threads


def check(account: Account, store: Store, pairs) -> None:
    """Every turn is kept once, each client's in order, beside its reply, at the place that the client was told."""
    assert not account.problems
    scope = Scope("local", "me")
    assert set(store.dialogues(scope)) == {dialogue for _, dialogue in pairs}
    for dialogue in store.dialogues(scope):
        kept = store.dialogue(scope, dialogue)
        assert [turn.speaker for turn in kept] == ["user", "agent"] * (len(kept) // 2)
        assert {turn.text for turn in kept[1::2]} == {"Noted."}
        for who in sorted({who for who, where in pairs if where == dialogue}):
            places = [place for place, turn in enumerate(kept) if turn.text.startswith(f"{who} ")]
            assert [place + 1 for place in places] == account.done[who, dialogue]
            assert [kept[place].text for place in places] == [f"{who} {number}" for number in range(len(places))]
        assert len(kept) == 2 * sum(len(account.done[pair]) for pair in pairs if pair[1] == dialogue)
    store.close()


def store_of(database: Server, tmp_path: Path) -> Store:
    return PostgresStore(url=database.url(), analyse=words, folder=tmp_path / "state")


def test_a_server_killed_under_load_loses_no_turn_doubles_none_and_holds_nobody_up(database, replicas, tmp_path):
    three, account = replicas(3), Account()
    pairs, threads = start_clients(account, three)
    whole = TURNS * len(pairs)
    while len(account.seconds) < whole // 3 or not three[1].is_answering():
        time.sleep(0.002)
    usual = max(account.seconds)
    three[1].kill()
    for thread in threads:
        thread.join(600)
    check(account, store_of(database, tmp_path), pairs)
    assert len(account.seconds) == whole
    assert account.failures["ReadError"] + account.failures["RemoteProtocolError"] > 0, "none was under way: no test"
    assert account.failures["ConnectError"] > 0 and max(account.seconds) < 15 + 5 * usual
    deadline = time.monotonic() + 300
    while database.run("SELECT count(*) FROM dragoman.line") != [(0,)]:
        dead = Replica(three[0].folder)  # whoever comes next tidies up after the dead
        dead.kill()
        assert time.monotonic() < deadline


def test_a_lone_server_on_a_file_killed_under_load_loses_no_turn_and_doubles_none(folder, replicas, tmp_path):
    """The same with SQLite: whoever sends a turn again, under its id, to the server that was started anew."""
    (folder / "agent.toml").write_text(AGENT, encoding="utf-8")
    (alone,), account = replicas(1), Account()
    pairs, threads = start_clients(account, [alone])
    for part in (4, 2):
        while len(account.seconds) < TURNS * len(pairs) // part or not alone.is_answering():
            time.sleep(0.002)
        alone.kill()
        alone.start()
    for thread in threads:
        thread.join(600)
    check(account, SqliteStore(path=folder / ".dragoman" / "dragoman.db", analyse=words), pairs)
    assert account.failures["ReadError"] + account.failures["RemoteProtocolError"] > 0, "none was under way: no test"


def test_servers_started_anew_one_after_the_other_lose_no_turn_and_break_none_off(database, replicas, tmp_path):
    three, account = replicas(3, "--drain", "0.3"), Account()
    enough = threading.Event()
    pairs, threads = start_clients(account, three, enough=enough)
    for replica in three:
        so_far = len(account.seconds)
        assert "every turn that was taken in is done" in replica.stop()
        replica.start()
        assert len(account.seconds) > so_far + len(pairs), "nobody talked meanwhile: no test"
    enough.set()
    for thread in threads:
        thread.join(600)
    check(account, store_of(database, tmp_path), pairs)
    # A connection that nobody had met when the server closed its door is reset; its turn was not taken in.
    unmet = {"ConnectError", "ReadError", "RemoteProtocolError", "busy", "closing"}
    assert set(account.failures) <= unmet
    assert account.replayed == 0, "a turn that was taken in is answered at once, not when it is sent again"


def test_a_database_that_restarts_under_load_loses_no_turn(database, replicas, tmp_path):
    two, account = replicas(2), Account()
    pairs, threads = start_clients(account, two)
    while len(account.seconds) < 40:
        time.sleep(0.005)
    parent = psutil.Process(database.pid)
    family = [parent, *parent.children(recursive=True)]
    for process in family:
        process.kill()
    psutil.wait_procs(family, timeout=120)
    time.sleep(0.5)
    database.restart()
    for thread in threads:
        thread.join(600)
    check(account, store_of(database, tmp_path), pairs)
    assert account.failures["store"] + account.failures["busy"] > 0
    assert all(replica.is_ready() for replica in two)


def test_a_key_revoked_by_command_ends_on_every_server(database, folder, replicas):
    def keys(*arguments):
        command = [sys.executable, "-m", "dragoman", "keys", *arguments, "--agent", str(folder)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    text = keys("create", "ana's", "--user", "ana").strip()
    two = replicas(2)
    bearer = {"authorization": f"Bearer {text}"}
    assert [httpx.get(f"{one.url}/v1/models", headers=bearer).status_code for one in two] == [200, 200]
    assert [httpx.get(f"{one.url}/v1/models").status_code for one in two] == [401, 401]
    (key,) = json.loads(keys("list", "--json"))
    keys("revoke", key["id"])
    time.sleep(1.0)
    assert [httpx.get(f"{one.url}/v1/models", headers=bearer).status_code for one in two] == [401, 401]
