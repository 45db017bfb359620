"""KETOD's gate labels on the text of SGD, one system turn a line: should this reply be enriched with knowledge?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from dragoman.core.examples import Example, Gold, Label, Problem
from dragoman.core.registry import datasets
from dragoman.core.values import Context, Scope, Source, Turn
from dragoman.datasets.reading import OneFile, Record, json_lines, parsed

KNOWLEDGE = Source("KNOWLEDGE", "background facts about the places, works and people that the dialogue names")


class _GateLine(Record):
    speaker: Literal["USER", "SYSTEM"]
    text: str


class _GateTurn(Record):
    dialogue_id: str = Field(min_length=1)
    turn_index: int = Field(ge=0)
    services: list[str]
    context: list[_GateLine]
    response: str
    enrich: bool


@datasets.register("ketod-gate.v1")
class KetodGate(OneFile):
    """A split of the gate labels. The knowledge itself is not in the file, so its source has no passages."""

    name = "ketod-gate"
    language = "en"
    sources: tuple[Source, ...] = (KNOWLEDGE,)
    labels: frozenset[Label] = frozenset({"retrieve", "reply"})

    def __init__(self, *, file: Path) -> None:
        super().__init__(file)

    def examples(self) -> Iterator[Example | Problem]:
        seen: dict[str, int] = {}
        for outcome in parsed(json_lines(self._file), _GateTurn):
            if isinstance(outcome, Problem):
                yield outcome
                continue
            row, turn = outcome
            fault = _fault(turn)
            if fault:
                yield row.error(fault)
                continue
            example = self._example(turn)
            first = seen.setdefault(example.id, row.number)
            if first != row.number:
                yield row.error(f"the turn {example.id} is also in line {first}")
            else:
                yield example

    def _example(self, turn: _GateTurn) -> Example:
        turns = tuple(Turn("user" if line.speaker == "USER" else "agent", line.text) for line in turn.context)
        position = sum(line.speaker == "agent" for line in turns)
        context = Context(turns, Scope(self.name, turn.dialogue_id), turn.dialogue_id)
        return Example(
            f"{turn.dialogue_id}#{position}",
            context,
            self.sources,
            gold=Gold(retrieve=turn.enrich, reply=turn.response),
            position=position,
            domain="+".join(turn.services),
            meta={"turn_index": str(turn.turn_index)},
        )


def _fault(turn: _GateTurn) -> str:
    if not turn.context or turn.context[-1].speaker != "USER":
        return "the context does not end with a user turn"
    if not turn.context[-1].text.strip():
        return "the user turn is empty"
    return "" if turn.response.strip() else "the reply is empty"
