"""The trace: every role's decision in a turn, with values and seconds, and its conversion to and from JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dragoman.core.codec import Json, decode, encode
from dragoman.core.errors import InputError
from dragoman.core.html import folded, shortened, table
from dragoman.core.quick import quick
from dragoman.core.values import Draft, Evidence, Learned, Plan, SourceName, Usage, Verdict

Role: TypeAlias = Literal["memory", "gate", "planner", "retriever", "reader", "refiner"]
MODEL_FAILED = "the model failed: "
"""Begins the note of a draft that was composed without the model, which failed."""


@quick
@dataclass(frozen=True, slots=True)
class Retrieval:
    """Result of one step of a plan: the query as searched, the evidence, and problems."""

    sources: tuple[SourceName, ...]
    evidence: tuple[Evidence, ...]
    query: str = ""
    warnings: tuple[str, ...] = ()


class Found(list[Evidence]):
    """Result of a retriever for one request: evidence, and problems for the trace."""

    def __init__(self, evidence: Iterable[Evidence] = (), warnings: Iterable[str] = ()) -> None:
        super().__init__(evidence)
        self.warnings = tuple(warnings)


@dataclass(frozen=True, slots=True)
class Refinement:
    """One round of Algorithm 1: scores of the evidence, replaced evidence, the new draft, and problems."""

    scores: tuple[tuple[str, float], ...]
    replaced: tuple[tuple[str, str], ...]
    evidence: tuple[Evidence, ...]
    draft: Draft
    warnings: tuple[str, ...] = ()


Value: TypeAlias = Verdict | Plan | Retrieval | Draft | Refinement | Learned
_KINDS: dict[str, type] = {
    "verdict": Verdict,
    "plan": Plan,
    "retrieval": Retrieval,
    "draft": Draft,
    "refinement": Refinement,
    "learned": Learned,
}
_KIND_OF = {cls: kind for kind, cls in _KINDS.items()}
NO_USAGE = Usage()


def _draft_of(value: Value) -> Draft | None:
    return value if isinstance(value, Draft) else value.draft if isinstance(value, Refinement) else None


@quick
@dataclass(frozen=True, slots=True)
class Note:
    """One role's decision, its duration and what it asked of language models; in a batch, the turn's share of these.

    A draft has its own usage and price: `total_usage` and `total_price` are those of every kind of note.
    """

    role: Role
    component: str
    seconds: float
    value: Value
    usage: Usage = NO_USAGE
    price: float | None = None

    @property
    def total_usage(self) -> Usage:
        draft = _draft_of(self.value)
        return self.usage if draft is None else draft.usage

    @property
    def total_price(self) -> float | None:
        """Cost of the calls in US dollars; None if the model has no prices."""
        draft = _draft_of(self.value)
        if draft is None:
            return self.price
        return float(draft.notes["price"]) if "price" in draft.notes else None

    @property
    def decision(self) -> str:
        """The decision in a few words, for tables."""
        value = self.value
        if isinstance(value, Verdict):
            shown = "look something up" if value.retrieve else "answer without looking"
            return f"{shown} ({value.probability:.2f})"
        if isinstance(value, Plan):
            return " > ".join(" + ".join(step) for step in value.steps) or "nothing"
        if isinstance(value, Retrieval):
            return f"{len(value.evidence)} from {', '.join(value.sources)}"
        if isinstance(value, Draft):
            return shortened(value.text)
        if isinstance(value, Learned):
            return f"{len(value.added)} facts learned, {len(value.forgotten)} forgotten"
        return f"{len(value.replaced)} passages replaced"

    def to_json(self) -> dict[str, Json]:
        return {
            "role": self.role,
            "component": self.component,
            "seconds": self.seconds,
            "kind": _KIND_OF[type(self.value)],
            "value": encode(self.value),
            **({"usage": encode(self.usage)} if self.usage.calls else {}),
            **({"price": self.price} if self.price is not None else {}),
        }


@quick
@dataclass(frozen=True, slots=True)
class Trace:
    """The notes of one turn, in order of time."""

    notes: tuple[Note, ...] = ()

    def __iter__(self) -> Iterator[Note]:
        return iter(self.notes)

    def of(self, role: Role) -> tuple[Note, ...]:
        """The notes of one role."""
        return tuple(note for note in self.notes if note.role == role)

    @property
    def seconds(self) -> float:
        return sum(note.seconds for note in self.notes)

    @property
    def usage(self) -> Usage:
        """Calls and tokens of the turn, of every role."""
        return sum((note.total_usage for note in self.notes), NO_USAGE)

    @property
    def price(self) -> float | None:
        """Cost of these calls in US dollars; None if the model has no prices."""
        prices = [price for note in self.notes if (price := note.total_price) is not None]
        return sum(prices) if prices else None

    def to_json(self) -> list[Json]:
        return [note.to_json() for note in self.notes]

    def _repr_html_(self) -> str:
        """For notebooks."""
        rows = [(note.role, note.component, note.decision, f"{note.seconds:.3f}") for note in self]
        return table(("role", "component", "decision", "seconds"), rows)

    @classmethod
    def from_json(cls, data: Json) -> Trace:
        if not isinstance(data, list):
            raise InputError("A trace must be a JSON list of notes.", remedy="Was this file written by Dragoman?")
        return cls(tuple(_note(item) for item in data))


def model_failures(trace: Trace) -> tuple[str, ...]:
    """Return why the model failed, once for each draft that was composed without it."""
    notes = (note.value.notes for note in trace if isinstance(note.value, Draft))
    reasons = (str(each.get(key, "")) for each in notes for key in ("rejected", "judge"))
    return tuple(message for message in reasons if message.startswith(MODEL_FAILED))


def _note(item: Json) -> Note:
    if not isinstance(item, dict) or item.get("kind") not in _KINDS:
        raise InputError(f"Not a trace note: {json.dumps(item)[:80]}.", remedy="Was this file written by Dragoman?")
    value: Value = decode(_KINDS[str(item["kind"])], item.get("value"))
    role = item.get("role")
    seconds = item.get("seconds")
    if role not in ("memory", "gate", "planner", "retriever", "reader", "refiner"):
        raise InputError(f"A trace note has the unknown role {role!r}.", remedy="Was this file written by Dragoman?")
    if not isinstance(seconds, int | float):
        raise InputError("A trace note lacks its seconds.", remedy="Was this file written by Dragoman?")
    usage: Usage = decode(Usage, item["usage"]) if "usage" in item else NO_USAGE
    price = item.get("price")
    paid = float(price) if isinstance(price, int | float) else None
    return Note(role, str(item.get("component", "")), float(seconds), value, usage, paid)  # type: ignore[arg-type]  # checked above


@quick
@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to the user, with its trace."""

    text: str
    verdict: Verdict
    plan: Plan
    evidence: tuple[Evidence, ...]
    trace: Trace
    confidence: float = 1.0

    def _repr_html_(self) -> str:
        """For notebooks."""
        ranked = sorted(self.evidence, key=lambda piece: -piece.relevance)
        rows = [
            (f"{piece.relevance:.2f}", piece.source, piece.passage.origin, shortened(piece.text)) for piece in ranked
        ]
        evidence = table(("relevance", "source", "from", "passage"), rows) if rows else ""
        summary = f"Why (confidence {self.confidence:.2f}, {self.trace.seconds:.2f} s)"
        return folded(self.text, summary, self.plan._repr_html_() + evidence + self.trace._repr_html_())


def reply_to_json(reply: Reply) -> dict[str, Json]:
    """The whole reply as JSON: what `--json` prints and the store keeps."""
    return {
        "text": reply.text,
        "confidence": reply.confidence,
        "verdict": encode(reply.verdict),
        "plan": encode(reply.plan),
        "evidence": [encode(evidence) for evidence in reply.evidence],
        "trace": reply.trace.to_json(),
    }


def reply_from_json(data: Json) -> Reply:
    """The inverse of `reply_to_json`."""
    if not isinstance(data, dict):
        raise InputError("A reply must be a JSON object.", remedy="Was this file written by Dragoman?")
    evidence = data.get("evidence", [])
    items = evidence if isinstance(evidence, list) else []
    confidence = data.get("confidence", 1.0)
    return Reply(
        text=str(data.get("text", "")),
        verdict=decode(Verdict, data.get("verdict")),
        plan=decode(Plan, data.get("plan")),
        evidence=tuple(decode(Evidence, item) for item in items),
        trace=Trace.from_json(data.get("trace", [])),
        confidence=float(confidence) if isinstance(confidence, int | float) else 1.0,
    )
