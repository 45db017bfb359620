"""Whether what a system finds first is what the dialogue has used already: where a retriever's errors come from.

    python benchmarks/retrieval/repeats.py RUN [--block kbp] [--data kbp/dev.json] [--source DOCUMENTS]

RUN is the folder of an evaluation, as `dragoman evaluate --out` writes it, and the block is the set's name in it.
Counted are the turns that need a passage of the source: how often the first one found is right, how many of the wrong
ones were the gold evidence of an earlier turn of the same dialogue, and how many of the right ones. What the gold
evidence itself repeats is printed above.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.core.errors import DragomanError
from dragoman.core.examples import Example
from dragoman.datasets.open import open_dataset
from dragoman.evaluate.running.run_folder import file_name


@dataclass(frozen=True, slots=True)
class Needed:
    """What a turn needs of a source, and what earlier turns of its dialogue needed of it."""

    gold: frozenset[str]
    before: frozenset[str]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--block", default="kbp")
    parser.add_argument("--data", default="kbp/dev.json")
    parser.add_argument("--source", default="DOCUMENTS")
    given = parser.parse_args()
    try:
        turns = [example for example in open_dataset(None, given.data).examples() if isinstance(example, Example)]
    except DragomanError as error:
        return _failed(str(error))
    needed = dict(needs(turns, given.source))
    files = sorted((given.run / "rows" / file_name(given.block)).glob("*.jsonl"))
    if not files:
        return _failed(f"'{given.run}' holds no rows of '{given.block}'.")
    again = sum(bool(turn.gold & turn.before) for turn in needed.values())
    print(f"{len(needed)} turns need {given.source}; in {again} the gold was that of an earlier turn too.")
    print(f"{'system':60} {'turns':>6} {'right':>6} {'wrong':>6} {'wrong, said':>12} {'right, said':>12}")
    for file in files:
        counts = counted(file, needed, given.source)
        print(f"{file.stem[:60]:60} {counts[0]:6} {counts[1]:6} {counts[2]:6} {counts[3]:12} {counts[4]:12}")
    return 0


def needs(examples: Sequence[Example], source: str) -> Iterator[tuple[str, Needed]]:
    """The turns that need a source, by their ids, in the order of their dialogues."""
    before: dict[str, frozenset[str]] = defaultdict(frozenset)
    for example in sorted(examples, key=lambda each: (each.context.dialogue, len(each.context.turns))):
        known = {passage.id: _bare(passage.text) for passage in example.candidates if passage.source == source}
        gold = frozenset(known[key] for key in example.gold.evidence or () if key in known)
        if gold:
            yield example.id, Needed(gold, before[example.context.dialogue])
        before[example.context.dialogue] |= gold


def counted(file: Path, needed: dict[str, Needed], source: str) -> tuple[int, int, int, int, int]:
    """Turns, right ones, wrong ones, and how many of the wrong and of the right had been used before."""
    right = wrong = wrong_said = right_said = 0
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        turn = needed.get(row["example"])
        found = [_bare(piece["passage"]["text"]) for piece in row["found"] if piece["passage"]["source"] == source]
        if turn is None or not found:
            continue
        if found[0] in turn.gold:
            right, right_said = right + 1, right_said + (found[0] in turn.before)
        else:
            wrong, wrong_said = wrong + 1, wrong_said + (found[0] in turn.before)
    return right + wrong, right, wrong, wrong_said, right_said


def _bare(text: str) -> str:
    """A text without spaces: some rows read a set as it was released, with more of them."""
    return "".join(text.split())


def _failed(why: str) -> int:
    sys.stderr.write(f"{why}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
