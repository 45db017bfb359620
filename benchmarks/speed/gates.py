"""How long a gate takes to decide on one turn: trained parts beside the prompted gate, in the same run.

    python benchmarks/speed/gates.py [PART ...] [--data FILE] [--turns 400] [--prompted 5] [--max-tokens 32 64]
        [--quality] [--cpu]

PART is the folder of a trained gate or the name of a shipped one; without any, the shipped gates that read the dialogue
alone are taken. Turns come one by one, in the order of their dialogues, as a running agent meets them; nothing that was
cut before is kept from one gate to the next. The prompted gate takes seconds a turn on a busy machine, so it is asked
about few. `--max-tokens` lets encoders read less than they were trained with, a row for each number; `--quality` prints
beside the times what each gate makes of all labelled turns of the set, so that nobody sees what is gained without what
it costs. The load average is printed, since all of it is only true of a quiet machine; on another one `--cpu` counts
what the deciding thread used of the processor, which is all that a linear or an attention gate uses.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np

from dragoman.core.errors import DragomanError
from dragoman.core.examples import Example
from dragoman.core.protocols import Gate
from dragoman.core.registry import gates
from dragoman.core.values import Context
from dragoman.datasets.open import SHIPPED, open_dataset, resolve
from dragoman.evaluate.metrics.curves import average_precision, roc_auc
from dragoman.evaluate.metrics.gate import f1
from dragoman.gate import PromptedGate
from dragoman.gate.encoder import EncoderGate
from dragoman.models.llamacpp.model import LlamaCppModel
from dragoman.models.part import open_part, shipped_parts
from dragoman.text.analyse import forget_texts

WARM = 10
PROMPTED = "gate.prompted, zero-shot"
WANTED = {"gate.linear": 1.0, "gate.attention": 1.0, "gate.encoder": 10.0}
"""The 99th percentile that a kind should stay below, in milliseconds. Kinds that ask a language model themselves are as
slow as the prompted gate, and not what is compared here."""


def opened(names: Sequence[str], caps: Sequence[int]) -> dict[str, tuple[Gate, float]]:
    """The gates of some parts with what is wanted of them; of the shipped ones where none is named.

    An encoder is there as it was trained, or, with `caps`, once for each most number of tokens.
    """
    found: dict[str, tuple[Gate, float]] = {}
    for name in names or shipped_parts():
        part = open_part(name)
        wanted = WANTED.get(part.kind)
        if wanted is not None and not part.options.get("reply"):
            size = sum(part.file(file).stat().st_size for file in part.files) / 1e6
            for cap in (caps or (None,)) if part.kind == "gate.encoder" else (None,):
                gate = gates.factory(part.kind)(part=str(part.folder), **({"max_tokens": cap} if cap else {}))
                read = f", {cap} tokens" if cap else ""
                found[f"{part.kind} ({part.folder.name}, {size:.1f} MB{read})"] = gate, wanted
        elif names:
            why = "reads a reply, which a reader would have to draft first" if wanted else "is not measured here"
            sys.exit(f"{name}, a {part.kind}, {why}.")
    return found


def examples(file: str) -> Iterator[Example]:
    given = file if file in SHIPPED else resolve(file)
    return (one for one in open_dataset(None, given).examples() if isinstance(one, Example))


def contexts(file: str, count: int) -> list[Context]:
    return [example.context for example in islice(examples(file), count)]


def quality(gate: Gate, labelled: Sequence[Example]) -> str:
    """F1 at the part's threshold, ROC-AUC and average precision."""
    labels = [bool(example.gold.retrieve) for example in labelled]
    verdicts = gate.decide([example.context for example in labelled])
    probabilities = [verdict.probability for verdict in verdicts]
    reached = f1(labels, [verdict.retrieve for verdict in verdicts])
    return f"{reached:7.4f}  {roc_auc(labels, probabilities):7.4f}  {average_precision(labels, probabilities):7.4f}"


def milliseconds(
    gate: Gate,
    turns: Sequence[Context],
    rounds: int = 1,
    warm: int = WARM,
    clock: Callable[[], float] = time.perf_counter,
) -> np.ndarray:
    """How long each decision took."""
    for context in turns[:warm]:
        gate.decide([context])
    taken = []
    for _ in range(rounds):
        forget_texts()
        for context in turns:
            began = clock()
            gate.decide([context])
            taken.append(clock() - began)
    return 1000 * np.array(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--data", default="toy", help="a set of dialogues")
    parser.add_argument("--turns", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--prompted", type=int, default=5, help="turns of the prompted gate; 0: leave it out")
    parser.add_argument(
        "--max-tokens", type=int, nargs="+", default=(), help="read no more of a dialogue; encoders only"
    )
    parser.add_argument("--quality", action="store_true", help="measure the decisions on all labelled turns, too")
    parser.add_argument("--cpu", action="store_true", help="count the thread's processor time instead of the clock's")
    given = parser.parse_args()
    try:
        trained, turns = opened(given.parts, given.max_tokens), contexts(given.data, given.turns)
    except DragomanError as error:
        sys.exit(str(error))
    if not trained:
        sys.exit("No gate is shipped. Name the folder of a trained one: dragoman train gate-linear --data train=toy")
    if given.cpu and (given.prompted or any(isinstance(gate, EncoderGate) for gate, _ in trained.values())):
        sys.exit("--cpu is for linear and attention gates alone, with --prompted 0: others use more than one thread.")
    clock = time.thread_time if given.cpu else time.perf_counter
    rows = {name: milliseconds(gate, turns, given.rounds, clock=clock) for name, (gate, _) in trained.items()}
    slowest = None
    if given.prompted:
        model = LlamaCppModel()
        rows[PROMPTED] = milliseconds(PromptedGate(language_model=model), turns[: given.prompted], warm=1)
        slowest = float(np.median(rows[PROMPTED]))
        model.close()
    busy = f"{'processor time, ' if given.cpu else ''}load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores"
    print(f"turns of {given.data}, one at a time; {busy}\n")
    labelled = [one for one in examples(given.data) if one.gold.retrieve is not None] if given.quality else []
    width = max(map(len, rows))
    measures = f"  {'F1':>7}  {'AUC':>7}  {'AP':>7}" if labelled else ""
    head = f"{'decisions':>9}  {'p50 ms':>9}  {'p99 ms':>9}  {'wanted':>6}  {'times faster':>12}"
    print(f"{'gate':{width}}  {head}{measures}")
    for name, taken in rows.items():
        half, nearly = np.percentile(taken, [50, 99])
        wanted = f"< {trained[name][1]:.0f}" if name in trained else ""
        ratio = f"{slowest / half:12.0f}" if slowest else " " * 12
        found = f"  {quality(trained[name][0], labelled)}" if labelled and name in trained else ""
        print(f"{name:{width}}  {len(taken):9}  {half:9.3f}  {nearly:9.3f}  {wanted:>6}  {ratio}{found}")


if __name__ == "__main__":
    main()
