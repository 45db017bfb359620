"""Replies in the form of a JSON schema, filled from what a turn decided and quoted, or refused.

No model invents a value. A property takes what its type can hold: a boolean the decision, a number the decided value or
the only number of the answer, a choice the only option that the answer names, a text the answer, its reason, its quote
or its place, by the property's name; a list of objects has one for each quoted passage. Objects may hold objects, and
`$ref` may point into `$defs`, but a schema that refers to itself, or needs anything else, is refused.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from dragoman.core.trace import Reply
from dragoman.core.values import Draft, Evidence
from dragoman.reader.phrases import NO_ANSWER
from dragoman.server.explanation import explanation, heading_path
from dragoman.server.http.chat_parameters import refused
from dragoman.server.http.schemas import ResponseFormat

Json: TypeAlias = Any
_NUMBER = re.compile(r"(?<![\w.,])-?\d+(?:[.,]\d+)*(?![\w])")
_NAMES = {
    "answer": ("answer", "text", "reply", "response", "message", "content", "summary", "result"),
    "reason": ("reason", "why", "explanation", "because", "rationale", "justification"),
    "quote": ("quote", "evidence", "passage", "excerpt", "rule", "quotation"),
    "source": ("source", "citation", "document", "file", "reference", "origin", "place", "url"),
}
_MOST_SCHEMAS, _DEEPEST = 100, 5
_ROOTS = ("#/$defs/", "#/definitions/")
_MOST_ALTERNATIVES, _MOST_OPTIONS = 8, 500
_KNOWN = frozenset(
    {"type", "properties", "required", "additionalProperties", "title", "description", "$schema", "default", "enum"}
    | {"const", "items", "anyOf", "examples", "minimum", "maximum", "maxLength", "minLength", "format", "$defs"}
    | {"definitions", "$ref"}
)


class UnfilledError(Exception):
    """A property that the turn says nothing about."""


@dataclass(frozen=True, slots=True)
class _Offer:
    """Values that a turn offers for a schema."""

    text: str
    values: Mapping[str, str]
    lists: Mapping[str, tuple[str, ...]]
    decision: bool | None
    numbers: tuple[float, ...]
    confidence: float
    quotes: tuple[tuple[str, str], ...] = ()
    """Text and place of each quoted passage."""


def check_format(form: ResponseFormat | None) -> dict[str, Json] | None:
    """The schema of a response format; None for text. Raises an error for what cannot be filled by any turn."""
    if form is None or form.type == "text":
        return None
    if form.type == "json_object" or form.json_schema is None:
        raise refused("response_format", "JSON without a schema says nothing of its fields; give a `json_schema`.")
    requested = form.json_schema.schema_
    schema = _Schemas({**_table_of(requested, "definitions"), **_table_of(requested, "$defs")}).resolved(
        "the schema", requested
    )
    if "object" not in _kinds(schema):
        raise refused("response_format", "The schema must be an object with properties.")
    return schema


def _table_of(schema: Mapping[str, Json], keyword: str) -> dict[str, Json]:
    tables = schema.get(keyword, {})
    return tables if isinstance(tables, dict) else {}


class _Schemas:
    """Checks schemas, and puts definitions in the place of their references."""

    def __init__(self, definitions: Mapping[str, Json]) -> None:
        self._definitions = definitions
        self._count = 0

    def resolved(self, name: str, schema: Json, within: tuple[str, ...] = (), depth: int = 0) -> dict[str, Json]:
        """A schema without references; raises an error for one that no turn can fill."""
        self._count += 1
        if self._count > _MOST_SCHEMAS or depth > _DEEPEST:
            limits = f"{_MOST_SCHEMAS} properties and {_DEEPEST} levels"
            raise refused("response_format", f"The schema is too large: it may have {limits}.")
        if not isinstance(schema, dict):
            raise refused("response_format", f"{_quoted(name)} has no schema.")
        if unknown := schema.keys() - _KNOWN:
            raise refused("response_format", f"{_quoted(name)} uses '{min(unknown)[:40]}', which cannot be filled.")
        _check_shape(name, schema)
        if not isinstance(schema.get("required", []), list):
            raise refused("response_format", f"{_quoted(name)}: `required` must be a list.")
        if "$ref" in schema:
            target = self._target(name, schema["$ref"])
            if target in within:
                raise refused("response_format", f"{_quoted(name)} refers to itself; such a schema cannot be filled.")
            return self.resolved(name, self._definitions[target], (*within, target), depth)
        flat = {key: value for key, value in schema.items() if key not in ("$defs", "definitions")}
        if "anyOf" in schema:
            options = schema["anyOf"] if isinstance(schema["anyOf"], list) else []
            flat["anyOf"] = [self.resolved(name, option, within, depth + 1) for option in options]
        kinds = _kinds(flat)
        if "array" in kinds and "anyOf" not in flat:
            flat["items"] = self.resolved(name, schema.get("items", {"type": "string"}), within, depth + 1)
            if "array" in _kinds(flat["items"]):
                raise refused("response_format", f"{_quoted(name)} is a list of lists, which cannot be filled.")
        if "object" in kinds and "anyOf" not in flat:
            if not _table_of(schema, "properties"):
                raise refused("response_format", f"{_quoted(name)} must be an object with properties.")
            flat["properties"] = {
                key: self.resolved(key, inner, within, depth + 1) for key, inner in schema["properties"].items()
            }
        return flat

    def _target(self, name: str, reference: Json) -> str:
        root = next((root for root in _ROOTS if isinstance(reference, str) and reference.startswith(root)), None)
        if reference == "#":
            raise refused("response_format", f"{_quoted(name)} refers to itself; such a schema cannot be filled.")
        if root is None or reference.removeprefix(root) not in self._definitions:
            raise refused("response_format", f"{_quoted(name)} refers to a definition that the schema does not have.")
        return str(reference.removeprefix(root))


def _quoted(name: str) -> str:
    return "The schema" if name == "the schema" else f"The property '{name[:80]}'"


def _check_shape(name: str, schema: Mapping[str, Json]) -> None:
    """Raise an error for keywords whose values have another form than JSON Schema gives them, or too many of them."""
    kinds = schema.get("type", [])
    for word, value, most in (
        ("type", [kinds] if isinstance(kinds, str) else kinds, len(_KNOWN)),
        ("anyOf", schema.get("anyOf", []), _MOST_ALTERNATIVES),
        ("enum", schema.get("enum", []), _MOST_OPTIONS),
    ):
        if not isinstance(value, list) or len(value) > most:
            raise refused("response_format", f"`{word}` of '{name}' must be a list of at most {most}.")
    if not all(isinstance(kind, str) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        raise refused("response_format", f"`type` of '{name}' must name types.")


def fill(schema: Mapping[str, Json], reply: Reply) -> str:
    """A reply as JSON of a checked schema; raises `UnfilledError` with a sentence where the turn says too little."""
    content = _filled_values(reply)
    if content is None:
        raise UnfilledError("I couldn't find that in the sources, so there is nothing to fill in.")
    return json.dumps(_object(schema, content), ensure_ascii=False)


def _object(schema: Mapping[str, Json], offer: _Offer) -> dict[str, Json]:
    required = schema.get("required", ())
    filled: dict[str, Json] = {}
    for name, inner in schema["properties"].items():
        try:
            filled[name] = _value(name, inner, offer)
        except UnfilledError as unfilled:
            if name in required:
                refusal = str(unfilled) or f"The reply says nothing for '{name}'. It says: {offer.text}"
                raise UnfilledError(refusal) from None
    return filled


def _filled_values(reply: Reply) -> _Offer | None:
    drafts = [note.value for note in reply.trace if isinstance(note.value, Draft)]
    draft = drafts[-1] if drafts else Draft(reply.text)
    if draft.notes.items() >= NO_ANSWER.items():
        return None
    pieces: dict[str, Evidence] = {piece.id: piece for piece in reply.evidence}
    quoted = [pieces[name] for name in draft.quoted if name in pieces]
    why = explanation(draft, reply.evidence)
    answer = reply.text
    rule = why.rule if why else (quoted[0].text if quoted else "")
    reasons = [part for part in ((why.fact, why.rule, why.reason) if why else ()) if part]
    places = tuple(dict.fromkeys(heading_path(piece.passage) for piece in quoted))
    values = {
        "answer": answer,
        "reason": " ".join(reasons) or answer,
        "quote": rule,
        "source": places[0] if places else "",
    }
    lists = {"source": places, "quote": tuple(piece.text for piece in quoted), "answer": (answer,)}
    decision = {"yes": True, "no": False}.get(why.outcome) if why else None
    numbers = _numbers(why.value) if why and why.value else _numbers(answer)
    quotes = tuple((piece.text, heading_path(piece.passage)) for piece in quoted)
    return _Offer(answer, values, lists, decision, numbers, reply.confidence, quotes)


def _numbers(text: str) -> tuple[float, ...]:
    plain = (match for match in dict.fromkeys(_NUMBER.findall(text)) if _is_plain(match))
    return tuple(number for match in plain if math.isfinite(number := float(match.replace(",", ""))))


def _is_plain(number: str) -> bool:
    """Whether a number can be read without doubt: `1,000.5`, not `1.000.000` or `3,5`."""
    return re.fullmatch(r"-?\d+(?:\.\d+)?|-?\d{1,3}(?:,\d{3})+(?:\.\d+)?", number) is not None


def _value(name: str, schema: Mapping[str, Json], offer: _Offer) -> Json:
    if "const" in schema:
        return schema["const"]
    kinds = _kinds(schema)
    if "enum" in schema:
        return _choice(schema["enum"], offer, nullable="null" in kinds)
    for inner in schema.get("anyOf", ()):
        if _kinds(inner) != {"null"}:
            with suppress(UnfilledError):
                return _value(name, inner, offer)
    value = _plain(name, schema, kinds, offer)
    if value is None and "null" not in kinds:
        raise UnfilledError
    return value


def _plain(name: str, schema: Mapping[str, Json], kinds: set[str], offer: _Offer) -> Json:
    """A value by its type; None where the turn has none."""
    if "object" in kinds and "properties" in schema:
        return _object(schema, offer)
    if "array" in kinds and "object" in _kinds(schema.get("items", {})):
        return [_object(schema["items"], _of_quote(*quote)) for quote in offer.quotes] or None
    if "boolean" in kinds and offer.decision is not None:
        return offer.decision
    if kinds & {"number", "integer"} and (number := _number(name, offer, whole="number" not in kinds)) is not None:
        return number
    if "array" in kinds and _kinds(schema.get("items", {"type": "string"})) == {"string"}:
        return list(offer.lists.get(_sort(name.removesuffix("s")) or "", ())) or None
    return (offer.values.get(_sort(name) or "", "") or None) if "string" in kinds else None


def _of_quote(text: str, place: str) -> _Offer:
    """Return the values that one quoted passage offers for a schema."""
    return _Offer(text, {"quote": text, "answer": text, "source": place}, {}, None, (), 0.0)


def _kinds(schema: Mapping[str, Json]) -> set[str]:
    types = schema.get("type", ())
    kinds = {types} if isinstance(types, str) else set(types)
    return kinds | {kind for inner in schema.get("anyOf", ()) if isinstance(inner, dict) for kind in _kinds(inner)}


def _sort(name: str) -> str | None:
    """Which text of a turn a property's name asks for."""
    words = set(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()))
    return next((sort for sort, names in _NAMES.items() if words & set(names)), None)


def _number(name: str, offer: _Offer, *, whole: bool) -> float | int | None:
    if name.lower() in ("confidence", "probability") and not whole:
        return offer.confidence
    if len(offer.numbers) != 1:
        return None
    (number,) = offer.numbers
    return int(number) if number.is_integer() else None if whole else number


def _names(text: str, option: str) -> bool:
    """Whether a text names an option as whole words; without a regular expression, whose making takes longer."""
    text, option = text.casefold(), option.casefold()
    place = text.find(option) if option else -1
    while place >= 0:
        before, after = text[place - 1 : place], text[place + len(option) : place + len(option) + 1]
        if not any(character.isalnum() or character == "_" for character in before + after):
            return True
        place = text.find(option, place + 1)
    return False


def _choice(options: Sequence[Json], offer: _Offer, *, nullable: bool) -> Json:
    """The only option that the answer names; yes and no stand for the decision."""
    decided = {True: ("yes", "true", "allowed"), False: ("no", "false", "not allowed")}.get(offer.decision, ())  # type: ignore[arg-type]  # None has no words
    matches = [option for option in options if isinstance(option, str) and option.lower() in decided]
    if not matches:
        matches = [option for option in options if isinstance(option, str) and _names(offer.text, option)]
    if len(matches) == 1:
        return matches[0]
    if nullable or None in options:
        return None
    raise UnfilledError
