"""JSON views of values for the API, without local paths."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from dragoman.core.trace import Note, Refinement, Retrieval
from dragoman.core.values import Draft, Erased, Erasure, Evidence, Learned, Passage, Plan, Source, Turn, Verdict
from dragoman.server.turns.events import Decided, Event, Text, TurnDone, TurnPreface

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.core.values import Usage
    from dragoman.memory.transfer.importing import ImportPlan

View: TypeAlias = dict[str, Any]
_PIECE = 1 << 16
"""Characters of a response that are encoded and sent at once."""
_FLAT = 1000
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def dumps(value: object) -> bytes:
    """JSON in UTF-8; NaN and infinity are errors."""
    return _ENCODER.encode(value).encode("utf-8", "replace")


def json_pieces(value: object) -> Iterator[bytes]:
    """JSON in UTF-8 as `dumps`, in pieces; an iterator becomes a list.

    No other thread runs while Python encodes one value, and the export of a user takes seconds: here they run between
    its rows.
    """
    return _in_pieces(_json_texts(value))


def text_pieces(text: str) -> list[bytes]:
    """A long text in UTF-8, in pieces."""
    return [text[start : start + _PIECE].encode("utf-8", "replace") for start in range(0, len(text), _PIECE)]


def _in_pieces(texts: Iterator[str]) -> Iterator[bytes]:
    waiting: list[str] = []
    size = 0
    for text in texts:
        waiting.append(text)
        size += len(text)
        if size >= _PIECE:
            yield "".join(waiting).encode("utf-8", "replace")
            waiting, size = [], 0
    yield "".join(waiting).encode("utf-8", "replace")


def _json_texts(value: object) -> Iterator[str]:
    """The texts that make up a value's JSON, each of them short or one string of the value."""
    if isinstance(value, dict) and not _is_flat(value.values()):
        before = "{"
        for key, inner in value.items():
            yield f"{before}{_ENCODER.encode(key)}:"
            yield from _json_texts(inner)
            before = ","
        yield "}"
    elif isinstance(value, Iterator) or (isinstance(value, list | tuple) and not _is_flat(value)):
        yield "["
        for place, inner in enumerate(value):
            if place:
                yield ","
            yield from _json_texts(inner)
        yield "]"
    else:
        yield _ENCODER.encode(value)


def _is_flat(values: Collection[object]) -> bool:
    """Whether values are so few and plain that they are encoded at once."""
    return len(values) <= _FLAT and not any(isinstance(value, dict | list | tuple | Iterator) for value in values)


def origin(passage: Passage) -> str:
    """The origin of a passage; for files outside the agent's folder, only the name."""
    return passage.origin.rpartition("/")[2] if passage.origin.startswith("/") else passage.origin


def passage(row: Passage) -> View:
    is_fact = "slot" in row.meta  # the title of a fact only helps to find it
    return {
        "id": row.id,
        "source": row.source,
        "title": "" if is_fact else row.title,
        "headings": list(row.headings),
        "text": row.text,
        "origin": origin(row),
        "meta": dict(row.meta),
    }


def evidence(piece: Evidence) -> View:
    return passage(piece.passage) | {"relevance": piece.relevance, "scores": dict(piece.scores)}


def gate(verdict: Verdict) -> View:
    return {"retrieve": verdict.retrieve, "probability": verdict.probability, "reason": verdict.reason}


def plan(value: Plan) -> View:
    return {
        "steps": [list(step) for step in value.steps],
        "probabilities": dict(value.probabilities),
        "reason": value.reason,
        "since": value.since,
        "until": value.until,
        "latest": value.latest,
    }


def draft(value: Draft) -> View:
    return {
        "text": value.text,
        "confidence": value.confidence,
        "method": value.method,
        "quoted": list(value.quoted),
        "notes": dict(value.notes),
    }


def learned(value: Learned | None) -> View | None:
    """Changes of memory by a turn; deleted facts by id only."""
    if value is None:
        return None
    return {
        "added": [fact(row) for row in value.added],
        "superseded": [fact(row) for row in value.superseded],
        "joined": [fact(row) for row in value.joined],
        "forgotten": [row.id for row in value.forgotten],
        "restored": [fact(row) for row in value.restored],
        "pending": None if value.pending is None else erasure(value.pending),
        "erased": None if value.erased is None else erasure(value.erased),
        "wishes": [wish(row) for row in value.wishes],
        "ended_wishes": [row.id for row in value.ended_wishes],
        "dropped": [fact(row) for row in value.dropped],
    }


def receipt(lines: Sequence[Erased]) -> list[View]:
    """The lines of a receipt of erasure."""
    return [{"place": e.place, "what": e.what, "count": e.count, "sha256": e.sha256} for e in lines]


def erasure(value: Erasure) -> View:
    lines = receipt(value.receipt)
    counts: View = {"facts": value.facts, "chats": value.chats, "files": value.files}
    return {**counts, "receipt": lines} if lines else counts


def refinement(value: Refinement) -> View:
    return {
        "scores": dict(value.scores),
        "replaced": [list(pair) for pair in value.replaced],
        "sources": [evidence(piece) for piece in value.evidence],
        "draft": draft(value.draft),
    }


def imported(plan: ImportPlan) -> View:
    """Describe what an import does with each fact of a file."""
    rows = [
        {"text": each.fact.text, "said_at": each.fact.said_at, "fate": each.fate, "other": each.other}
        for each in plan.facts
    ]
    counts = {"messages": plan.messages, "left_out": plan.left_out, "instructions": plan.instructions}
    return {"facts": rows, "wishes": list(plan.wishes), "chats": plan.chats, **counts}


def wish(row: Passage) -> View:
    """A standing wish about the wording of replies."""
    meta = row.meta
    return {"id": row.id, "text": row.text, "kind": meta.get("kind", ""), "said": meta.get("said", "")}


def fact(row: Passage) -> View:
    """A fact, and the words it was learned from."""
    return {
        "id": row.id,
        "text": row.text,
        "about": row.meta.get("slot", "").rstrip("!"),
        "value": row.meta.get("value", ""),
        "said": row.meta.get("said", ""),
        "origin": origin(row),
        **{key: row.meta[key] for key in ("said_at", "valid_from", "valid_until") if row.meta.get(key)},
    }


def note(value: Note) -> View:
    """A note of the trace; `value` is the view of the decision."""
    return {"role": value.role, "component": value.component, "seconds": value.seconds, **_decided(value)}


def _decided(value: Note) -> View:
    match value.value:
        case Verdict() as verdict:
            return {"kind": "gate", "value": gate(verdict)}
        case Plan() as planned:
            return {"kind": "plan", "value": plan(planned)}
        case Retrieval() as found:
            pieces = [evidence(piece) for piece in found.evidence]
            view = {"asked": list(found.sources), "query": found.query, "found": pieces}
            return {"kind": "evidence", "value": {**view, "warnings": list(found.warnings)}}
        case Refinement() as refined:
            return {"kind": "refined", "value": refinement(refined)}
        case Learned() as changed:
            return {"kind": "memory", "value": learned(changed)}
        case Draft() as read:
            return {"kind": "draft", "value": draft(read)}
    raise TypeError(type(value.value).__name__)


def before(gathered: TurnPreface, *, dialogue: str) -> View:
    """Fields known before the text: the first half of the extension."""
    return {
        "dialogue": dialogue,
        "memory": learned(gathered.learned),
        "gate": gate(gathered.verdict),
        "plan": plan(gathered.plan),
        "sources": [evidence(piece) for piece in gathered.evidence],
    }


def after(done: TurnDone) -> View:
    """Fields known after the text: the second half of the extension."""
    drafts = [item.value for item in done.reply.trace if isinstance(item.value, Draft)]
    rounds = [item.value for item in done.reply.trace if isinstance(item.value, Refinement)]
    last = rounds[-1].draft if rounds else drafts[-1] if drafts else Draft("")
    return {
        "turn": None if done.calls else done.turn,
        "confidence": done.reply.confidence,
        "method": last.method,
        "quoted": list(last.quoted),
        "refined": [refinement(value) for value in rounds],
        "seconds": done.seconds,
        "cost": cost(done.usage, done.reply.trace.price),
        "trace": [note(item) for item in done.reply.trace],
        **({"replayed": True} if done.replayed else {}),
    }


def done(value: TurnDone) -> View:
    """A finished turn: the text and both halves of the extension."""
    return {
        "agent": value.agent,
        "text": value.reply.text,
        "usage": usage(value.usage),
        **before(TurnPreface.of(value.reply), dialogue=value.dialogue),
        **after(value),
    }


def cost(value: Usage, price: float | None) -> View:
    return {
        "calls": value.calls,
        "cached_tokens": value.cached_tokens,
        "reasoning_tokens": value.reasoning_tokens,
        "price": price,
    }


def usage(value: Usage) -> View:
    total = value.prompt_tokens + value.completion_tokens
    return {
        "prompt_tokens": value.prompt_tokens,
        "completion_tokens": value.completion_tokens,
        "total_tokens": total,
    }


def sse(event: Event) -> bytes:
    """A server-sent event."""
    match event:
        case Text(text):
            return b'event: text\ndata: {"text":' + dumps(text) + b"}\n\n"
        case Decided(kind, decided):
            return b"event: " + kind.encode() + b"\ndata: " + dumps(note(decided)) + b"\n\n"
        case TurnDone():
            return b"event: done\ndata: " + dumps(done(event)) + b"\n\n"
    raise TypeError(type(event).__name__)


def source(value: Source, *, count: int, writable: bool) -> View:
    return {
        "name": value.name,
        "description": value.description,
        "about": value.about,
        "needs": list(value.needs),
        "private": value.private,
        "passages": count,
        "writable": writable,
    }


def turn(value: Turn, reply: Mapping[str, Any] | None) -> View:
    """A turn of a dialogue; the agent's with its trace, if stored."""
    return {"speaker": value.speaker, "text": value.text, "reply": reply}


def listing(rows: Sequence[View], **more: object) -> View:
    """A list response."""
    return {"object": "list", "data": list(rows), **more}
