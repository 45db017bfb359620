"""How long a gate takes to decide on one turn: trained parts beside the prompted gate, in the same run.

    python benchmarks/gates.py [PART ...] [--data FILE] [--turns 400] [--prompted 40]

PART is the folder of a trained gate or the name of a shipped one; without any, all shipped gates are taken. Turns come
one by one, in the order of their dialogues, as a running agent meets them; nothing that was cut before is kept from one
gate to the next. The load average is printed, since all of it is only true of a quiet machine.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence

import numpy as np

from dragoman.core.errors import DragomanError
from dragoman.core.examples import Example
from dragoman.core.protocols import Gate
from dragoman.core.registry import gates
from dragoman.core.values import Context
from dragoman.datasets.open import open_dataset
from dragoman.gate import PromptedGate
from dragoman.models.llamacpp import LlamaCppModel
from dragoman.models.part import open_part, shipped_parts
from dragoman.text.forgetting import forget_texts

WARM = 10
NEEDS_MODEL = ("gate.tuned", "gate.uncertainty")
"""Kinds that ask a language model themselves: as slow as the prompted gate, and not what is compared here."""


def opened(names: Sequence[str]) -> dict[str, Gate]:
    """The gates of some parts; of the shipped ones where none is named."""
    found: dict[str, Gate] = {}
    for name in names or shipped_parts():
        part = open_part(name)
        if part.kind.startswith("gate.") and part.kind not in NEEDS_MODEL:
            size = sum(part.file(file).stat().st_size for file in part.files) / 1e6
            found[f"{part.kind} ({part.folder.name}, {size:.1f} MB)"] = gates.factory(part.kind)(part=str(part.folder))
        elif names:
            sys.exit(f"{name} is a {part.kind}, which is not measured here.")
    return found


def contexts(file: str, count: int) -> list[Context]:
    found = [example.context for example in open_dataset(None, file).examples() if isinstance(example, Example)]
    return found[:count]


def milliseconds(gate: Gate, turns: Sequence[Context], rounds: int) -> np.ndarray:
    """How long each decision took."""
    for context in turns[:WARM]:
        gate.decide([context])
    taken = []
    for _ in range(rounds):
        forget_texts()
        for context in turns:
            began = time.perf_counter()
            gate.decide([context])
            taken.append(time.perf_counter() - began)
    return 1000 * np.array(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--data", default="toy", help="a set of dialogues")
    parser.add_argument("--turns", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--prompted", type=int, default=40, help="turns of the prompted gate; 0: leave it out")
    given = parser.parse_args()
    try:
        trained, turns = opened(given.parts), contexts(given.data, given.turns)
    except DragomanError as error:
        sys.exit(str(error))
    if not trained:
        sys.exit("No gate is shipped. Name the folder of a trained one: dragoman train gate-linear --data train=toy")
    rows = {name: milliseconds(gate, turns, given.rounds) for name, gate in trained.items()}
    slowest = None
    if given.prompted:
        model = LlamaCppModel()
        rows["gate.prompted, zero-shot"] = milliseconds(PromptedGate(language_model=model), turns[: given.prompted], 1)
        slowest = float(np.median(rows["gate.prompted, zero-shot"]))
        model.close()
    print(f"{len(turns)} turns of {given.data}, one at a time; load average {os.getloadavg()[0]:.1f}\n")
    width = max(map(len, rows))
    print(f"{'gate':{width}}  {'p50 ms':>9}  {'p99 ms':>9}  {'times faster':>12}")
    for name, taken in rows.items():
        half, nearly = np.percentile(taken, [50, 99])
        ratio = f"{slowest / half:12.0f}" if slowest else f"{'':12}"
        print(f"{name:{width}}  {half:9.3f}  {nearly:9.3f}  {ratio}")


if __name__ == "__main__":
    main()
