"""The SQLite store beyond the contract: two processes, forks, other encoders, what it costs to import."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from dragoman.core.registry import stores
from dragoman.core.values import Passage, Query, Scope
from dragoman.stores import InMemoryStore, SqliteStore
from dragoman.stores.in_memory import words

ANA = Scope("acme", "ana")
WRITER = """
import sys
from pathlib import Path
from dragoman.core.values import Passage, Scope
from dragoman.stores import SqliteStore
from dragoman.stores.in_memory import words

path, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
store = SqliteStore(path=path, analyse=words, busy_seconds=60)
for i in range(count):
    store.put(Scope("acme", "ana"), [Passage(f"{name}-{i}", "NOTES", f"row {i} of {name}")])
    if i % 10 == 9:
        store.remove(Scope("acme", "ana"), [f"{name}-{i}"])
store.close()
"""


@pytest.fixture
def store(tmp_path):
    store = SqliteStore(path=tmp_path / "store.db", analyse=words)
    yield store
    store.close()


@pytest.mark.trust
def test_writers_in_several_processes_lose_nothing(tmp_path, store):
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path / "store.db"), name, "40"]) for name in "abc"
    ]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0]
    expected = {f"{name}-{i}" for name in "abc" for i in range(40) if i % 10 != 9}
    assert {passage.id for passage in store.passages(ANA, "NOTES")} == expected
    assert store.count(ANA, "NOTES") == len(expected)
    assert store.verify().is_sound


def test_another_process_write_is_searched_at_once(tmp_path, store):
    query = Query(ANA, "NOTES", 5, tokens=("ferry",), vector=(1.0, 0.0))
    store.put(ANA, [Passage("a", "NOTES", "ferry")], np.array([[1, 0]], dtype=np.float32))
    assert len(store.lexical([query])[0]) == len(store.nearest([query])[0]) == 1
    other = SqliteStore(path=tmp_path / "store.db", analyse=words)
    other.put(ANA, [Passage("b", "NOTES", "ferry")], np.array([[1, 0]], dtype=np.float32))
    assert len(store.lexical([query])[0]) == len(store.nearest([query])[0]) == 2
    other.forget(ANA)
    other.put(ANA, [Passage("c", "NOTES", "ferry")], np.array([[1, 0]], dtype=np.float32))
    assert [hit.passage.id for hit in store.lexical([query])[0]] == ["c"]
    assert [hit.passage.id for hit in store.nearest([query])[0]] == ["c"]
    other.close()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_opens_its_own_connections(store):
    store.put(ANA, [Passage("a", "NOTES", "ferry")])
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            store.put(ANA, [Passage("child", "NOTES", "tram")])
            code = 0 if store.count(ANA, "NOTES") == 2 else 2
        finally:
            os.write(write, bytes([code]))
            os._exit(code)
    os.waitpid(child, 0)
    assert os.read(read, 1) == b"\x00"
    assert store.count(ANA, "NOTES") == 2
    os.close(read)
    os.close(write)


@pytest.mark.trust
def test_rows_of_another_encoder_are_not_compared(store):
    store.put(ANA, [Passage("old", "NOTES", "x")], np.ones((1, 3), dtype=np.float32))
    store.put(ANA, [Passage("new", "NOTES", "y")], np.ones((1, 5), dtype=np.float32))
    assert [hit.passage.id for hit in store.nearest([Query(ANA, "NOTES", 9, vector=(1.0,) * 5)])[0]] == ["new"]
    assert store.nearest([Query(ANA, "NOTES", 9, vector=(1.0,) * 4)])[0] == []


def test_a_zero_vector_counts_as_none(store):
    store.put(ANA, [Passage("a", "NOTES", "x")], np.zeros((1, 3), dtype=np.float32))
    assert store.nearest([Query(ANA, "NOTES", 9, vector=(1.0, 0.0, 0.0))])[0] == []


def test_a_closed_store_opens_again_where_it_left_off(store):
    store.put(ANA, [Passage("a", "NOTES", "ferry")])
    store.close()
    assert store.count(ANA, "NOTES") == 1


def test_an_unchanged_row_is_not_analysed_again(tmp_path):
    seen = []

    def analyse(text):
        seen.append(text)
        return words(text)

    store = SqliteStore(path=tmp_path / "store.db", analyse=analyse)
    for _ in range(3):
        store.put(ANA, [Passage("a", "NOTES", "ferry")])
    assert seen == ["ferry"]
    store.close()


def test_both_are_registered():
    assert stores.factory("store.memory.v1") is InMemoryStore
    assert stores.factory("sqlite") is SqliteStore


def test_importing_the_room_loads_no_heavy_library():
    code = "import sys, dragoman.stores; print({'numpy', 'apsw', 'tantivy', 'usearch'} & set(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "set()"
