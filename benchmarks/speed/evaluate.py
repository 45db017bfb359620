"""What an experiment costs beside its components: BM25 retrieval on gold plans, as the runner does it and by hand.

    DRAGOMAN_DATA=... python benchmarks/speed/evaluate.py                 KBP train, 9,821 turns
    python benchmarks/speed/evaluate.py --kind toy                        the shipped set
    python benchmarks/speed/evaluate.py --kind jsonl --file turns.jsonl   a set of one's own

`total` is everything: reading the file twice (once to check it), analysis, retrieval and writing rows. `overhead` is
what the runner takes above the same components called by hand on the same batches, without reading and writing.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time

from dragoman.core.examples import Example
from dragoman.core.values import ReadTask, Request
from dragoman.evaluate.results import Outcome
from dragoman.evaluate.running.dataset_table import DatasetTable, open_table
from dragoman.evaluate.running.run_folder import RunFolder
from dragoman.evaluate.running.runner import run_table
from dragoman.evaluate.spec import DataSpec, SystemSpec
from dragoman.evaluate.systems.oracles import GoldAnswers, GoldPlanner, SilentReader
from dragoman.gate.fixed import AlwaysGate
from dragoman.retriever.sparse import SparseRetriever
from dragoman.stores.in_memory import InMemoryStore
from dragoman.text.analyse import SNOWBALL, Analyser

LIMIT_SECONDS = 30.0
LIMIT_OVERHEAD = 0.05
SYSTEM = {
    "name": "BM25",
    "planner": {"kind": "planner.gold.v1"},
    "retriever": {"kind": "retriever.sparse.v1"},
    "reader": {"kind": "reader.silent.v1"},
    "k": 1,
}


class Nowhere:
    """Rows that are not kept."""

    def done(self, block: str, system: str) -> int:
        return 0

    def append(self, block: str, system: str, outcomes: Sequence[Outcome]) -> None: ...

    def outcomes(self, block: str, system: str) -> Iterator[Outcome]:
        return iter(())


class Loaded(DatasetTable):
    """A set that was read already."""

    def __init__(self, block: DatasetTable, found: Sequence[Example]) -> None:
        super().__init__(block.spec, block.dataset)
        self._found = found

    def examples(self) -> Iterator[Example]:
        return iter(self._found)


def by_hand(block: DatasetTable, found: Sequence[Example], batch: int) -> float:
    """Processor seconds of the components alone, called on the same batches."""
    began = process_time()
    analyse = Analyser(language=block.language if block.language in SNOWBALL else "auto")
    store = InMemoryStore(analyse=analyse)
    answers = GoldAnswers()
    gate, planner = AlwaysGate(), GoldPlanner(answers=answers)
    retriever, reader = SparseRetriever(store=store, analyse=analyse), SilentReader()
    sources = {source.name: source for source in block.sources}
    put = set()
    examples = iter(found)
    while chunk := list(islice(examples, batch)):
        answers.know(chunk)
        for example in chunk:
            if example.context.scope not in put:
                put.add(example.context.scope)
                store.put(example.context.scope, example.candidates)
        contexts = [example.context for example in chunk]
        gate.decide(contexts)
        plans = planner.plan(contexts, block.sources)
        evidence: list[tuple] = [() for _ in contexts]
        for step in range(max(len(plan.steps) for plan in plans)):
            asked = [i for i, plan in enumerate(plans) if len(plan.steps) > step]
            requests = [
                Request(
                    contexts[i],
                    tuple(sources[name] for name in plans[i].steps[step]),
                    1,
                    evidence[i],
                    frozenset(piece.id for piece in evidence[i]),
                )
                for i in asked
            ]
            for i, pieces in zip(asked, retriever.retrieve(requests), strict=True):
                evidence[i] += tuple(pieces)
        reader.read([ReadTask(*task) for task in zip(contexts, plans, evidence, strict=True)])
    return process_time() - began


def by_runner(block: DatasetTable, batch: int) -> float:
    began = process_time()
    run_table(block, lambda view: block, [SystemSpec(**SYSTEM)], Nowhere(), seed=1, batch=batch)
    return process_time() - began


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--kind", default="kbp")
    arguments.add_argument("--file", default=None)
    arguments.add_argument("--batch", type=int, default=64)
    arguments.add_argument("--limit", type=int, default=None)
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    file = given.file or ("kbp/train.json" if given.kind == "kbp" else None)
    spec = DataSpec(name="set", kind=given.kind, file=file)

    began, worked = perf_counter(), process_time()
    block = open_table(spec, limit=given.limit)
    with tempfile.TemporaryDirectory() as place, RunFolder(Path(place) / "run") as rows:
        run_table(block, lambda view: block, [SystemSpec(**SYSTEM)], rows, seed=1, batch=given.batch)
    total, worked = perf_counter() - began, process_time() - worked
    found = list(block.examples())
    loaded = Loaded(block, found)
    hand = min(by_hand(loaded, found, given.batch) for _ in range(given.rounds))
    runner = min(by_runner(loaded, given.batch) for _ in range(given.rounds))
    overhead = runner / hand - 1
    print(f"{'turns':<28}{len(found):>10}")
    print(f"{'total, with reading and rows':<28}{total:>10.2f} s   (limit {LIMIT_SECONDS:.0f} s for 10,000 turns)")
    print(f"{'of it, on the processor':<28}{worked:>10.2f} s")
    print(f"{'components by hand':<28}{hand:>10.2f} s")
    print(f"{'the same by the runner':<28}{runner:>10.2f} s")
    print(f"{'overhead':<28}{100 * overhead:>10.1f} %   (limit {100 * LIMIT_OVERHEAD:.0f} %)")


if __name__ == "__main__":
    main()
