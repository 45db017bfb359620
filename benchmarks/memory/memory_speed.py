"""What remembering costs a turn, and what asking memory by time and meaning costs, on SQLite.

    python benchmarks/memory/memory_speed.py [--users 2000] [--facts 100] [--folder DIR] [--part asking]

Remembering: `RuleMemory.learn` on turns of small talk and on turns that state facts, for a user with 200 facts and a
past of 40 chats, without a model call; the encoder is the default one. Aim: 95 of 100 turns under 20 ms.

Asking: the ten facts of one user that were told in a period and are nearest to a vector, with the words of the
question, among the facts of all users. The vector of the question is given. Aim: 99 of 100 under 5 ms. A folder keeps
the rows for the next run. Nothing is asserted: read the table. Processor time stands beside: on a busy machine it is
the figure that means something, though it leaves out waiting for the disk.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from dragoman.core.clock import use_clock
from dragoman.core.values import Context, Passage, Scope, Source, Turn
from dragoman.memory import RuleMemory
from dragoman.memory.selection import best_facts
from dragoman.models.onnx.encoder import OnnxEncoder
from dragoman.models.scripted import ScriptedModel
from dragoman.stores import SqliteStore
from dragoman.text.analyse import Analyser

MEMORY = Source("MEMORY", about="user", private=True)
TALK = (
    "hello there",
    "what a lovely morning it is",
    "When does the ferry leave?",
    "I think that the museum was crowded yesterday",
    "thanks, that helps a lot",
    "Can you tell me more about the old lighthouse and who built it?",
)
PLACES = "Bern Basel Chur Lugano Geneva Lausanne Zug Thun Biel Olten".split()
THINGS = "tea jazz hiking chess opera cycling pottery sailing poetry baking".split()
DIMENSIONS = 384


class Given:
    """An encoder that gives one vector for every text, so that only the search is timed."""

    dimensions = DIMENSIONS

    def __init__(self, vectors: np.ndarray) -> None:
        self.vectors = vectors
        self.next = 0

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return np.stack([self.vectors[self.next % len(self.vectors)] for _ in texts])


def timed(calls: Sequence[Callable[[], object]]) -> list[tuple[float, float]]:
    """Seconds by the clock and of the processor for each call."""
    seconds = []
    for call in calls:
        started, worked = time.perf_counter(), time.process_time()
        call()
        seconds.append((time.perf_counter() - started, time.process_time() - worked))
    return seconds


def row(name: str, seconds: Sequence[tuple[float, float]]) -> str:
    cells = []
    for kind in (0, 1):
        ordered = sorted(each[kind] for each in seconds)
        cells += [ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000 for share in (0.5, 0.95, 0.99)]
    return f"{name:44} " + " ".join(f"{cell:8.2f}" for cell in cells) + f"   {len(seconds)}"


def remembering(folder: Path) -> list[str]:
    analyse, encoder = Analyser(language="en"), OnnxEncoder(weights="all-minilm-l6-v2-int8")
    store, ana = SqliteStore(path=folder / "turns.db", analyse=analyse), Scope("bench", "ana")
    memory = RuleMemory(
        store=store,
        encoder=encoder,
        analyse=analyse,
        sources=(MEMORY,),
        language_model=ScriptedModel(),
        ask_model=False,
    )
    for i in range(200):
        memory.remember(ana, f"I like {THINGS[i % 10]} number {i}.")
    for chat in range(40):
        store.append(ana, f"chat-{chat}", [Turn("user", f"{TALK[i % 6]} {i}") for i in range(20)])
    talk = [Context.of(f"{TALK[i % 6]} {i}", scope=ana) for i in range(300)]
    told = [Context.of(f"I live in {PLACES[i % 10]}.", scope=ana) for i in range(200)]
    lines = [
        row("a turn that states nothing", timed([lambda c=c: memory.learn([c]) for c in talk])),
        row("a turn that states a fact", timed([lambda c=c: memory.learn([c]) for c in told])),
    ]
    asked = [Context.of(f"Which plumber fixed our sink {i}?", scope=ana) for i in range(100)]
    lines.append(
        row("a question that past chats are searched for", timed([lambda c=c: memory.recollect(c) for c in asked]))
    )
    store.close()
    return lines


def asking(folder: Path, users: int, facts: int) -> str:
    rng, analyse = np.random.default_rng(3), Analyser(language="en")
    path = folder / f"facts-{users}-{facts}.db"
    is_new = not path.exists()
    store = SqliteStore(path=path, analyse=analyse)
    if is_new:
        for user in range(users):
            vectors = rng.standard_normal((facts, DIMENSIONS)).astype(np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            rows = [
                Passage(
                    f"fact-{i}",
                    "MEMORY",
                    f"I like {THINGS[i % 10]} in {PLACES[(i // 10) % 10]} number {i}.",
                    position=i,
                    meta={"slot": "likes", "said_at": f"20{10 + i % 16}-0{1 + i % 9}-02T10:00:00Z"},
                )
                for i in range(facts)
            ]
            store.put(Scope("bench", f"user-{user}"), rows, vectors)
    queries = rng.standard_normal((64, DIMENSIONS)).astype(np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    encoder, pick = Given(queries), random.Random(5)

    def ask() -> object:
        encoder.next += 1
        scope = Scope("bench", f"user-{pick.randrange(users)}")
        return best_facts(
            store,
            f"{THINGS[encoder.next % 10]} in {PLACES[encoder.next % 7]}",
            encoder=encoder,
            analyse=analyse,
            scope=scope,
            source="MEMORY",
            k=10,
            since="2015",
            until="2021",
        )

    timed([ask] * 20)
    seconds = timed([ask] * 1000)
    store.close()
    return row(f"by time and meaning, {users * facts:,} facts of {users:,}", seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=2000)
    parser.add_argument("--facts", type=int, default=100)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--part", choices=("remembering", "asking", "all"), default="all")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as passing, use_clock("2026-05-04T10:00:00Z"):
        folder = options.folder or Path(passing)
        folder.mkdir(parents=True, exist_ok=True)
        heads = " ".join(f"{head:>8}" for head in ("median", "95 %", "99 %", "cpu 50", "cpu 95", "cpu 99"))
        print(f"{'milliseconds':44} {heads}   calls")
        if options.part != "asking":
            for line in remembering(Path(passing)):
                print(line)
        if options.part != "remembering":
            print(asking(folder, options.users, options.facts))


if __name__ == "__main__":
    main()
