"""Pydantic models of the project's JSON lines format, and their errors in words.

`turns.schema.json` beside this file is the same as JSON Schema, for editors and other languages.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.json_schema import models_json_schema

from dragoman.core.codec import Json
from dragoman.core.errors import InputError
from dragoman.core.values import Passage, Source

SCHEMA_FILE = Path(__file__).with_name("turns.schema.json")
_SHOWN = 3

Name = Annotated[str, Field(min_length=1)]
"""Id or text, never empty."""

SOURCE_PATTERN = r"^\w(?:[\w .-]*\w)?$"
SourceId = Annotated[str, Field(pattern=SOURCE_PATTERN)]
"""Name of a source, as in agent.toml."""


class _SchemaRow(BaseModel):
    """Strict base: an unknown key or a number in quotes is an error."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class TurnRow(_SchemaRow):
    """One utterance."""

    speaker: Literal["user", "agent"]
    text: str


class PassageRow(_SchemaRow):
    """Passage: a candidate of a turn, or a line of the shared corpus."""

    id: Name = Field(description="What `evidence` names it by; unique among a turn's candidates.")
    source: SourceId = Field(description="The source it belongs to.")
    text: Name
    parent: Name | None = Field(default=None, description="The id of the passage that it depends on.")
    title: str = ""
    headings: tuple[str, ...] = ()
    position: int = 0
    origin: str = ""
    meta: dict[str, str] = Field(default_factory=dict)

    def passage(self) -> Passage:
        return Passage(
            self.id,
            self.source,
            self.text,
            self.title,
            self.headings,
            self.parent,
            self.position,
            self.origin,
            self.meta,
        )


class ExampleRow(_SchemaRow):
    """One turn to answer, with its labels."""

    id: Name | None = Field(default=None, description="Unique in the file. Default: dialogue and position.")
    dialogue: Name = Field(description="Which dialogue the turn belongs to: a split never cuts through one.")
    context: tuple[TurnRow, ...] = Field(min_length=1, description="The dialogue so far; the last turn is the user's.")
    candidates: tuple[PassageRow, ...] = Field(default=(), description="What may be looked up for this turn alone.")
    retrieve: bool | None = Field(default=None, description="Whether anything should be looked up.")
    plan: tuple[SourceId, ...] | None = Field(default=None, description="The sources to ask, in order; [] for none.")
    evidence: tuple[Name, ...] | None = Field(default=None, description="The ids of the right passages; [] for none.")
    reply: Name | None = Field(default=None, description="The right answer.")
    position: int | None = Field(default=None, ge=0, description="The agent's turns before this one.")
    domain: str = ""
    meta: dict[str, str] = Field(default_factory=dict)


class SourceRow(_SchemaRow):
    """A declared source."""

    name: SourceId
    description: str = ""
    needs: tuple[SourceId, ...] = Field(default=(), description="The sources that must be asked before it.")
    about: Literal["world", "user", "bot"] = "world"
    private: bool | None = Field(
        default=None, description="Whether its passages stand in the turns. Default: as they do in this file."
    )


class SetRow(_SchemaRow):
    """Properties of the whole file."""

    name: str = ""
    language: Literal["en", "zh"] | None = Field(default=None, description="Default: as most of the text is.")
    sources: tuple[SourceRow, ...] | None = None
    passages: Name | None = Field(default=None, description="A JSON lines file of passages that all turns share.")


class HeaderRow(_SchemaRow):
    """Optional first line of a file, which describes the set."""

    dataset: SetRow


R = TypeVar("R", bound=_SchemaRow)


def parse(cls: type[R], line: bytes) -> R:
    """Parse a line as a row; an `InputError` names its fault, without the line number."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start + 1} is not UTF-8.", remedy="Save the file as UTF-8.") from error
    try:
        return cls.model_validate_json(text)
    except ValidationError as error:
        raise InputError(explained(error, cls)) from error


def explained(error: ValidationError, cls: type[BaseModel]) -> str:
    """Return pydantic's first errors in the words of the file format."""
    # A misspelt key is told before the one that is missing because of it.
    faults = sorted(error.errors(include_url=False), key=lambda first: first["type"] != "extra_forbidden")
    words = [_one(first, cls) for first in faults[:_SHOWN]]
    more = f"; and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
    return "; ".join(words) + more + "."


def _one(first: Mapping[str, Any], cls: type[BaseModel]) -> str:  # noqa: PLR0911 - one return a kind of fault
    kind, place = first["type"], _place(first["loc"])
    if kind == "json_invalid":
        return f"this is not whole, valid JSON: {first['ctx']['error']}".replace(" at line 1 column ", " at column ")
    if kind == "extra_forbidden":
        owner = _owner(first["loc"][:-1], cls)
        return f"unknown key '{place}'{meant(str(first['loc'][-1]), owner.model_fields)}"
    if kind == "missing":
        return f"'{place}' is missing"
    if kind in ("string_too_short", "too_short"):
        return f"'{place}' is empty"
    if kind == "string_pattern_mismatch":
        return f"'{place}' cannot name a source: {_short(first['input'])} (use letters, digits, '-', '_', '.')"
    if not place:
        return f"a line must be a JSON object, not {_short(first['input'])}"
    message = first["msg"].removeprefix("Input should be ").removeprefix("Input ")
    return f"'{place}' should be {message}, not {_short(first['input'])}"


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _place(location: Sequence[int | str]) -> str:
    """Return the path of a field, such as `context[1].text`."""
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path


def _owner(location: Sequence[int | str], cls: type[BaseModel]) -> type[BaseModel]:
    """Return the row model that contains a key."""
    inner: dict[object, type[BaseModel]] = {
        "context": TurnRow,
        "candidates": PassageRow,
        "dataset": SetRow,
        "sources": SourceRow,
    }
    names = [part for part in location if isinstance(part, str)]
    return inner[names[-1]] if names else cls


def meant(name: str, names: Iterable[str]) -> str:
    """Return ` (did you mean 'x'? known: ...)` for an unknown name."""
    folded = {each.casefold(): each for each in names}
    close = get_close_matches(name.casefold(), list(folded), n=1, cutoff=0.5)
    hint = f"did you mean '{folded[close[0]]}'? " if close else ""
    return f" ({hint}known: {', '.join(folded.values()) or 'none'})"


def passage_row(passage: Passage) -> dict[str, Json]:
    """Return the row of a passage, without fields at their default."""
    row: dict[str, Json] = {"id": passage.id, "source": passage.source, "text": passage.text}
    if passage.parent is not None:
        row["parent"] = passage.parent
    if passage.title:
        row["title"] = passage.title
    if passage.headings:
        row["headings"] = list(passage.headings)
    if passage.position:
        row["position"] = passage.position
    if passage.origin:
        row["origin"] = passage.origin
    if passage.meta:
        row["meta"] = dict(passage.meta)
    return row


def source_row(source: Source) -> dict[str, Json]:
    """Return the header row of a source."""
    return {
        "name": source.name,
        "description": source.description,
        "needs": list(source.needs),
        "about": source.about,
        "private": source.private,
    }


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of one line: a turn, or the header of the set."""
    models: list[tuple[type[BaseModel], Literal["validation"]]] = [
        (ExampleRow, "validation"),
        (HeaderRow, "validation"),
    ]
    _, made = models_json_schema(models, ref_template="#/$defs/{model}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of Dragoman's JSON lines",
        "description": "One line a turn. The first line may declare the set instead.",
        "oneOf": [{"$ref": "#/$defs/ExampleRow"}, {"$ref": "#/$defs/HeaderRow"}],
        **made,
    }


def schema_text() -> str:
    """Return the text of `turns.schema.json`; write it there after a change of the models."""
    return json.dumps(json_schema(), ensure_ascii=False, indent=2) + "\n"
