"""An ingest into the real store is killed again and again; no acknowledged row may be missing."""

import random
import subprocess
import sys
import time

import pytest

from dragoman.core.values import Scope
from dragoman.sources.files import find, read
from dragoman.sources.passages import cut
from dragoman.stores.sqlite.store import SqliteStore

pytestmark = pytest.mark.trust

PROGRAM = """
import sys, time
from pathlib import Path
import numpy as np
from dragoman.core.values import Scope, Source
from dragoman.sources.ingest import ingest
from dragoman.stores.sqlite.store import SqliteStore

base = Path(sys.argv[1])

class Encoder:
    dimensions = 4
    def encode(self, texts):
        time.sleep(0.01)
        return np.ones((len(texts), 4), dtype=np.float32)

class Acknowledging(SqliteStore):
    def put(self, scope, passages, vectors=None):
        written = super().put(scope, passages, vectors)
        print(*(passage.id for passage in passages), flush=True)
        return written
    def switch(self, scope, passages, vectors=None, **rest):
        removed = super().switch(scope, passages, vectors, **rest)
        print(*(passage.id for passage in passages), flush=True)
        return removed

store = Acknowledging(path=base / "store.db", analyse=str.split)
report = ingest(store, Encoder(), Source("DOCS"), [base / "docs"], scope=Scope(), base=base, batch=int(sys.argv[2]))
store.close()
print("done", report.files, flush=True)
"""


def opened(base):
    return SqliteStore(path=base / "store.db", analyse=str.split)


def stored(base):
    store = opened(base)
    found = {passage.id: passage for passage in store.passages(Scope().shared, "DOCS")}
    store.close()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("batch", [4, 16], ids=["files longer than a batch", "several files in a batch"])
def test_kill_at_any_moment_loses_nothing_acknowledged_and_the_next_run_finishes(tmp_path, batch):
    docs = tmp_path / "docs"
    docs.mkdir()
    for i in range(60):
        (docs / f"f{i:02}.md").write_text("\n".join(f"## H{j}\ntext {i} {j}" for j in range(5)))
    chance = random.Random(7)
    acknowledged, kills, finished = set(), 0, False
    for _ in range(12):
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path), str(batch)],
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        first = process.stdout.readline()
        if kills < 8:
            time.sleep(chance.uniform(0, 0.12))
            process.kill()
            kills += 1
        lines = [first, *process.stdout]
        process.wait()
        process.stdout.close()
        finished = lines[-1].startswith("done")
        acknowledged.update(
            name for line in lines if line.endswith("\n") and not line.startswith("done") for name in line.split()
        )
        assert acknowledged <= set(stored(tmp_path))
        if finished:
            break
    assert finished
    expected = [
        passage for file in find([docs], base=tmp_path).files for passage in cut(read(file.path), "DOCS", file.origin)
    ]
    assert stored(tmp_path) == {passage.id: passage for passage in expected}
    assert kills > 1
