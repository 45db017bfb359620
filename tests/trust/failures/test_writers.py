"""Several processes write at once, on either engine: everything is there, exactly as often as it was written."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dragoman.core.values import Passage, Scope, Turn
from dragoman.stores import SqliteStore
from dragoman.stores.in_memory import words
from dragoman.stores.transfer.checking import problems

pytestmark = [pytest.mark.slow, pytest.mark.trust]
WRITERS, WRITES = 4, 40
ANA = Scope("acme", "ana")
WRITER = """
import sys
from pathlib import Path
from dragoman.core.values import Passage, Scope, Turn
from dragoman.stores import PostgresStore, SqliteStore
from dragoman.stores.in_memory import words

engine, place, state, name, count = *sys.argv[1:5], int(sys.argv[5])
if engine == "sqlite":
    store = SqliteStore(path=Path(place), analyse=words, busy_seconds=120)
else:
    store = PostgresStore(url=place, analyse=words, folder=Path(state), busy_seconds=120, wait_seconds=60)
print("ready", flush=True)
sys.stdin.readline()
ana = Scope("acme", "ana")
for i in range(count):
    told = f"{name}{i}"
    store.put(ana, [Passage(told, "NOTES", f"row {i} of {name}")])
    store.put(ana, [Passage(f"all{i}", "NOTES", "whoever comes first")])
    store.append(ana, "d", [Turn("user", told), Turn("agent", told)], [told])
    store.keep(ana, told, f"value of {told}")
    if i % 4 == 3:
        store.remove(ana, [f"{name}{i - 1}"])
store.close()
"""


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """A store of an engine, and the arguments by which a process finds it."""
    if request.param == "sqlite":
        store = SqliteStore(path=tmp_path / "store.db", analyse=words)
        yield store, ["sqlite", str(tmp_path / "store.db"), ""]
        store.close()
    else:
        store = request.getfixturevalue("make_store")()
        store.open()
        yield store, ["postgres", request.getfixturevalue("schema").url(), str(tmp_path / "state")]


def test_every_write_of_every_writer_is_there_exactly_once(place):
    store, where = place
    names = "abcdefgh"[:WRITERS]
    program = [sys.executable, "-c", WRITER, *where]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    writers = [subprocess.Popen([*program, name, str(WRITES)], **pipes) for name in names]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n", writer.communicate()
    for writer in writers:  # all are up: now they write at once
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        _, errors = writer.communicate(timeout=900)
        assert (writer.returncode, errors) == (0, "")
    own = {f"{name}{i}": f"row {i} of {name}" for name in names for i in range(WRITES) if i % 4 != 2}
    shared = {f"all{i}": "whoever comes first" for i in range(WRITES)}
    rows = list(store.passages(ANA, "NOTES"))
    assert sorted(rows, key=lambda row: row.id) == sorted(
        (Passage(id_, "NOTES", text) for id_, text in (own | shared).items()), key=lambda row: row.id
    )
    assert store.count(ANA, "NOTES") == len(own) + len(shared)
    turns = store.dialogue(ANA, "d")
    assert len(turns) == 2 * WRITERS * WRITES
    assert all(a == Turn("user", b.text) and b.speaker == "agent" for a, b in zip(turns[::2], turns[1::2], strict=True))
    for name in names:
        assert [turn.text for turn in turns[::2] if turn.text[0] == name] == [f"{name}{i}" for i in range(WRITES)]
        assert all(store.kept(ANA, f"{name}{i}") == f"value of {name}{i}" for i in range(WRITES))
    assert [trace for trace in store.traces(ANA, "d") if trace] == [[turn.text] for turn in turns[::2]]
    assert not list(problems(store))
