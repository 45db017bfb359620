"""kill -9 at any moment: every acknowledged row is there, the file is sound, and search agrees with the rows."""

from __future__ import annotations

import random
import subprocess
import sys
import time

import pytest

from dragoman.core.values import Passage, Query, Scope
from dragoman.stores import InMemoryStore, SqliteStore
from dragoman.stores.in_memory import words

pytestmark = pytest.mark.trust

SHARED = Scope("acme", "")
CHILD = """
import sys
from pathlib import Path
import numpy as np
from dragoman.core.values import Passage, Query, Scope
from dragoman.stores import SqliteStore
from dragoman.stores.in_memory import words

store = SqliteStore(path=Path(sys.argv[1]), analyse=words, index_above=10)
shared, first = Scope("acme", ""), int(sys.argv[2])
chance = np.random.default_rng(first)
for i in range(first, first + 100000):
    store.put(shared, [Passage(f"p{i}", "DOCS", f"row {i} says w{i % 13} " * (1 + i % 50))],
              chance.normal(size=(1, 16)).astype(np.float32))
    print("put", i, flush=True)
    if i % 7 == 3:
        store.remove(shared, [f"p{i - 2}"])
        print("removed", i - 2, flush=True)
    if i % 5 == 0:
        query = Query(shared, "DOCS", 3, tokens=(f"w{i % 13}",), vector=chance.normal(size=16).tolist())
        store.lexical([query]), store.nearest([query])
"""


def row(i):
    return Passage(f"p{i}", "DOCS", f"row {i} says w{i % 13} " * (1 + i % 50))


@pytest.mark.slow
def test_no_acknowledged_row_is_lost_however_often_the_writer_is_killed(tmp_path):
    chance, path = random.Random(11), tmp_path / "store.db"
    alive = set()
    for killed in range(15):
        child = subprocess.Popen([sys.executable, "-c", CHILD, str(path), str(killed * 1000)], stdout=subprocess.PIPE)
        assert child.stdout is not None
        first = child.stdout.readline()
        time.sleep(chance.random() * 0.6)
        child.kill()
        told = [line.split() for line in [first, *child.stdout.read().splitlines(True)] if line.endswith(b"\n")]
        child.stdout.close()
        child.wait()
        for verb, number in told:
            (alive.add if verb == b"put" else alive.discard)(int(number))
        alive = check(path, alive, under_way(*told[-1]))


def under_way(verb, number):
    """The one row that the operation after the last acknowledged one writes or removes: it may have happened or not."""
    if verb == b"put" and int(number) % 7 == 3:
        return {int(number) - 2}
    return {int(number) + (1 if verb == b"put" else 3)}


def check(path, alive, maybe):
    store = SqliteStore(path=path, analyse=words, index_above=10)
    assert store.verify().is_sound
    rows = list(store.passages(SHARED, "DOCS"))
    present = {int(passage.id[1:]) for passage in rows}
    assert alive - present <= maybe, "an acknowledged row is lost"
    assert present - alive <= maybe, "a removed row is back"
    assert rows == [row(i) for i in sorted(present)]
    assert store.count(SHARED, "DOCS") == len(rows)
    exact = InMemoryStore(analyse=words)
    exact.put(SHARED, rows)
    for word in ("w1", "w7"):
        query = Query(SHARED, "DOCS", len(rows), tokens=(word,))
        assert {hit.passage.id for hit in store.lexical([query])[0]} == {
            hit.passage.id for hit in exact.lexical([query])[0]
        }
    near = store.nearest([Query(SHARED, "DOCS", len(rows), vector=(1.0,) * 16)])[0]
    assert {hit.passage.id for hit in near} == {passage.id for passage in rows}
    store.close()
    return present
