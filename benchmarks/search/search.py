"""How quickly the store searches, each figure beside a floor measured in the same run.

    python benchmarks/search/search.py [--rows 100000] [--users 1000] [--queries 300]

Synthetic rows: Zipf words, clustered 384-dimensional vectors. Private rows are spread over the users and
searched exactly, from the disk (cold) and from the cache (warm); shared ones lie in one source and go
through the sidecar index. Nothing is asserted: read the table.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from pathlib import Path

import apsw
import numpy as np

from dragoman.core.values import Hit, Passage, Query, Scope
from dragoman.stores import SqliteStore
from dragoman.stores.bm25 import lucene_idf, saturation

sys.path.append(str(Path(__file__).parents[1]))
from shared.timing import milliseconds

DIMENSIONS = 384
VOCABULARY = 50_000
K = 10
BATCH = 2000


def analyse(text: str) -> tuple[str, ...]:
    return tuple(text.split())


class Corpus:
    """Rows of Zipf words with clustered vectors, and questions about them."""

    def __init__(self, rows: int, words: int, seed: int) -> None:
        self.chance = np.random.default_rng(seed)
        lengths = np.maximum(4, self.chance.poisson(words, rows))
        ranks = self._ranks(int(lengths.sum()))
        ends = np.cumsum(lengths)
        self.tokens = [
            [f"w{rank}" for rank in ranks[end - n : end]]
            for n, end in zip(lengths.tolist(), ends.tolist(), strict=True)
        ]
        centres = self.chance.normal(size=(max(8, rows // 100), DIMENSIONS))
        near = centres[self.chance.integers(0, len(centres), rows)]
        self.vectors = (near + 0.8 * self.chance.normal(size=(rows, DIMENSIONS))).astype(np.float32)
        self.vectors /= np.linalg.norm(self.vectors, axis=1, keepdims=True)

    def query(self, scope: Scope, row: int) -> Query:
        """A few words of a row and a few others; a vector not far from the row's."""
        said = self.tokens[row]
        own = [said[i] for i in self.chance.integers(0, len(said), 4)]
        tokens = (*own, *(f"w{rank}" for rank in self._ranks(2)))
        vector = self.vectors[row] + 0.03 * self.chance.normal(size=DIMENSIONS)
        return Query(scope, "ROWS", K, tokens, tuple(vector.tolist()))

    def _ranks(self, n: int) -> list[int]:
        # Zipf-Mandelbrot: without stop words, the commonest word is about one token in 230.
        weights = np.cumsum(1 / (np.arange(1, VOCABULARY + 1) + 30))
        ranks: list[int] = np.searchsorted(weights / weights[-1], self.chance.random(n)).tolist()
        return ranks


def line(name: str, timed: tuple[float, float], target: str = "", recall: float | None = None) -> None:
    shown = "" if recall is None else f"{recall:.3f}"
    print(f"{name:<58}{timed[0]:>9.3f}{timed[1]:>9.3f}{shown:>9}  {target}", flush=True)


def fill(store: SqliteStore, scope_of: Callable[[int], Scope], corpus: Corpus) -> float:
    """Write all rows, in order of their scopes; the seconds."""
    began = time.perf_counter()
    order = sorted(range(len(corpus.tokens)), key=lambda i: (scope_of(i).user, i))
    start = 0
    while start < len(order):
        scope = scope_of(order[start])
        end = start
        while end < min(len(order), start + BATCH) and scope_of(order[end]) == scope:
            end += 1
        chosen = order[start:end]
        rows = [Passage(f"r{i}", "ROWS", " ".join(corpus.tokens[i]), position=i) for i in chosen]
        store.put(scope, rows, corpus.vectors[chosen])
        start = end
    return time.perf_counter() - began


def private(folder: Path, rows: int, users: int, queries: int) -> None:
    """Exact search over each user's own rows."""
    corpus = Corpus(rows, words=20, seed=1)
    store = SqliteStore(path=folder / "private.db", analyse=analyse)
    scopes = [Scope("bench", f"user{n:05d}") for n in range(users)]
    seconds = fill(store, lambda i: scopes[i % users], corpus)
    print(f"\n{rows:,} private rows of {users:,} users (written in {seconds:.0f} s)")
    gc.freeze()  # the benchmark's own million strings are no part of what the store's garbage collector walks
    chosen = corpus.chance.choice(rows, queries)
    asked = [corpus.query(scopes[row % users], int(row)) for row in chosen]
    for kind, target in (("nearest", "p99 < 1"), ("lexical", "p99 < 2")):
        search = getattr(store, kind)
        search([corpus.query(scopes[0], 0)])
        store._search.pools.drop()
        seen: dict[Scope, Query] = {query.scope: query for query in asked}
        cold = [partial(search, [query]) for query in seen.values()]
        line(f"  {kind}, one user's {rows // users} rows, cold", milliseconds(cold), target)
        warm = [partial(search, [query]) for query in asked[:50] * (queries // 50 or 1)]
        milliseconds(warm[:50])
        line(f"  {kind}, one user's {rows // users} rows, warm", milliseconds(warm), target)
    matrices = [corpus.vectors[[i for i in range(rows) if i % users == row % users][:200]] for row in chosen[:50]]
    vector = corpus.vectors[0]
    line(
        "  floor: numpy dot over the same rows", milliseconds([lambda m=m: np.argsort(-(m @ vector)) for m in matrices])
    )
    bare = apsw.Connection(str(folder / "private.db"), flags=apsw.SQLITE_OPEN_READONLY)
    sql = "SELECT vector FROM vectors WHERE tenant = 'bench' AND user = ? AND source = 'ROWS'"
    line(
        "  floor: a bare select of the same vectors",
        milliseconds([lambda s=scopes[row % users]: bare.execute(sql, (s.user,)).fetchall() for row in chosen]),
    )
    bare.close()
    everything = milliseconds([lambda: np.argpartition(-(corpus.vectors @ vector), K) for _ in range(10)])
    line("  for comparison: numpy dot over everybody's rows", everything)
    store.close()


def shared(folder: Path, rows: int, queries: int) -> None:
    """Search through the index, beside exact search over everything."""
    corpus = Corpus(rows, words=60, seed=2)
    scope = Scope("bench", "")
    store = SqliteStore(path=folder / "shared.db", analyse=analyse)
    seconds = fill(store, lambda i: scope, corpus)
    began = time.perf_counter()
    store.refresh_index(scope, "ROWS")
    gc.freeze()
    print(f"\n{rows:,} shared rows (written in {seconds:.0f} s, indexed in {time.perf_counter() - began:.0f} s)")
    asked = [corpus.query(scope, int(row)) for row in corpus.chance.choice(rows, queries)]
    exact_words, exact_vectors = Exhaustive(corpus), _cosine(corpus, asked)
    for kind, exact in (("lexical", [exact_words.best(query.tokens) for query in asked]), ("nearest", exact_vectors)):
        search = getattr(store, kind)
        found: list[Sequence[Hit]] = [search([query])[0] for query in asked]
        hits = [{hit.passage.position for hit in each} for each in found]
        recall = sum(len(ours & set(best)) for ours, best in zip(hits, exact, strict=True)) / sum(map(len, exact))
        acts = [lambda q=query, s=search: s([q]) for query in asked]
        line(f"  {kind}, all {rows:,} rows, index", milliseconds(acts), "p50 < 5, recall > 0.95", recall)
    few = asked[:20]
    line("  floor: exact BM25 over everything", milliseconds([lambda q=q: exact_words.best(q.tokens) for q in few]))
    vectors = [np.asarray(query.vector, dtype=np.float32) for query in few]
    line(
        "  floor: exact cosine over everything (numpy)",
        milliseconds([lambda v=v: np.argpartition(-(corpus.vectors @ v), K) for v in vectors]),
    )
    ids = [f"r{i}" for i in range(K)]
    line("  floor: reading ten rows by id", milliseconds([lambda: store.get(scope, ids) for _ in range(200)]))
    store.close()


class Exhaustive:
    """BM25 of every row, by postings in memory."""

    def __init__(self, corpus: Corpus) -> None:
        self.lengths = np.array([len(row) for row in corpus.tokens], dtype=np.float64)
        postings: dict[str, dict[int, int]] = {}
        for i, row in enumerate(corpus.tokens):
            for token in row:
                counts = postings.setdefault(token, {})
                counts[i] = counts.get(i, 0) + 1
        self.postings = {
            token: (np.fromiter(counts, dtype=np.int64), np.fromiter(counts.values(), dtype=np.float64))
            for token, counts in postings.items()
        }

    def best(self, tokens: Sequence[str]) -> list[int]:
        scores = np.zeros(len(self.lengths))
        for token in tokens:
            if token in self.postings:
                rows, frequencies = self.postings[token]
                weight = lucene_idf(len(self.lengths), len(rows))
                scores[rows] += weight * saturation(frequencies, self.lengths[rows], float(self.lengths.mean()))
        top = np.argpartition(-scores, K)[:K]
        return [int(i) for i in top if scores[i] > 0]


def _cosine(corpus: Corpus, asked: Sequence[Query]) -> list[list[int]]:
    vectors = np.array([query.vector for query in asked], dtype=np.float32)
    return [np.argpartition(-(corpus.vectors @ vector), K)[:K].tolist() for vector in vectors]


def main() -> None:
    parser = argparse.ArgumentParser(description="How quickly the store searches.")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--users", type=int, default=1000)
    parser.add_argument("--queries", type=int, default=300)
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {date.today()}")
    print(f"{'milliseconds':<58}{'p50':>9}{'p99':>9}{'recall':>9}  target")
    with tempfile.TemporaryDirectory() as folder:
        private(Path(folder), options.rows, min(options.users, options.rows), options.queries)
        shared(Path(folder), options.rows, options.queries)


if __name__ == "__main__":
    main()
