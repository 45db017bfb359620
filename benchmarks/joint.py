"""PK-ICR's pairs at once against one at a time: three personas with five documents each, as in KBP.

    python benchmarks/joint.py [--knowledge PART] [--turns 40]

By vectors, the question is encoded once a persona and the documents' vectors are the store's; one at a time encodes
both sides of every pair. With a cross-encoder (`--knowledge`) all pairs pass in one call, or in one call each.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

import numpy as np

from dragoman.core.values import Context, Passage, Request, Scope, Source
from dragoman.models.onnx import OnnxEncoder
from dragoman.models.part import open_part
from dragoman.models.scorer import Scorer
from dragoman.retriever.joint import JointRetriever, asked
from dragoman.stores.in_memory import InMemoryStore
from dragoman.text.analyse import Analyser

PERSONA, DOCUMENTS = Source("PERSONA", about="bot", private=True), Source("DOCUMENTS", private=True)
PERSONAS = ("I keep the lighthouse above the harbour.", "I have two grey cats.", "I bake bread on Sundays.")
WORDS = "The {} was built in {} and is {} metres long; people come from {} towns to see how it is done by hand."


def passages() -> list[Passage]:
    """Three personas, and five documents each of about thirty words."""
    rows = [Passage(f"P{i}", "PERSONA", text) for i, text in enumerate(PERSONAS)]
    for i, persona in enumerate(PERSONAS):
        topic = persona.split()[-1].strip(".")
        for j in range(5):
            text = WORDS.format(topic, 1800 + 10 * j, 3 * j + i, j + 2)
            rows.append(Passage(f"P{i}K{j}", "DOCUMENTS", text, parent=f"P{i}"))
    return rows


def timed(call: Callable[[int], object], turns: int) -> tuple[float, float]:
    """Milliseconds a turn: the median and the 99th percentile."""
    for turn in range(3):
        call(-turn - 1)
    seconds = []
    for turn in range(turns):
        began = time.perf_counter()
        call(turn)
        seconds.append(time.perf_counter() - began)
    return float(np.percentile(seconds, 50) * 1000), float(np.percentile(seconds, 99) * 1000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--knowledge", help="a cross-encoder: a part's name or folder")
    parser.add_argument("--turns", type=int, default=40)
    given = parser.parse_args()
    encoder = OnnxEncoder(cache=0)
    store, scope, rows = InMemoryStore(analyse=Analyser()), Scope("bench", "me"), passages()
    store.put(scope, rows, encoder.encode([row.indexed for row in rows]))
    options = {"knowledge": given.knowledge} if given.knowledge else {}
    joint = JointRetriever(store=store, encoder=encoder, pairing="children", **options)
    scorer = Scorer(open_part(given.knowledge)) if given.knowledge else None

    def question(turn: int) -> str:
        return f"What can you tell me about number {turn} of the things that you look after?"

    def together(turn: int) -> object:
        context = Context.of(question(turn), scope=scope)
        return joint.retrieve([Request(context, (PERSONA, DOCUMENTS), 1)])

    def one_by_one(turn: int) -> object:
        for row in rows[3:]:
            said = asked(PERSONAS[int(row.parent[1:] if row.parent else 0)], question(turn))
            if scorer is not None:
                scorer.scores([(said, row.indexed)], "relevance")
            else:
                left, right = encoder.encode([said])[0], encoder.encode([row.indexed])[0]
                float(left @ right)
        return None

    print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    first, last = timed(together, given.turns), timed(one_by_one, given.turns)
    print(f"{'15 pairs':20} {'p50 ms':>8} {'p99 ms':>8}")
    print(f"{'at once':20} {first[0]:8.1f} {first[1]:8.1f}")
    print(f"{'one at a time':20} {last[0]:8.1f} {last[1]:8.1f}   {last[0] / first[0]:.1f} times as long")


if __name__ == "__main__":
    main()
