"""PK-ICR's pairs at once against one at a time: three personas with five documents each, as in KBP.

    python benchmarks/speed/joint.py [--data FILE] [--encoder PART] [--knowledge PART] [--turns 40] [--threads 2]

By vectors, the question is encoded once a persona and once bare, and the documents' vectors are the store's; one at a
time encodes both sides of every pair. With a cross-encoder (`--knowledge`) all pairs pass in one call, or in one call
each. `--data` takes the turns of a set of dialogues with fifteen documents each (kbp/dev.json) in place of made ones,
`--encoder` a trained bi-encoder in place of the default encoder. Both ways take turns, so that both meet the same load;
nothing is kept from one turn to the next.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from dragoman.core.errors import DragomanError
from dragoman.core.examples import Example
from dragoman.core.protocols import Encoder
from dragoman.core.values import Context, Passage, Request, Scope, Source
from dragoman.datasets.open import open_dataset, resolve
from dragoman.models.onnx.encoder import OnnxEncoder
from dragoman.models.onnx.scorer import Scorer
from dragoman.models.part import open_part
from dragoman.retriever.joint import JointRetriever, pair_query
from dragoman.stores.in_memory import InMemoryStore
from dragoman.text.analyse import Analyser

PAIRS, WARM = 15, 3
PERSONA, DOCUMENTS = Source("PERSONA", about="bot", private=True), Source("DOCUMENTS", private=True)
PERSONAS = ("I keep the lighthouse above the harbour.", "I have two grey cats.", "I bake bread on Sundays.")
WORDS = "The {} was built in {} and is {} metres long; people come from {} towns to see how it is done by hand."


@dataclass(frozen=True, slots=True)
class Case:
    """A turn with its personas and documents."""

    context: Context
    sources: tuple[Source, ...]
    rows: tuple[Passage, ...]

    @property
    def question(self) -> str:
        return self.context.turns[-1].text

    def pairs(self) -> list[tuple[str, str]]:
        """What is asked with a document's own persona, and the document."""
        personas = {row.id: row.text for row in self.rows if row.parent is None}
        return [(pair_query(personas[row.parent], self.question), row.indexed) for row in self.rows if row.parent]


def made(count: int) -> list[Case]:
    """Three personas, and five documents each of about thirty words."""
    rows = [Passage(f"P{i}", "PERSONA", text) for i, text in enumerate(PERSONAS)]
    for i, persona in enumerate(PERSONAS):
        topic = persona.split()[-1].strip(".")
        for j in range(5):
            text = WORDS.format(topic, 1800 + 10 * j, 3 * j + i, j + 2)
            rows.append(Passage(f"P{i}K{j}", "DOCUMENTS", text, parent=f"P{i}"))
    asking = "What can you tell me about number {} of the things that you look after?"
    contexts = (Context.of(asking.format(turn), scope=Scope("bench", str(turn))) for turn in range(count))
    return [Case(context, (PERSONA, DOCUMENTS), tuple(rows)) for context in contexts]


def told(file: str, count: int) -> list[Case]:
    """The first turns of a set that have as many documents as there are pairs, each under a scope of its own."""
    cases = (
        Case(Context(one.context.turns, Scope("bench", one.id)), one.sources, one.candidates)
        for one in open_dataset(None, resolve(file)).examples()
        if isinstance(one, Example) and sum(row.parent is not None for row in one.candidates) == PAIRS
    )
    return list(islice(cases, count))


def milliseconds(ways: Sequence[Callable[[Case], object]], cases: Sequence[Case]) -> list[tuple[float, float]]:
    """The median and the 99th percentile of each way, which take turns."""
    taken: list[list[float]] = [[] for _ in ways]
    for case in cases[:WARM]:
        for way in ways:
            way(case)
    for case in cases:
        for way, seconds in zip(ways, taken, strict=True):
            began = time.perf_counter()
            way(case)
            seconds.append(time.perf_counter() - began)
    return [(float(np.percentile(each, 50)) * 1000, float(np.percentile(each, 99)) * 1000) for each in taken]


def ways_of(
    encoder: Encoder, knowledge: str | None, threads: int, cases: Sequence[Case]
) -> list[Callable[[Case], object]]:
    """All pairs of a turn at once, and one at a time."""
    store = InMemoryStore(analyse=Analyser())
    for case in cases:
        store.put(case.context.scope, case.rows, encoder.encode([row.indexed for row in case.rows]))
    joint = JointRetriever(store=store, encoder=encoder, pairing="children", knowledge=knowledge)
    scorer = Scorer(open_part(knowledge), threads=threads) if knowledge else None

    def together(case: Case) -> object:
        return joint.retrieve([Request(case.context, case.sources, 1)])

    def one_by_one(case: Case) -> object:
        if scorer is not None:
            return [scorer.scores([pair], "relevance") for pair in case.pairs()]
        return [encoder.encode([left])[0] @ encoder.encode([right])[0] for left, right in case.pairs()]

    return [together, one_by_one]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", help="a set of dialogues")
    parser.add_argument("--encoder", default="all-minilm-l6-v2-int8", help="a name of the catalogue or a part's folder")
    parser.add_argument("--knowledge", help="a cross-encoder: a part's name or folder")
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    try:
        cases = told(given.data, given.turns) if given.data else made(given.turns)
        encoder = OnnxEncoder(weights=given.encoder, cache=0, threads=given.threads)
        ways = ways_of(encoder, given.knowledge, given.threads, cases)
    except DragomanError as error:
        sys.exit(str(error))
    first, last = milliseconds(ways, cases)
    print(f"{len(cases)} turns; {given.threads} threads, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}")
    print(f"{f'{PAIRS} pairs':20} {'p50 ms':>8} {'p99 ms':>8}")
    print(f"{'at once':20} {first[0]:8.1f} {first[1]:8.1f}")
    print(f"{'one at a time':20} {last[0]:8.1f} {last[1]:8.1f}   {last[0] / first[0]:.1f} times as long")


if __name__ == "__main__":
    main()
