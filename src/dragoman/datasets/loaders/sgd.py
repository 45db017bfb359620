"""SGD's dialogues, for sets that annotate them: lookup by id, and disambiguation of repeated ids.

The folders train, dev and test of SGD reuse ids for different dialogues. A set that gives only the id is matched by
its own wording of the turns.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from dragoman.core.errors import InputError
from dragoman.core.examples import Problem
from dragoman.core.values import Turn
from dragoman.datasets.reading import Record, parsed
from dragoman.datasets.streaming import json_records

SPLITS = ("train", "dev", "test")
_WORD = re.compile(r"\w+")


class _SgdLine(Record):
    speaker: Literal["USER", "SYSTEM"]
    utterance: str


class _SgdRecord(Record):
    dialogue_id: str
    services: list[str] = Field(default_factory=list)
    turns: list[_SgdLine]


@dataclass(frozen=True, slots=True)
class SgdDialogue:
    """Dialogue of SGD with the name of its folder."""

    id: str
    split: str
    services: tuple[str, ...]
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """Best matching dialogue, the agreement of its words in [0, 1], and whether another fits as well."""

    dialogue: SgdDialogue
    agreement: float
    ambiguous: bool = False


def dialogue_files(folder: Path) -> tuple[Path, ...]:
    """Return every file of dialogues, by folder and name."""
    if not folder.is_dir():
        raise InputError(
            f"There is no SGD folder '{folder}'.", remedy="Give the folder that holds train, dev and test."
        )
    files = tuple(file for split in SPLITS for file in sorted((folder / split).glob("dialogues_*.json")))
    if not files:
        raise InputError(
            f"'{folder}' holds no SGD dialogues.", remedy="It should hold train/dialogues_001.json and so on."
        )
    return files


def read_dialogues(folder: Path, wanted: Collection[str]) -> Iterator[SgdDialogue | Problem]:
    """Yield the dialogues with these ids, from all folders."""
    for file in dialogue_files(folder):
        for outcome in parsed(json_records(file, int, holds="a list of SGD dialogues"), _SgdRecord):
            if isinstance(outcome, Problem):
                yield outcome
            elif outcome[1].dialogue_id in wanted:
                dialogue = outcome[1]
                turns = tuple(
                    Turn("user" if line.speaker == "USER" else "agent", line.utterance) for line in dialogue.turns
                )
                yield SgdDialogue(dialogue.dialogue_id, file.parent.name, tuple(dialogue.services), turns)


def best(candidates: Collection[SgdDialogue], reworded: Mapping[int, str], turns: int) -> Match:
    """Return the candidate whose text agrees best with `reworded`, a set's own wording of some turns.

    Agreement of text counts more than the number of turns; ties go to the first.
    """
    scores = [(3 * _agreement(one, reworded) + (len(one.turns) == turns), one) for one in candidates]
    top, chosen = max(scores, key=lambda pair: pair[0])
    equals = [one for score, one in scores if score == top]
    ambiguous = any(one.turns != chosen.turns for one in equals)
    return Match(chosen, _agreement(chosen, reworded), ambiguous)


def _agreement(dialogue: SgdDialogue, reworded: Mapping[int, str]) -> float:
    """Return the mean share of a turn's words that the rewording kept; 1 without rewordings."""
    shares = []
    for place, text in reworded.items():
        words = set(_WORD.findall(dialogue.turns[place].text.casefold())) if place < len(dialogue.turns) else set()
        kept = words.intersection(_WORD.findall(text.casefold()))
        shares.append(len(kept) / len(words) if words else 0.0)
    return sum(shares) / len(shares) if shares else 1.0
