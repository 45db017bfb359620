"""kill -9 of writers at any moment: every acknowledged row and turn is there once, and search agrees with the rows."""

from __future__ import annotations

import random
import subprocess
import sys
import time

import pytest

from dragoman.core.values import Query, Scope
from dragoman.stores.transfer.checking import problems

pytestmark = [pytest.mark.slow, pytest.mark.trust]
SHARED = Scope("acme", "")
CHILD = """
import sys
from pathlib import Path
import numpy as np
from dragoman.core.values import Passage, Scope, Turn
from dragoman.stores import PostgresStore
from dragoman.stores.in_memory import words

store = PostgresStore(url=sys.argv[1], analyse=words, folder=Path(sys.argv[2]), index_above=10)
shared, first = Scope("acme", ""), int(sys.argv[3])
for i in range(first, first + 100000):
    vector = np.random.default_rng(i).normal(size=(1, 4)).astype(np.float32)  # of equal ones a graph finds a part
    store.put(shared, [Passage(f"p{i}", "DOCS", f"row {i} says w{i % 13}")], vector)
    print("put", i, flush=True)
    store.append(shared, "d", [Turn("user", str(i)), Turn("agent", str(i))], [i])
    print("said", i, flush=True)
    if i % 7 == 3:
        store.remove(shared, [f"p{i - 2}"])
        print("removed", i - 2, flush=True)
"""


def test_no_acknowledged_write_is_lost_however_often_two_writers_are_killed(make_store, schema, tmp_path):
    chance, store = random.Random(11), make_store(index_above=10, folder=tmp_path / "state")
    store.open()
    put, removed, said = set(), set(), set()
    for killed in range(4):
        command = [sys.executable, "-c", CHILD, schema.url(), str(tmp_path / "state")]
        children = [
            subprocess.Popen([*command, str((2 * killed + i) * 1000)], stdout=subprocess.PIPE) for i in range(2)
        ]
        heard = [[child.stdout.readline()] for child in children]
        time.sleep(0.3 + chance.random())
        for child, lines in zip(children, heard, strict=True):
            child.kill()
            lines.extend(child.stdout.read().splitlines(True))
            child.stdout.close()
            child.wait()
            for verb, number in (line.split() for line in lines if line.endswith(b"\n")):
                {b"put": put, b"removed": removed, b"said": said}[verb].add(int(number))
    rows = {int(passage.id[1:]): passage.text for passage in store.passages(SHARED, "DOCS")}
    assert all(text == f"row {i} says w{i % 13}" for i, text in rows.items()), "as it was written"
    present = set(rows)
    unheard = 16  # each killed writer may have done one thing more than it could tell
    assert len((put - removed) - present) <= unheard / 2 and not removed & present
    assert all(number % 7 == 1 for number in (put - removed) - present), "only a removal that was under way"
    texts = [turn.text for turn in store.dialogue(SHARED, "d")]
    assert [trace for trace in store.traces(SHARED, "d") if trace] == [[int(text)] for text in texts[1::2]]
    assert texts[::2] == texts[1::2] and len(set(texts)) * 2 == len(texts)
    assert said <= {int(text) for text in texts} and len(texts) / 2 - len(said) <= unheard
    assert store.count(SHARED, "DOCS") == len(present)
    found = store.lexical([Query(SHARED, "DOCS", len(present), tokens=("w5",))])[0]
    assert {int(hit.passage.id[1:]) for hit in found} == {number for number in present if number % 13 == 5}
    assert len(store.nearest([Query(SHARED, "DOCS", len(present), vector=(1.0,) * 4)])[0]) >= 0.9 * len(present)
    assert not list(problems(store))
