"""What the loop itself costs: five stub steps a turn, beside the same five steps in other frameworks.

    python benchmarks/speed/loop.py             Dragoman alone
    python benchmarks/speed/loop.py --peers     with the others, installed into an environment of their own
    python benchmarks/speed/loop.py --peers DIR the same, with the environment kept in DIR

Microseconds are the best of several rounds, so that whatever else the machine does counts least.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter

from dragoman import Agent, Context, Draft, Evidence, Passage, Plan, ReadTask, Request, Source
from dragoman.testing.stubs import StubGate, StubPlanner

sys.path.append(str(Path(__file__).parents[1]))
from shared.environments import install

PEERS = ("haystack-ai", "langgraph", "llama-index-core")
LIMITS = {1: 60.0, 256: 15.0}
ROUNDS = 30


class ConstantRetriever:
    """The same evidence for every request: what is measured is the loop, not the stub."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._by_source = {passage.source: (Evidence(passage, 0.5),) for passage in passages}

    def retrieve(self, requests: Sequence[Request]) -> Sequence[Sequence[Evidence]]:
        return [self._by_source[request.sources[0].name] for request in requests]


class ConstantReader:
    """The same draft for every task."""

    _draft = Draft("It costs 34 francs.")

    def read(self, tasks: Sequence[ReadTask]) -> Sequence[Draft]:
        return [self._draft] * len(tasks)

    def stream(self, task: ReadTask) -> Iterator[str | Draft]:
        yield self._draft.text
        yield self._draft


def agent() -> Agent:
    """Gate, plan, two retrievals, the second dependent on the first, and a reading."""
    return Agent(
        gate=StubGate(),
        planner=StubPlanner(Plan((("PERSONA",), ("DOCUMENTS",)))),
        retriever=ConstantRetriever([Passage("p", "PERSONA", "text"), Passage("d", "DOCUMENTS", "text")]),
        reader=ConstantReader(),
        sources=(Source("PERSONA"), Source("DOCUMENTS", needs=("PERSONA",))),
    )


def microseconds(batch: int) -> float:
    """The cost of a turn in a batch."""
    loop = agent()
    contexts = [Context.of("Hello.", "Hello!", f"What does trip {i} cost?") for i in range(batch)]
    repeats = max(1, 1024 // batch)
    best = float("inf")
    for _ in range(ROUNDS):
        began = perf_counter()
        for _ in range(repeats):
            loop.run(contexts)
        best = min(best, perf_counter() - began)
    return best / repeats / batch * 1e6


def peers(python: Path) -> dict[str, float | str]:
    """The same steps in the other frameworks."""
    script = Path(__file__).with_name("peers.py")
    done = subprocess.run([str(python), str(script)], check=True, capture_output=True, text=True)
    measured: dict[str, float | str] = json.loads(done.stdout.splitlines()[-1])
    return measured


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", nargs="?", const="", metavar="DIR", help="measure the other frameworks too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        python = None
        if arguments.peers is not None:
            python = install(Path(arguments.peers) if arguments.peers else Path(scratch) / "peers", PEERS)
        ours = {batch: microseconds(batch) for batch in LIMITS}
        theirs = peers(python) if python else {}
    print(f"{'five stub steps':<28}{'us a turn':>12}{'limit':>10}")
    for batch, cost in ours.items():
        print(f"{f'Dragoman, batch of {batch}':<28}{cost:>12.1f}{LIMITS[batch]:>10.0f}")
    if theirs:
        print(f"\n{'the same steps in':<28}{'us a turn':>12}{'x ours':>10}")
    for name, figure in theirs.items():
        if isinstance(figure, str):
            print(f"{name:<28}{'-':>12}  {figure}")
        else:
            print(f"{name:<28}{figure:>12.0f}{figure / ours[1]:>10.1f}")
    return 0 if all(cost <= LIMITS[batch] for batch, cost in ours.items()) else 1


if __name__ == "__main__":
    sys.exit(main())
