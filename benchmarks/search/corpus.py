"""A shared corpus of any size in the store: written, indexed, searched, changed, rebuilt, damaged.

    python benchmarks/search/corpus.py --passages 1000000 --folder /tmp/corpus

Each step runs in a process of its own, whose peak memory is shown. What is in the folder already is not made again, so
that a run that was broken off goes on; `--steps fill,index` does some of it. The corpus is synthetic
(`shared/corpus.py`: Zipf words of topics, vectors in clusters within clusters), read by the default analyser of
English. `encode` measures the real default encoder on its passages. `ingest` brings passages of real English through
the whole of `dragoman ingest`, by the default encoder and by a static one that is distilled from it first. `real`
measures recall on the default encoder's vectors of the sentences in $DRAGOMAN_DATA, at most `--passages` of them.
Nothing is asserted: read the table.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path

import numpy as np
from _sentences import encoded, sentences

from dragoman.core.protocols import Encoder, passage_vectors
from dragoman.core.values import Hit, Passage, Query, Scope, Source
from dragoman.retriever.hybrid import reciprocal_ranks
from dragoman.sources.ingest import ingest
from dragoman.stores import SqliteStore
from dragoman.stores.bm25 import lucene_idf, saturation
from dragoman.text.analyse import Analyser

sys.path.append(str(Path(__file__).parents[1]))
from shared.corpus import CHUNK, DIMENSIONS, Corpus
from shared.timing import milliseconds

SCOPE = Scope("bench", "")
SOURCE = "DOCS"
K, POOL = 10, 50  # what the default retriever asks either search for before it fuses them
BATCH = 5000
STEPS = ("fill", "index", "truth", "search", "update", "rebuild", "damage", "words", "encode", "ingest", "real")
BY_DEFAULT, SAMPLE = 600, 1000  # passages that the default encoder is given, in an ingest and to be distilled from


def line(name: str, value: str, wanted: str = "") -> None:
    print(f"{name:<58}{value:>34}  {wanted}", flush=True)


@dataclass(frozen=True)
class Bench:
    """The corpus, its store in a folder, and questions with exact answers."""

    folder: Path
    passages: int
    questions: int

    @cached_property
    def corpus(self) -> Corpus:
        return Corpus(self.passages)

    @cached_property
    def analyse(self) -> Analyser:
        return Analyser(language="en")

    @contextlib.contextmanager
    def store(self, name: str = "store.db") -> Iterator[SqliteStore]:
        store = SqliteStore(path=self.folder / name, analyse=self.analyse)
        try:
            yield store
        finally:
            store.close()

    @cached_property
    def queries(self) -> list[Query]:
        words, vectors = self.corpus.questions(self.questions)
        tokens = [tuple(token for word in each for token in self.analyse(word)) for each in words]
        return [
            Query(SCOPE, SOURCE, K, said, tuple(vector.tolist())) for said, vector in zip(tokens, vectors, strict=True)
        ]

    def fill(self) -> None:
        """Write what is not there yet."""
        with self.store() as store:
            present = store.count(SCOPE, SOURCE)
            began, written, spent = time.perf_counter(), 0, 0.0
            for chunk in self.corpus.chunks(present // CHUNK):
                rows = [
                    Passage(f"r{chunk.first + i}", SOURCE, self.corpus.text(ranks), position=chunk.first + i)
                    for i, ranks in enumerate(chunk.ranks)
                ]
                start = time.perf_counter()
                for at in range(0, len(rows), BATCH):
                    written += store.put(SCOPE, rows[at : at + BATCH], chunk.vectors[at : at + BATCH])
                spent += time.perf_counter() - start
            size = sum(path.stat().st_size for path in self.folder.glob("store.db*"))
            if written:
                line("fill: passages with given vectors, a minute", f"{written / spent * 60:,.0f}")
            line("fill: rows, and the size of the file", f"{store.count(SCOPE, SOURCE):,}, {size / 2**30:.2f} GiB")
            line("fill: seconds, with making the corpus", f"{time.perf_counter() - began:.0f}")

    def index(self) -> None:
        """Build what is missing of both indexes."""
        with self.store() as store:
            began = time.perf_counter()
            store.refresh_index(SCOPE, SOURCE)
            seconds = time.perf_counter() - began
        size = sum(path.stat().st_size for path in (self.folder / "index").rglob("*") if path.is_file())
        line("index: words and vectors, seconds", f"{seconds:.0f}")
        line("index: size", f"{size / 2**20:,.0f} MiB")

    def truth(self) -> None:
        """The exact answers, in one pass over the corpus."""
        path = self.folder / f"truth-{self.passages}-{self.questions}.npz"
        if path.exists():
            return
        began = time.perf_counter()
        words, vectors = exact(self, self.queries)
        np.savez(path, words=words, vectors=vectors)
        line("truth: exact search of everything, seconds", f"{time.perf_counter() - began:.0f}")

    def search(self) -> None:
        """Latency and recall of BM25, of vectors and of both."""
        truth = np.load(self.folder / f"truth-{self.passages}-{self.questions}.npz")
        best_words, best_near = truth["words"], truth["vectors"]
        queries = self.queries  # made before anything is timed
        with self.store() as store:
            began = time.perf_counter()
            store.lexical(queries[:1]), store.nearest(queries[:1])
            line("search: the first of a process, ms", f"{(time.perf_counter() - began) * 1000:.0f}")
            ways: dict[str, tuple[Callable[[Query], Sequence[Hit]], list[list[int]], str]] = {
                "BM25": (lambda q: store.lexical([q])[0], top(best_words), "p50 < 10"),
                "vectors": (lambda q: store.nearest([q])[0], top(best_near), ""),
                "both": (lambda q: both(store, q), fused(best_words, best_near), "p50 < 25"),
            }
            for name, (way, best, wanted) in ways.items():
                found = [[hit.passage.position for hit in way(query)] for query in self.queries]
                timed = milliseconds([lambda q=query, w=way: w(q) for query in self.queries])
                worked = milliseconds([lambda q=query, w=way: w(q) for query in self.queries], time.thread_time)
                shared = sum(len(set(a) & set(b)) for a, b in zip(found, best, strict=True))
                recall = shared / sum(map(len, best))
                shown = f"{timed[0]:.2f} / {timed[1]:.2f} ms, recall {recall:.3f}"
                line(f"search: {name}, p50 / p99, recall@{K}", shown, f"{wanted}, recall 0.95".lstrip(", "))
                line(f"search: {name}, of it on the processor", f"{worked[0]:.2f} / {worked[1]:.2f} ms")

    def update(self) -> None:
        """How soon a new, a changed and a removed passage show in both searches."""
        with self.store() as store:
            store.refresh_index(SCOPE, SOURCE)
            store.lexical(self.queries[:1]), store.nearest(self.queries[:1])
            like = self.corpus.chunk(0).vectors  # new passages are about what the others are about
            chance = np.random.default_rng(time.time_ns())

            def vectors_of(count: int) -> np.ndarray:
                near = like[chance.choice(len(like), count)] + 0.02 * chance.normal(size=(count, DIMENSIONS))
                return near.astype(np.float32)

            for name, count in (("one new passage", 1), ("a thousand new passages", 1000)):
                vectors = vectors_of(count)
                rows = [Passage(f"new{time.time_ns()}-{i}", SOURCE, f"zeppelin ferry {i}") for i in range(count)]
                taken = seen_after(store, lambda r=rows, v=vectors: store.put(SCOPE, r, v), rows[-1].id, vectors[-1])
                line(f"update: {name}, s until both searches find it", f"{taken:.2f}", "1")
                store.remove(SCOPE, [row.id for row in rows])
                store.lexical(self.queries[:1]), store.nearest(self.queries[:1])
            middle = self.passages // 2
            (old,) = store.get(SCOPE, [f"r{middle}"])
            assert old is not None
            vector = vectors_of(1)
            changed = Passage(old.id, SOURCE, f"zeppelin {old.text}", position=old.position)
            taken = seen_after(store, lambda: store.put(SCOPE, [changed], vector), old.id, vector[0])
            line("update: a changed passage in the middle, the same", f"{taken:.2f}", "1")
            own = self.corpus.chunk(middle // CHUNK).vectors[middle % CHUNK][None]
            store.put(SCOPE, [old], own)
            began = time.perf_counter()
            store.remove(SCOPE, [old.id])
            gone = time.perf_counter() - began
            store.lexical(self.queries[:1]), store.nearest(self.queries[:1])
            line("update: a removed passage: removed, searched again", f"{gone:.2f}, {time.perf_counter() - began:.2f}")
            store.put(SCOPE, [old], own)
            store.refresh_index(SCOPE, SOURCE)

    def rebuild(self) -> None:
        """Searches while the index is made anew."""
        with self.store() as store:
            store.lexical(self.queries[:1]), store.nearest(self.queries[:1])
            done, taken = threading.Event(), []

            def search() -> None:
                while not done.is_set():
                    for query in self.queries:
                        began = time.perf_counter()
                        assert store.lexical([query])[0] and store.nearest([query])[0]
                        taken.append((time.perf_counter() - began) * 1000)
                        time.sleep(0.05)
                        if done.is_set():
                            return

            thread = threading.Thread(target=search)
            thread.start()
            began = time.perf_counter()
            try:
                store.rebuild_index(SCOPE, SOURCE)
            finally:
                done.set()
                thread.join()
            line("rebuild: seconds, while it is searched", f"{time.perf_counter() - began:.0f}")
            shown = f"{np.percentile(taken, 50):.1f} / {np.percentile(taken, 99):.1f} / {max(taken):.0f} ms"
            line(f"rebuild: {len(taken):,} searches meanwhile, p50 / p99 / longest", shown)

    def damage(self) -> None:
        """One shard of words and one of vectors overwritten: what the next search makes of it."""
        with self.store() as store:
            before = [store.lexical(self.queries[:20]), store.nearest(self.queries[:20])]
        for kind in ("words", "vectors"):
            shards = [path for path in (self.folder / "index").glob(f"*/{kind}/*") if path.suffix != ".json"]
            if not shards:
                line(f"damage: {kind}", "too few passages for an index")
                continue
            shard = sorted(shards)[0]
            victim = max(shard.iterdir(), key=lambda file: file.stat().st_size) if shard.is_dir() else shard
            with victim.open("r+b") as file:
                file.seek(victim.stat().st_size // 2)
                file.write(b"damage" * 20)
            with self.store() as store:
                (state,) = store.check_index(SCOPE)
                print(f"damage: the check says: {'; '.join(state.problems)}")
                began = time.perf_counter()
                store.lexical(self.queries[:1]), store.nearest(self.queries[:1])
                line(f"damage: a shard of {kind} of {len(shards)}, mended in, s", f"{time.perf_counter() - began:.1f}")
        with self.store() as store:
            after = [store.lexical(self.queries[:20]), store.nearest(self.queries[:20])]
            same = sum(a == b for x, y in zip(before, after, strict=True) for a, b in zip(x, y, strict=True))
            line("damage: answers as before", f"{same} of 40")

    def words(self) -> None:
        """Ingest without vectors into a store of its own, index and all."""
        count = min(self.passages, 200_000)
        for path in self.folder.glob("words.db*"):
            path.unlink()
        shutil.rmtree(self.folder / "words", ignore_errors=True)
        (self.folder / "words").mkdir()
        spent, worked = 0.0, 0.0  # by the clock, and by the processor, which others cannot take
        with self.store("words/words.db") as store:
            for chunk in Corpus(count).chunks():
                texts = [self.corpus.text(ranks) for ranks in chunk.ranks]
                began, at_work = time.perf_counter(), time.process_time()
                rows = [Passage(f"r{chunk.first + i}", SOURCE, text) for i, text in enumerate(texts)]
                for at in range(0, len(rows), BATCH):
                    store.put(SCOPE, rows[at : at + BATCH])
                spent, worked = spent + time.perf_counter() - began, worked + time.process_time() - at_work
            put = spent
            began, at_work = time.perf_counter(), time.process_time()
            store.refresh_index(SCOPE, SOURCE)
            spent, worked = spent + time.perf_counter() - began, worked + time.process_time() - at_work
        line("words: passages a minute without vectors", f"{count / spent * 60:,.0f}", "500,000")
        line("words: passages a minute of the processor, one core", f"{count / worked * 60:,.0f}")
        line("words: of it analysed and written, indexed, s", f"{put:.1f}, {spent - put:.1f}")

    def encode(self) -> None:
        """The default encoder on this corpus's passages and on short ones."""
        from dragoman.models.onnx.encoder import OnnxEncoder

        encoder = OnnxEncoder(cache=0)
        encoder.warm_up()
        long = english(192)
        short = [" ".join(text.split()[:12]) for text in long]
        for name, texts in (("of about 60 words", long), ("of 12 words", short)):
            encoder.encode(texts[:32])
            began = time.process_time(), time.perf_counter()
            encoder.encode(texts)
            cpu, wall = time.process_time() - began[0], time.perf_counter() - began[1]
            shown = f"{len(texts) / wall * 60:,.0f}, {len(texts) / cpu * 60:,.0f}"
            line(f"encode: passages {name} a minute: in all, a core", shown, "10,000 a core")

    def ingest(self) -> None:
        """Files into a store and its index, with vectors: the default encoder and a static one, twice by turns."""
        from dragoman.models import OnnxEncoder, StaticEncoder
        from dragoman.train.distil.static_encoder import distil

        part = self.folder / "static"
        if not (part / "part.json").exists():
            began = time.perf_counter()
            metrics = distil(english(SAMPLE), part).made["metrics"]
            line(f"ingest: distilled from {SAMPLE:,} passages in, s", f"{time.perf_counter() - began:.0f}")
            line(
                "ingest: cosine on those held out, neighbours", f"{metrics['cosine']:.3f}, {metrics['neighbours']:.3f}"
            )
        many = min(self.passages, 20_000)
        for turn in (1, 2):
            for name, encoder, count in (
                ("default encoder", OnnxEncoder(cache=0), BY_DEFAULT),
                ("static encoder", StaticEncoder(part=str(part)), many),
            ):
                wall, cpu = self._ingested(encoder, english(count), f"{name[:2]}{turn}")
                shown = f"{count / wall * 60:,.0f}, {count / cpu * 60:,.0f}"
                line(f"ingest: {name}, {count:,}, a minute: in all, a core", shown, "10,000 a core")

    def _ingested(self, encoder: Encoder, texts: Sequence[str], name: str) -> tuple[float, float]:
        """Seconds by the clock and of the processor, from the file to the index; loading the encoder is no part."""
        folder = self.folder / "ingest" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        file = folder / "passages.jsonl"
        file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
        passage_vectors(encoder, texts[:32])
        with self.store(str(Path("ingest", name, "store.db"))) as store:
            began = time.perf_counter(), time.process_time()
            report = ingest(store, encoder, Source(SOURCE), [file], scope=SCOPE, base=folder)
            taken = time.perf_counter() - began[0], time.process_time() - began[1]
        assert report.added == len(texts) and not report.failed
        return taken

    def real(self) -> None:
        """Recall of the index on real sentences, encoded by the default encoder; the questions are not among them."""
        data = os.environ.get("DRAGOMAN_DATA")
        if not data:
            line("real: left out", "DRAGOMAN_DATA is not set")
            return
        texts = sentences(Path(data))[: self.passages + self.questions]
        folder = self.folder / "real"
        folder.mkdir(exist_ok=True)
        vectors = encoded(texts, folder)
        asked, rows = vectors[: self.questions], vectors[self.questions :]
        passages = [Passage(f"r{i}", SOURCE, text, position=i) for i, text in enumerate(texts[self.questions :])]
        queries = [Query(SCOPE, SOURCE, K, vector=tuple(vector.tolist())) for vector in asked]
        with self.store("real/store.db") as store:
            for at in range(store.count(SCOPE, SOURCE), len(passages), BATCH):
                store.put(SCOPE, passages[at : at + BATCH], rows[at : at + BATCH])
            began = time.perf_counter()
            store.refresh_index(SCOPE, SOURCE)
            line(f"real: {len(rows):,} sentences, indexed in, s", f"{time.perf_counter() - began:.0f}")
            found = [[hit.passage.position for hit in store.nearest([query])[0]] for query in queries]
            timed = milliseconds([lambda q=query: store.nearest([q]) for query in queries])
        cosines = asked @ rows.T
        least = np.sort(cosines, axis=1)[:, -K] - 1e-6  # rows that are as near as the last of the best count as it does
        kept = sum(int(np.sum(cosines[i, each] >= least[i])) for i, each in enumerate(found))
        shown = f"{timed[0]:.2f} / {timed[1]:.2f} ms, recall {kept / (K * len(found)):.3f}"
        line(f"real: vectors, p50 / p99, recall@{K}", shown, "recall 0.95")


def english(count: int) -> list[str]:
    """Passages of 60 words of real English, from our own pages: an encoder cuts made-up words into many pieces.

    No two are the same: where the pages are through, the next ones begin some words later.
    """
    pages = sorted(Path(__file__).parents[2].joinpath("docs").glob("*.md"))
    said = " ".join(page.read_text("utf-8") for page in pages).replace("|", " ").split()
    starts = (at for first in range(60) for at in range(first, len(said) - 60, 60))
    return list(dict.fromkeys(" ".join(said[at : at + 60]) for at in starts))[:count]


def seen_after(store: SqliteStore, act: Callable[[], object], id: str, vector: np.ndarray) -> float:
    """Seconds from the beginning of a write until both searches find its row."""
    query = Query(SCOPE, SOURCE, 2000, ("zeppelin",))
    near = Query(SCOPE, SOURCE, K, vector=tuple(vector.tolist()))
    began = time.perf_counter()
    act()
    for search, asked in ((store.lexical, query), (store.nearest, near)):
        while id not in {hit.passage.id for hit in search([asked])[0]}:
            if time.perf_counter() - began > 30:
                return float("nan")  # a graph finds nearly every row, not every one
    return time.perf_counter() - began


def both(store: SqliteStore, query: Query) -> list[Hit]:
    """As the default retriever finds its candidates."""
    wide = Query(query.scope, query.source, POOL, query.tokens, query.vector)
    lists = [store.lexical([wide])[0], store.nearest([wide])[0]]
    hits = {hit.passage.position: hit for found in lists for hit in found}
    ranks = reciprocal_ranks([[str(hit.passage.position) for hit in found] for found in lists])
    return [hits[int(key)] for key in best_of(ranks)]


def best_of(ranks: dict[str, float]) -> list[str]:
    return sorted(ranks, key=lambda key: (-ranks[key], int(key)))[:K]


def top(best: np.ndarray) -> list[list[int]]:
    return [[int(row) for row in each[:K] if row >= 0] for each in best]


def fused(words: np.ndarray, near: np.ndarray) -> list[list[int]]:
    return [
        [int(key) for key in best_of(reciprocal_ranks([[str(row) for row in a if row >= 0], [str(row) for row in b]]))]
        for a, b in zip(words, near, strict=True)
    ]


def exact(bench: Bench, queries: Sequence[Query]) -> tuple[np.ndarray, np.ndarray]:
    """The best rows of each query by BM25 and by cosine; -1 where there are fewer."""
    corpus = bench.corpus
    asked = sorted({token for query in queries for token in query.tokens})
    number = {token: i for i, token in enumerate(asked)}
    stems = [bench.analyse(word) for word in corpus.vocabulary]
    wanted = np.array([number.get(stem[0], -1) if stem else -1 for stem in stems])
    counted = np.array([len(stem) for stem in stems])
    directions = np.array([query.vector for query in queries], dtype=np.float32)
    near_rows = np.full((len(queries), POOL), -1)
    near_scores = np.full((len(queries), POOL), -np.inf, dtype=np.float32)
    lengths, held_rows, held_tokens, held_times = [], [], [], []
    for chunk in corpus.chunks():
        flat, sizes = np.concatenate(chunk.ranks), np.array([len(ranks) for ranks in chunk.ranks])
        rows = np.repeat(np.arange(len(sizes)), sizes)
        lengths.append(np.bincount(rows, weights=counted[flat], minlength=len(sizes)))
        mask = wanted[flat] >= 0
        pairs, times = np.unique(rows[mask] * len(asked) + wanted[flat[mask]], return_counts=True)
        held_rows.append(pairs // len(asked) + chunk.first)
        held_tokens.append(pairs % len(asked))
        held_times.append(times)
        scores = np.concatenate([near_scores, directions @ chunk.vectors.T], axis=1)
        each = np.concatenate([near_rows, np.tile(np.arange(len(sizes)) + chunk.first, (len(queries), 1))], axis=1)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :POOL]
        near_scores, near_rows = np.take_along_axis(scores, order, 1), np.take_along_axis(each, order, 1)
    length = np.concatenate(lengths)
    rows, tokens, times = np.concatenate(held_rows), np.concatenate(held_tokens), np.concatenate(held_times)
    order = np.argsort(tokens, kind="stable")
    rows, times, bounds = rows[order], times[order], np.searchsorted(tokens[order], np.arange(len(asked) + 1))
    best = np.full((len(queries), POOL), -1)
    for i, query in enumerate(queries):
        scores = np.zeros(len(length))
        for token in query.tokens:
            held = slice(bounds[number[token]], bounds[number[token] + 1])
            weight = lucene_idf(len(length), held.stop - held.start)
            part = saturation(times[held].astype(float), length[rows[held]], float(length.mean()))
            scores[rows[held]] += weight * part
        found = np.argpartition(-scores, POOL)[:POOL] if len(scores) > POOL else np.arange(len(scores))
        found = [row for row in sorted(found.tolist(), key=lambda row: (-scores[row], row)) if scores[row] > 0]
        best[i, : len(found)] = found
    return best, near_rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--folder", type=Path, help="where the store lies and stays; else it is thrown away")
    parser.add_argument("--steps", default=",".join(STEPS), help="some of them, separated by commas")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        if options.step:
            getattr(Bench(folder, options.passages, options.questions), options.step)()
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            line(f"{options.step}: peak memory of the process", f"{peak:.2f} GiB", "4")
            return 0
        print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {date.today()}")
        print(
            f"{options.passages:,} passages of about 60 words, {DIMENSIONS} dimensions, {options.questions} questions"
        )
        for step in options.steps.split(","):
            size = ["--passages", str(options.passages), "--questions", str(options.questions)]
            arguments = [sys.executable, __file__, *size, "--folder", str(folder), "--step", step]
            if code := subprocess.run(arguments, check=False).returncode:
                return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
