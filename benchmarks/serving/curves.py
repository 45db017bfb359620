"""What a call costs as the store grows: rows, users, turns and passages, measured at several sizes and fitted.

    python benchmarks/serving/curves.py rows --store sqlite --sizes 10000 100000 1000000
    python benchmarks/serving/curves.py users --store postgres --sizes 10000 100000 1000000
    python benchmarks/serving/curves.py turns --store sqlite
    python benchmarks/serving/curves.py passages --sizes 10000 30000 100000      BM25 and vectors through the index
    python benchmarks/serving/curves.py show                                     what was measured before, medians only

Rows are private: a hundred a user, with vectors of 384 dimensions. Users have one fact and one turn each; on PostgreSQL
the product writes the first 2,000 of each size, and the others are copies of their rows (`_copies.py`). Turns lie in
dialogues of twenty, each with a trace of 1.5 kB. The store grows from size to size, without waiting for the disk; what
is measured waits as always. Every cost is fitted as a + b ln n and as a n^b, and the better of the two is shown with
its residual (root mean square, relative). Results go to `measured.json`, from which docs/scaling.md is written.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from _copies import check, copy
from replicas import database
from simulate import MEASURED, load

from dragoman.core.values import Passage, Query, Scope, Turn
from dragoman.stores import PostgresStore, SqliteStore
from dragoman.stores.sql_store import TableStore
from dragoman.stores.transfer.portable import PassageRecord, TurnRecord
from dragoman.text.analyse import Analyser

sys.path.append(str(Path(__file__).parents[1]))
from shared.corpus import Corpus
from shared.timing import milliseconds

WIDTH, EACH, DIALOGUE, K = 384, 100, 20, 10
BY_PRODUCT = 2000  # users of each size that the product writes on PostgreSQL; the others are copies of their rows
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
TRACE = json.dumps({"notes": [{"role": "retriever", "seconds": 0.001, "value": "x" * 60}] * 14})
WORDS = "ferry harbour ticket pier lamp bridge cake river garden letter winter bicycle north tower market bread".split()


class Place:
    """A store on an engine; `quick` lets it grow without waiting for the disk."""

    def __init__(self, engine: str, root: Path, url: str | None) -> None:
        self.engine, self._root, self._url = engine, root, url
        self.store = self._made(quick=False)
        self.filling = self._made(quick=True)

    def _made(self, *, quick: bool) -> TableStore:
        analyse = Analyser(language="en")
        if self._url is None:
            store = SqliteStore(path=self._root / "store.db", analyse=analyse)
            if quick:
                for connection in store.engine.connections():
                    connection.pragma("synchronous", "OFF")
            return store
        relaxed = "&options=-csynchronous_commit%3Doff" if quick else ""
        return PostgresStore(url=self._url + relaxed, analyse=analyse, folder=self._root)

    def bytes(self) -> int:
        if self._url is None:
            return sum(path.stat().st_size for path in self._root.rglob("*") if path.is_file())
        return self.store.verify().bytes

    def cool(self) -> None:
        """Let go of what this process keeps in memory."""
        self.store.close()


@contextmanager
def opened(engine: str) -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="dragoman-curves-") as root:
        if engine == "sqlite":
            yield Place(engine, Path(root), None)
            return
        with database(None) as (url, _):
            yield Place(engine, Path(root), url)


def text(chance: np.random.Generator) -> str:
    return " ".join(WORDS[i] for i in chance.integers(0, len(WORDS), 12))


def user(number: int) -> Scope:
    return Scope("bench", f"u{number}")


class Rows:
    """Private rows, a hundred a user."""

    def __init__(self, place: Place) -> None:
        self._place, self._chance, self.size = place, np.random.default_rng(3), 0

    def grow(self, size: int) -> None:
        while self.size < size:
            vectors = self._chance.normal(size=(EACH, WIDTH)).astype(np.float32)
            rows = [Passage(f"r{i}", "ROWS", text(self._chance)) for i in range(EACH)]
            self._place.filling.put(user(self.size // EACH), rows, vectors)
            self.size += EACH

    def costs(self, times: int) -> dict[str, tuple[float, float]]:
        store, chance, users = self._place.store, self._chance, self.size // EACH
        some = [user(int(i)) for i in chance.choice(users, min(times, users), replace=False)]  # each once: cold
        vectors = chance.normal(size=(len(some), WIDTH))
        queries = [
            Query(scope, "ROWS", K, ("ferri", "tower"), tuple(row.tolist()))
            for scope, row in zip(some, vectors, strict=True)
        ]
        self._place.cool()
        store.nearest(queries[:1])
        found = {"vectors of a user, cold": milliseconds([lambda q=q: store.nearest([q]) for q in queries])}
        found["words of a user, cold"] = milliseconds([lambda q=q: store.lexical([q]) for q in queries])
        one = np.ones((1, WIDTH), dtype=np.float32)
        acts = [lambda s=s: store.put(s, [Passage("new", "ROWS", text(chance))], one) for s in some]
        return found | {"one row written": milliseconds(acts)}


class Users:
    """Users who said one thing each; on PostgreSQL only the first of each size are written by the product."""

    def __init__(self, place: Place) -> None:
        self._place, self.size = place, 0
        self.pace = 0.0

    def grow(self, size: int) -> None:
        store, began, first = self._place.filling, time.perf_counter(), self.size
        written = min(size, first + BY_PRODUCT) if isinstance(store, PostgresStore) else size
        while self.size < written:
            fact = PassageRecord(Passage("f", "MEMORY", "I live by the harbour."), "live harbour", None, None)
            store.receive(user(self.size), [fact, *_turns("d", 1)], {})
            self.size += 1
        self.pace = (self.size - first) / (time.perf_counter() - began)
        if isinstance(store, PostgresStore) and written < size:
            copy(store, user(written - 1), written, size)
            some = np.random.default_rng(size).integers(written, size, 20)
            check(store, user(first), [user(int(i)) for i in (written, *some, size - 1)])
            self.size = size

    def costs(self, times: int) -> dict[str, tuple[float, float]]:
        store, chance = self._place.store, np.random.default_rng(self.size)
        some = [user(int(i)) for i in chance.integers(0, self.size, times)]
        self._place.cool()
        store.kept(some[0], "k")
        said = [Turn("user", "hi"), Turn("agent", "ho")]
        return {
            "facts of a user": milliseconds([lambda s=s: list(store.passages(s, "MEMORY")) for s in some]),
            "a turn written": milliseconds([lambda s=s: store.append(s, "e", said, TRACE) for s in some]),
        }


class Turns:
    """Dialogues of twenty turns, five a user."""

    def __init__(self, place: Place) -> None:
        self._place, self.size = place, 0

    def grow(self, size: int) -> None:
        while self.size < size:
            scope = user(self.size // EACH)
            records = [record for i in range(EACH // DIALOGUE) for record in _turns(f"d{i}", DIALOGUE)]
            self._place.filling.receive(scope, records, {})
            self.size += EACH

    def costs(self, times: int) -> dict[str, tuple[float, float]]:
        store, chance, users = self._place.store, np.random.default_rng(self.size), self.size // EACH
        some = [user(int(i)) for i in chance.integers(0, users, times)]
        said = [Turn("user", "And in winter?"), Turn("agent", "It opens at nine.")]
        self._place.cool()
        store.kept(some[0], "k")
        return {
            "a dialogue read": milliseconds([lambda s=s: store.dialogue(s, "d3") for s in some]),
            "a turn written": milliseconds([lambda s=s: store.append(s, "d3", said, TRACE) for s in some]),
        }


class Passages:
    """A shared source behind the index."""

    def __init__(self, place: Place) -> None:
        self._place, self.size = place, 0
        self._corpus = Corpus(max(SIZES))
        self._chunks = self._corpus.chunks()
        self.build = 0.0

    def grow(self, size: int) -> None:
        shared, words = Scope("bench", ""), self._corpus.vocabulary
        while self.size < size:
            chunk = next(self._chunks)
            rows = [
                Passage(f"p{chunk.first + i}", "DOCS", " ".join(words[rank] for rank in ranks))
                for i, ranks in enumerate(chunk.ranks)
            ]
            for at in range(0, len(rows), 5000):
                self._place.filling.put(shared, rows[at : at + 5000], chunk.vectors[at : at + 5000])
            self.size += len(rows)
            self._last = chunk
        began = time.perf_counter()
        self._place.store.refresh_index(shared, "DOCS")
        self.build = time.perf_counter() - began

    def costs(self, times: int) -> dict[str, tuple[float, float]]:
        store, words, chunk = self._place.store, self._corpus.vocabulary, self._last
        analyse, chance = Analyser(language="en"), np.random.default_rng(self.size)
        queries = []
        for i in chance.integers(0, len(chunk.ranks), times):
            said = chance.choice(np.asarray(chunk.ranks[i]), 5)
            near = chunk.vectors[i] + 0.03 * chance.normal(size=WIDTH)
            queries.append(
                Query(Scope("bench", ""), "DOCS", K, analyse(" ".join(words[r] for r in said)), tuple(near.tolist()))
            )
        store.lexical(queries[:3])
        store.nearest(queries[:3])
        return {
            "words of all": milliseconds([lambda q=q: store.lexical([q]) for q in queries]),
            "vectors of all": milliseconds([lambda q=q: store.nearest([q]) for q in queries]),
            "the index brought up to date": (self.build * 1000, self.build * 1000),
        }


SUBJECTS = {"rows": Rows, "users": Users, "turns": Turns, "passages": Passages}


def _turns(dialogue: str, count: int) -> list[TurnRecord]:
    said = [("user", "When does the pier open in winter?", None), ("agent", "It opens at nine.", TRACE)]
    return [TurnRecord(dialogue, *one) for _ in range(count) for one in said]


def fitted(sizes: Sequence[int], costs: Sequence[float]) -> dict[str, object]:
    """The better of a + b ln n and a n^b by relative residual; nothing below three points."""
    n, y = np.log(np.asarray(sizes, dtype=float)), np.asarray(costs, dtype=float)
    if len(sizes) < 3 or not np.all(y > 0):
        return {}
    slope, start = np.polyfit(n, y, 1, w=1 / y)
    power, scale = np.polyfit(n, np.log(y), 1)
    kinds = {
        "log": (float(start), float(slope), start + slope * n),
        "power": (float(np.exp(scale)), float(power), np.exp(scale + power * n)),
    }
    residuals = {kind: float(np.sqrt(np.mean((made / y - 1) ** 2))) for kind, (_, _, made) in kinds.items()}
    best = min(residuals, key=residuals.__getitem__)
    return {"kind": best, "a": kinds[best][0], "b": kinds[best][1], "residual": residuals[best]}


def formula(fit: dict[str, object]) -> str:
    if not fit:
        return ""
    a, b = float(fit["a"]), float(fit["b"])
    shape = f"{a:.3g} {'-' if b < 0 else '+'} {abs(b):.2g} ln n" if fit["kind"] == "log" else f"{a:.3g} n^{b:.3f}"
    return f"{shape} (off by {fit['residual']:.0%})"


def measure(subject: str, engine: str, sizes: Sequence[int], times: int, budget: float) -> dict:
    """Costs at each size that is reached within the time."""
    began, kept, costs, growth = time.perf_counter(), [], {}, []
    with opened(engine) as place:
        grown = SUBJECTS[subject](place)
        for size in sizes:
            at, before = time.perf_counter(), grown.size
            grown.grow(size)
            took = time.perf_counter() - at
            for name, (p50, p99) in grown.costs(times).items():
                costs.setdefault(name, {"p50": [], "p99": []})
                costs[name]["p50"].append(p50)
                costs[name]["p99"].append(p99)
            kept.append(grown.size)
            pace = (grown.size - before) / took
            written = getattr(grown, "pace", pace)  # by the product; how quickly the rest was copied is no figure
            growth.append({"a second": written, "bytes each": place.bytes() / grown.size})
            used = time.perf_counter() - began
            print(f"  {grown.size:,}: {took:.0f} s, {growth[-1]['bytes each']:,.0f} bytes each", flush=True)
            following = [larger for larger in sizes if larger > size][:1]
            if following and used + (following[0] - size) / pace > budget:
                print(f"  {following[0]:,} would take longer than {budget:g} s", flush=True)
                break
        place.store.close()
        place.filling.close()
    fits = {name: {part: fitted(kept, values) for part, values in parts.items()} for name, parts in costs.items()}
    return {"sizes": kept, "growth": growth, "milliseconds": costs, "fits": fits}


def show(subject: str, engine: str, found: dict, parts: Sequence[str] = ("p50", "p99")) -> None:
    heads = " | ".join(f"{size:,}" for size in found["sizes"])
    print(f"\n| {subject} on {engine}, ms | {heads} | fitted |\n| --- |{' ---: |' * len(found['sizes'])} --- |")
    for name, measured in found["milliseconds"].items():
        for part in parts:
            shown = " | ".join(f"{value:.2f}" for value in measured[part])
            print(f"| {name}, {part} | {shown} | {formula(found['fits'][name][part])} |")
    for what in ("bytes each", "a second"):
        shown = " | ".join(f"{step[what]:,.0f}" for step in found["growth"])
        print(f"| {'bytes of each' if what == 'bytes each' else 'written a second, in bulk'} | {shown} | |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subject", choices=[*sorted(SUBJECTS), "show"], help="`show` prints what was measured before")
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--times", type=int, default=200, help="calls of each kind at each size")
    parser.add_argument("--budget", type=float, default=480.0, help="seconds after which no larger size is begun")
    parser.add_argument("--out", type=Path, default=MEASURED)
    options = parser.parse_args()
    if options.subject == "show":
        for subject, engines in load(options.out).get("curves", {}).items():
            for engine, found in engines.items():
                show(subject, engine, found, parts=("p50",))
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    found = measure(options.subject, options.store, sorted(options.sizes), options.times, options.budget)
    show(options.subject, options.store, found)
    everything = load(options.out)
    everything.setdefault("curves", {}).setdefault(options.subject, {})[options.store] = found
    options.out.write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
