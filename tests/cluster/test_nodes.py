"""Two nodes of a real Ray, one of them killed in the middle: the same bytes as one process alone gives."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from dragoman.stores.sqlite.store import SqliteStore
from dragoman.stores.transfer.portable import summary

pytestmark = pytest.mark.slow

NODES = Path(__file__).with_name("two_nodes.py")
SECONDS = 240
ONE = {"OMP_NUM_THREADS": "1", "DRAGOMAN_CORES": "1"}
NOT_REPEATED = ("times", "made.json")
"""What a run measures of time, and when it was made."""
EXPERIMENT = """
title = "Nodes"
baseline = "bm25"
batch = 4
[[data]]
name = "toy"
kind = "toy"
dialogues = 120
[[columns]]
title = "MRR"
metric = "mrr"
[[systems]]
name = "bm25"
retriever = { kind = "sparse" }
planner = { kind = "gold" }
[[systems]]
name = "hashed"
retriever = { kind = "hybrid" }
gate = { kind = "shuffled" }
encoder = { kind = "hashing", dimensions = 64 }
"""
AGENT = """
[models.encoder]
kind = "hashing"
dimensions = 64
[[sources]]
name = "DOCUMENTS"
description = "what is known"
"""
UNREACHABLE = """
[models.language]
kind = "remote"
url = "http://127.0.0.1:9/v1"
model = "nobody"
retries = 0
"""


class Nodes:
    """The cluster, as a program of its own; whatever became of it, every process that it started ends with it."""

    def __init__(self, folder):
        given = {**os.environ, "HOME": str(folder), "RAY_USAGE_STATS_ENABLED": "0", "PYTHONWARNINGS": "ignore"}
        self._errors = (folder / "nodes.err").open("w")
        self._program = subprocess.Popen(
            [sys.executable, str(NODES)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True,
            env=given,
        )  # fmt: skip
        self.address = self._program.stdout.readline().strip()
        assert self.address, (folder / "nodes.err").read_text()
        self.whole = True

    def say(self, word):
        self._program.stdin.write(f"{word}\n")
        self._program.stdin.flush()
        assert self._program.stdout.readline().strip() == "done"
        self.whole = word == "add"

    def close(self):
        self._program.stdin.close()
        self._program.wait(60)
        self._program.stdout.close()
        self._errors.close()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    nodes = Nodes(tmp_path_factory.mktemp("nodes"))
    yield nodes
    nodes.close()


@pytest.fixture
def nodes(cluster):
    """Two nodes, whatever a test before this one did to them."""
    if not cluster.whole:
        cluster.say("add")
    return cluster


@pytest.fixture
def begun(own_home):
    """Begins a command in a folder, with one thread in every process; Ray's token is none of the user's."""
    running = []

    def run(folder, *words):
        folder.mkdir(exist_ok=True)
        program = subprocess.Popen(
            [sys.executable, "-c", "from dragoman.cli.main import run; run()", *words],
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, **dict.fromkeys(("HOME", "DRAGOMAN_HOME"), str(own_home)), **ONE},
        )  # fmt: skip
        running.append(program)
        return program

    yield run
    for program in running:
        if program.poll() is None:
            program.kill()
        program.stdout.close()
        program.wait(30)


def ended(program, code=0):
    said = program.communicate(timeout=SECONDS)[0]
    assert program.returncode == code, said
    return said


def until(happened, program):
    """Wait until something has happened while the command was at work."""
    end = time.monotonic() + SECONDS
    while not happened():
        assert program.poll() is None, program.stdout.read()
        assert time.monotonic() < end
        time.sleep(0.02)
    assert program.poll() is None, "It was over before anything could happen to it."


def files(folder):
    """The bytes of all files but for those of time."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] not in NOT_REPEATED and path.name != ".lock"
    }


def rows(folder):
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("rows/*/*.jsonl"))


def test_evaluate(nodes, begun, tmp_path):
    for name in ("alone", "killed", "driver"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "nodes.toml").write_text(EXPERIMENT)
    command = ("evaluate", "nodes.toml", "--out", "run")
    ended(begun(tmp_path / "alone", *command))
    expected = files(tmp_path / "alone" / "run")
    assert rows(tmp_path / "alone" / "run") > 400

    there = tmp_path / "killed" / "run"
    program = begun(tmp_path / "killed", *command, "--ray", nodes.address)
    until(lambda: rows(there) >= 16, program)
    nodes.say("kill")
    assert rows(there) < rows(tmp_path / "alone" / "run")
    ended(program)
    assert files(there) == expected

    there = tmp_path / "driver" / "run"
    program = begun(tmp_path / "driver", *command, "--ray", nodes.address)
    until(lambda: rows(there) >= 16, program)
    program.send_signal(signal.SIGKILL)
    program.wait(30)
    assert 16 <= rows(there) < rows(tmp_path / "alone" / "run")
    ended(begun(tmp_path / "driver", *command, "--ray", nodes.address))
    assert files(there) == expected


def test_label(nodes, begun, tmp_path):
    command = (
        "label",
        "relevance",
        "--data",
        "toy",
        "--option",
        "dialogues=3000",
        "--how",
        "tfidf",
        "--out",
        "l.jsonl",
    )
    ended(begun(tmp_path / "alone", *command))
    expected = (tmp_path / "alone" / "l.jsonl").read_bytes()
    program = begun(tmp_path / "killed", *command, "--ray", nodes.address)
    part = tmp_path / "killed" / "l.jsonl.part"
    until(lambda: part.is_file() and part.read_bytes().count(b"\n") > 16, program)
    nodes.say("kill")
    ended(program)
    assert (tmp_path / "killed" / "l.jsonl").read_bytes() == expected


def test_ingest(nodes, begun, tmp_path):
    docs, agent = tmp_path / "docs", tmp_path / "agent"
    docs.mkdir()
    agent.mkdir()
    (agent / "agent.toml").write_text(AGENT)
    for number in range(600):
        text = "\n\n".join(f"# Ferry {number}.{part}\nIt leaves at {part} for place {number}." for part in range(12))
        (docs / f"{number:03d}.md").write_text(text)
        os.utime(docs / f"{number:03d}.md", (1_000_000_000, 1_000_000_000))
    command = ("ingest", str(docs), "--agent", str(agent), "--state", "state")
    ended(begun(tmp_path / "alone", *command))
    program = begun(tmp_path / "killed", *command, "--ray", nodes.address)
    until(lambda: passages(tmp_path / "killed" / "state") >= 64, program)
    nodes.say("kill")
    ended(program)
    assert held(tmp_path / "killed" / "state") == held(tmp_path / "alone" / "state")
    assert held(tmp_path / "alone" / "state").passages == 7200


def passages(state):
    if not (state / "dragoman.db").is_file():
        return 0
    try:
        with closing(sqlite3.connect(f"file:{state / 'dragoman.db'}?mode=ro", uri=True)) as database:
            return database.execute("SELECT count(*) FROM passages").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def held(state):
    store = SqliteStore(path=state / "dragoman.db", analyse=str.split)
    try:
        return summary(store)
    finally:
        store.close()


def test_sweep(nodes, begun, tmp_path):
    words = "train gate-linear --data train=toy --option dialogues=60 --sweep train.seed=1,2,3,4 --out out --device cpu"
    ended(begun(tmp_path / "alone", *words.split()))
    program = begun(tmp_path / "killed", *words.split(), "--ray", nodes.address)
    until((tmp_path / "killed" / "out" / "trials" / "000" / "part.json").is_file, program)
    nodes.say("kill")
    ended(program)
    assert files(tmp_path / "killed" / "out") == files(tmp_path / "alone" / "out")


def test_what_fails_is_told_once_with_its_shard(nodes, begun, tmp_path):
    agent = tmp_path / "agent"
    agent.mkdir()
    (agent / "agent.toml").write_text(UNREACHABLE)
    command = ("label", "relevance", "--data", "toy", "--how", "prompted", "--agent", str(agent), "--out", "l.jsonl")
    said = ended(begun(tmp_path / "there", *command, "--ray", nodes.address), code=1)
    assert said.count("Error:") == 1
    assert "(shard 'turns 1-16', on the node" in said
    shutil.rmtree(tmp_path / "there")


def test_local(begun, tmp_path, own_home):
    command = ("label", "relevance", "--data", "toy", "--how", "bm25", "--out", "l.jsonl")
    ended(begun(tmp_path / "alone", *command))
    ended(begun(tmp_path / "local", *command, "--ray", "local"))
    assert (tmp_path / "local" / "l.jsonl").read_bytes() == (tmp_path / "alone" / "l.jsonl").read_bytes()
    assert not (own_home / ".ray").exists()  # no token is left in anybody's home


def test_where_nobody_listens_it_is_told_at_once(begun, tmp_path):
    began = time.monotonic()
    command = ("label", "relevance", "--data", "toy", "--how", "bm25", "--out", "l.jsonl", "--ray", "127.0.0.1:9")
    said = ended(begun(tmp_path / "there", *command), code=1)
    assert "No Ray cluster can be reached at '127.0.0.1:9'" in said
    assert time.monotonic() - began < 60
