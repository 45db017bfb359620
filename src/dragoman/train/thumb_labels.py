"""Gate labels from users' feedback: thumbs up confirms the gate's decision, thumbs down inverts it.

A file of thumbs is JSON lines: {"context": [{"speaker", "text"}, ...], "retrieved": true, "thumb": "up"}, with
optional `dialogue`, and `better`, the reply that should have been given. Where the user said whether the turn needed a
search, `needed` is the label, with or without a `thumb`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dragoman.core.examples import Example, Gold, Problem
from dragoman.core.values import Context, Turn
from dragoman.datasets.lines import lines
from dragoman.datasets.schema import TurnRow, explained


@dataclass(frozen=True, slots=True)
class Thumb:
    """Rating of a decision: `retrieved` is the decision, `up` whether it was right.

    `needed` says whether the turn needed a search, where the user said so; `up` is then None or about the reply.
    """

    context: Context
    retrieved: bool
    up: bool | None
    better: str | None = None
    needed: bool | None = None

    @property
    def label(self) -> bool:
        """Whether the gate should search on this turn."""
        return self.needed if self.needed is not None else self.retrieved is self.up


class ThumbRow(BaseModel):
    """Line of a file of thumbs."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    context: tuple[TurnRow, ...] = Field(min_length=1)
    retrieved: bool
    thumb: Literal["up", "down"] | None = None
    needed: bool | None = None
    dialogue: str = ""
    better: str | None = Field(default=None, min_length=1)


def read_thumbs(path: Path) -> Iterator[Thumb | Problem]:
    """Yield the thumbs of a file, or the problem of a line."""
    for number, line in lines(path):
        try:
            row = ThumbRow.model_validate_json(b"" if line is None else line)
        except ValidationError as error:
            yield Problem(str(path), number, explained(error, ThumbRow))
            continue
        if row.thumb is None and row.needed is None:
            yield Problem(str(path), number, "neither 'thumb' nor 'needed' is given.")
            continue
        turns = tuple(Turn(turn.speaker, turn.text) for turn in row.context)
        if turns[-1].speaker != "user" or not turns[-1].text.strip():
            yield Problem(str(path), number, "the last turn of 'context' is not the user's, or is empty.")
            continue
        # thumbs without a dialogue's name belong together where they begin with the same words
        name = row.dialogue.strip() or hashlib.sha256(turns[0].text.encode()).hexdigest()[:12]
        up = None if row.thumb is None else row.thumb == "up"
        yield Thumb(Context(turns, dialogue=name), row.retrieved, up, row.better, row.needed)


def from_thumbs(thumbs: Iterable[Thumb]) -> list[Example]:
    """Yield a labelled turn for each rated turn; the last rating counts."""
    latest: dict[tuple[str, tuple[Turn, ...]], Thumb] = {}
    for thumb in thumbs:
        place = thumb.context.dialogue, thumb.context.turns
        latest.pop(place, None)
        latest[place] = thumb
    examples: list[Example] = []
    for thumb in latest.values():
        context, position = thumb.context, sum(turn.speaker == "agent" for turn in thumb.context.turns)
        name = f"{context.dialogue}#{position}-{_digest(context)}"  # other dialogues may have the same name
        gold = Gold(retrieve=thumb.label, reply=thumb.better)
        examples.append(Example(name, context, (), gold=gold, position=position))
    return examples


def _digest(context: Context) -> str:
    text = "\n".join(f"{turn.speaker}: {turn.text}" for turn in context.turns)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
