"""What keeping a fact costs: milliseconds per fact of ours, mem0's and LangMem's, on the same sentences in one run.

    python benchmarks/memory/memory_write.py [--facts 300] [--peers .venv/peers-memory] [--json FILE]

Every sentence states one fact ("I live in Bern."). mem0 and LangMem ask a language model what to keep; here a scripted
one answers at once with the sentence, so that only their own work is timed, and never what a model would cost on top.
Vectors are given to all three, by name, at no cost. Ours is timed a second time with its real encoder, which is all
that it needs: rules read the sentence. mem0 writes into faiss and its SQLite history, ours into SQLite, LangMem into
LangGraph's store in memory alone, since the one on SQLite needs a Python that loads extensions. One user, facts one
after the other. Milliseconds of the processor stand beside those of the clock: on a busy machine they are what means
something, though they leave out waiting for the disk. Nothing is asserted: read the table.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from dragoman.core.protocols import Encoder
from dragoman.core.values import Context, Scope, Source
from dragoman.memory import RuleMemory
from dragoman.models.onnx.encoder import OnnxEncoder
from dragoman.models.scripted import ScriptedModel
from dragoman.stores import SqliteStore
from dragoman.text.analyse import Analyser

sys.path.append(str(Path(__file__).parents[1]))
from shared.environments import install

PEERS = ("mem0ai", "faiss-cpu", "langmem")
NAMES = ("mem0", "langmem")
MEMORY = Source("MEMORY", about="user", private=True)
ANA = Scope("bench", "ana")
DIMENSIONS = 384
THINGS = (
    "old maps|jazz records|mountain huts|green tea|paper boats|wooden toys|film music|night trains|stone bridges|"
    "herb gardens|street markets|chess puzzles|sea birds|clay pots|spy novels|folk dances|city walks|snow shoes|"
    "rye bread|card tricks"
).split("|")
FRAMES = (
    "I like {}.",
    "I collect {}.",
    "I don't like {}.",
    "My sister loves {}.",
    "I am allergic to {}.",
)


def sentences(count: int) -> list[str]:
    """Sentences that state one fact each, no two of them the same."""
    return [FRAMES[i % len(FRAMES)].format(f"{THINGS[i % len(THINGS)]} from valley {i}") for i in range(count)]


class Given:
    """An encoder that gives each text a fixed vector at no cost."""

    dimensions = DIMENSIONS

    def __init__(self) -> None:
        self._vectors = np.random.default_rng(3).standard_normal((512, DIMENSIONS)).astype(np.float32)
        self._vectors /= np.linalg.norm(self._vectors, axis=1, keepdims=True)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return np.stack([self._vectors[sum(text.encode()) % 512] for text in texts])


def timed(keep: Callable[[str], object], texts: Sequence[str]) -> dict[str, float]:
    """Milliseconds per sentence, by the clock and of the processor."""
    clock, processor = [], []
    for text in texts:
        started, worked = time.perf_counter(), time.process_time()
        keep(text)
        clock.append((time.perf_counter() - started) * 1000)
        processor.append((time.process_time() - worked) * 1000)
    return {
        "median": float(np.median(clock)),
        "p95": float(np.percentile(clock, 95)),
        "cpu": float(np.mean(processor)),
        "cpu p95": float(np.percentile(processor, 95)),
    }


def ours(texts: Sequence[str], encoder: Encoder) -> dict[str, float]:
    analyse = Analyser(language="en")
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(path=Path(folder) / "facts.db", analyse=analyse)
        memory = RuleMemory(
            store=store,
            encoder=encoder,
            analyse=analyse,
            sources=(MEMORY,),
            language_model=ScriptedModel(),
            ask_model=False,
        )
        encoder.encode(["warm"])
        figures = timed(lambda text: memory.learn([Context.of(text, scope=ANA)]), texts)
        figures["kept"] = store.count(ANA, MEMORY.name)
        store.close()
    return figures


def peer(python: Path, name: str, texts: Sequence[str]) -> dict[str, float] | str:
    """The figures of a peer, or why there are none."""
    program = Path(__file__).with_name("memory_write_peers.py")
    done = subprocess.run(
        [str(python), str(program), name], input=json.dumps(texts), capture_output=True, text=True, check=False
    )
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return (done.stderr.strip().splitlines() or ["no output"])[-1]
    figures: dict[str, float] = json.loads(lines[-1])
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=int, default=300)
    parser.add_argument("--peers", type=Path, help="an environment with mem0 and LangMem; made where it is not there")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    texts = sentences(options.facts)
    rows: dict[str, dict[str, float] | str] = {
        "dragoman, vectors given": ours(texts, Given()),
        "dragoman, with its encoder": ours(texts, OnnxEncoder(weights="all-minilm-l6-v2-int8")),
    }
    if options.peers:
        python = install(options.peers, PEERS)
        rows |= {f"{name}, vectors and model given": peer(python, name, texts) for name in NAMES}
    heads = ("median", "p95", "cpu", "cpu p95", "kept")
    print(f"{'milliseconds per fact':36}" + "".join(f"{head:>10}" for head in heads))
    for name, figures in rows.items():
        if isinstance(figures, str):
            print(f"{name:36} no figure: {figures}")
        else:
            print(f"{name:36}" + "".join(f"{figures[head]:10.2f}" for head in heads))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
