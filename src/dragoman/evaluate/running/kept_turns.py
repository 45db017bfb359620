"""Turns of a set as a run stores them: dialogue, labels and gold passages, with the score of every column.

With these a run can be compared, judged by people and looked at where its data is not.

    turns/SET.jsonl           a turn a line, for all systems
    scores/SET/SYSTEM.jsonl   a turn a line: its value in every column that has one for single turns
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from dragoman.core.errors import StoreCorruptError
from dragoman.core.examples import Example, Gold
from dragoman.core.values import About, Passage, Turn
from dragoman.evaluate.running.outcome_lines import dumps
from dragoman.evaluate.running.run_folder import file_errors, file_name, write_whole


class ReadableSet(Protocol):
    """A set whose turns and passages can be read."""

    def examples(self) -> Iterator[Example]: ...

    def passages(self) -> Iterator[Passage]: ...


@dataclass(frozen=True, slots=True)
class GoldPassage:
    """A gold passage: of which source, and whom that source is about."""

    id: str
    source: str
    about: About
    text: str


@dataclass(frozen=True, slots=True)
class KeptTurn:
    """A turn of the set as the run stores it."""

    example: str
    dialogue: str
    position: int
    domain: str
    context: tuple[Turn, ...]
    gold: Gold
    passages: tuple[GoldPassage, ...]


def lean_examples(block: ReadableSet) -> list[Example]:
    """The turns without the candidates that are not gold; gold passages of a shared corpus are added.

    How many candidates of each source there were stands in `meta`, for metrics that need to know.
    """
    kept, wanted = [], set()
    for example in block.examples():
        gold = set(example.gold.evidence or ())
        candidates = tuple(passage for passage in example.candidates if passage.id in gold)
        numbers = Counter(f"candidates:{passage.source}" for passage in example.candidates)
        meta = {**example.meta, **{key: str(number) for key, number in numbers.items()}}
        kept.append(replace(example, candidates=candidates, meta=meta))
        wanted |= gold - {passage.id for passage in candidates}
    if not wanted:
        return kept
    shared = {passage.id: passage for passage in block.passages() if passage.id in wanted}
    return [_with_shared(example, shared) for example in kept]


def _with_shared(example: Example, shared: Mapping[str, Passage]) -> Example:
    present = {passage.id for passage in example.candidates}
    added = tuple(shared[name] for name in example.gold.evidence or () if name not in present and name in shared)
    return replace(example, candidates=(*example.candidates, *added)) if added else example


def write_turns(folder: Path, block: str, examples: Iterable[Example]) -> Path:
    """Keep the turns of a set; candidates of lean examples are its gold passages."""
    lines = []
    for example in examples:
        about = {source.name: source.about for source in example.sources}
        gold = example.gold
        row = {
            "example": example.id,
            "dialogue": example.context.dialogue,
            "position": example.position,
            "domain": example.domain,
            "context": [[turn.speaker, turn.text] for turn in example.context.turns],
            "gold": {
                "retrieve": gold.retrieve,
                "plan": gold.plan,
                "evidence": gold.evidence,
                "reply": gold.reply,
            },
            "passages": [
                {
                    "id": passage.id,
                    "source": passage.source,
                    "about": about.get(passage.source, "world"),
                    "text": passage.text,
                }
                for passage in example.candidates
            ],
        }
        lines.append(f"{dumps(row)}\n")
    return write_whole(_turns(folder, block), "".join(lines))


def read_turns(folder: Path, block: str) -> Iterator[KeptTurn]:
    """The turns of a set in order; empty where the run did not finish."""
    for row in _read(_turns(folder, block)):
        gold = row["gold"]
        yield KeptTurn(
            row["example"],
            row["dialogue"],
            row["position"],
            row["domain"],
            tuple(Turn(speaker, text) for speaker, text in row["context"]),
            Gold(gold["retrieve"], _tuple(gold["plan"]), _tuple(gold["evidence"]), gold["reply"]),
            tuple(GoldPassage(**passage) for passage in row["passages"]),
        )


def write_scores(
    folder: Path, block: str, system: str, examples: Sequence[str], columns: Mapping[str, Sequence[float | None]]
) -> Path:
    """Write the values of all columns for each turn."""
    lines = [
        f"{dumps({'example': example, 'scores': {title: values[row] for title, values in columns.items()}})}\n"
        for row, example in enumerate(examples)
    ]
    return write_whole(_scores(folder, block, system), "".join(lines))


def read_scores(folder: Path, block: str, system: str) -> Iterator[tuple[str, Mapping[str, float | None]]]:
    """The id of each turn with its values."""
    for row in _read(_scores(folder, block, system)):
        yield row["example"], row["scores"]


def _turns(folder: Path, block: str) -> Path:
    return folder / "turns" / f"{file_name(block)}.jsonl"


def _scores(folder: Path, block: str, system: str) -> Path:
    return folder / "scores" / file_name(block) / f"{file_name(system)}.jsonl"


def _read(file: Path) -> Iterator[Any]:
    if not file.is_file():
        return
    with file_errors(file), file.open("rb") as opened:
        for number, line in enumerate(opened, 1):
            try:
                yield json.loads(line.decode("utf-8", "surrogatepass"))
            except ValueError as error:
                raise StoreCorruptError(
                    f"Line {number} of '{file}' cannot be read: {error}.",
                    remedy="Run the experiment again: this file is made anew from the rows.",
                ) from error


def _tuple(values: list[str] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)
