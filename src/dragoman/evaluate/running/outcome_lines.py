"""An outcome as two lines of JSON: the reply with its trace, and, because they differ between runs, its timings.

`core/codec` would work but is ten times slower, and a run has a line for each turn and system. Evidence
that stands in several notes of a turn is written once, under `found`, and named by its number.
"""

from __future__ import annotations

import json
from typing import Any, cast

from dragoman.core.codec import Json, decode, encode
from dragoman.core.trace import Note, Refinement, Reply, Retrieval, Trace, Value
from dragoman.core.values import Draft, Evidence, Learned, Passage, Plan, Usage, Verdict
from dragoman.evaluate.results import Outcome

_DEFAULTS: dict[str, object] = {"title": "", "headings": (), "parent": None, "position": 0, "origin": "", "meta": {}}
_NOWHERE = float("nan")


def dumps(value: object) -> str:
    """JSON as all files of a run have it: keys sorted, text as it is, floats in full."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def outcome_lines(outcome: Outcome) -> tuple[str, str]:
    """The repeatable line of an outcome, and the line with its timings."""
    reply, evidence_table = outcome.reply, _EvidenceTable()
    row = {
        "example": outcome.example,
        "text": reply.text,
        "confidence": float(reply.confidence),
        "verdict": _verdict(reply.verdict),
        "plan": _plan(reply.plan),
        "evidence": evidence_table.numbers(reply.evidence),
        "trace": [_note(note, evidence_table) for note in reply.trace.notes],
        "found": evidence_table.written,
        "usage": _usage(outcome.usage),
        "encoded": outcome.encoded,
    }
    seconds = [float(note.seconds) for note in reply.trace.notes]
    return dumps(row), dumps({"example": outcome.example, "seconds": seconds})


def outcome_of(line: str | bytes, times: str | bytes | None) -> Outcome:
    """The inverse of `outcome_lines`; seconds are NaN without a line of timings. Raises ValueError, KeyError or
    TypeError."""
    row = json.loads(line)
    evidence = [_read_evidence(entry) for entry in row["found"]]
    seconds = _seconds(times, row["example"], len(row["trace"]))
    notes = tuple(_read_note(note, evidence, took) for note, took in zip(row["trace"], seconds, strict=True))
    reply = Reply(
        row["text"],
        _read_verdict(row["verdict"]),
        _read_plan(row["plan"]),
        tuple(evidence[number] for number in row["evidence"]),
        Trace(notes),
        float(row["confidence"]),
    )
    return Outcome(row["example"], reply, Usage(**row["usage"]), row["encoded"])


def _seconds(times: str | bytes | None, example: str, notes: int) -> list[float]:
    if times is None:
        return [_NOWHERE] * notes
    twin = json.loads(times)
    if twin["example"] != example:
        raise ValueError(f"the times are those of '{twin['example']}', the row is of '{example}'")
    return [float(took) for took in twin["seconds"]]


class _EvidenceTable:
    """The distinct evidence of a turn in order of first mention; equal pieces are one."""

    def __init__(self) -> None:
        self.written: list[Json] = []
        self._by_key: dict[tuple[object, ...], list[tuple[Passage, int]]] = {}

    def numbers(self, evidence: tuple[Evidence, ...]) -> list[int]:
        return [self._number(one) for one in evidence]

    def _number(self, evidence: Evidence) -> int:
        passage = evidence.passage
        key = (passage.source, passage.id, evidence.relevance, *evidence.scores.items())
        alike = self._by_key.setdefault(key, [])
        for other, number in alike:
            if other is passage or other == passage:
                return number
        alike.append((passage, len(self.written)))
        scores = {name: float(score) for name, score in evidence.scores.items()}
        self.written.append(
            {"passage": _passage(passage), "relevance": float(evidence.relevance), "scores": cast(Json, scores)}
        )
        return len(self.written) - 1


def _passage(passage: Passage) -> dict[str, Json]:
    entry: dict[str, Json] = {"id": passage.id, "source": passage.source, "text": passage.text}
    for name, default in _DEFAULTS.items():
        value = getattr(passage, name)
        if value != default:
            entry[name] = encode(value)
    return entry


def _verdict(verdict: Verdict) -> dict[str, Json]:
    return {
        "retrieve": bool(verdict.retrieve),
        "probability": float(verdict.probability),
        "reason": verdict.reason,
    }


def _plan(plan: Plan) -> dict[str, Json]:
    return {
        "steps": [list(step) for step in plan.steps],
        "probabilities": {name: float(share) for name, share in plan.probabilities.items()},
        "reason": plan.reason,
    }


def _usage(usage: Usage) -> dict[str, Json]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "calls": usage.calls,
    }


def _draft(draft: Draft) -> dict[str, Json]:
    return {
        "text": draft.text,
        "confidence": float(draft.confidence),
        "method": draft.method,
        "quoted": list(draft.quoted),
        "usage": _usage(draft.usage),
        "notes": {name: note if isinstance(note, str) else float(note) for name, note in draft.notes.items()},
    }


def _note(note: Note, evidence_table: _EvidenceTable) -> dict[str, object]:
    value = note.value
    written: object
    if isinstance(value, Retrieval):
        kind, written = (
            "retrieval",
            {"sources": list(value.sources), "evidence": evidence_table.numbers(value.evidence), "query": value.query},
        )
    elif isinstance(value, Verdict):
        kind, written = "verdict", _verdict(value)
    elif isinstance(value, Plan):
        kind, written = "plan", _plan(value)
    elif isinstance(value, Draft):
        kind, written = "draft", _draft(value)
    elif isinstance(value, Refinement):
        kind, written = (
            "refinement",
            {
                "scores": [[name, float(score)] for name, score in value.scores],
                "replaced": [list(pair) for pair in value.replaced],
                "evidence": evidence_table.numbers(value.evidence),
                "draft": _draft(value.draft),
            },
        )
    else:
        kind, written = "learned", encode(value)
    return {"role": note.role, "component": note.component, "kind": kind, "value": written}


def _read_evidence(entry: Any) -> Evidence:
    passage = entry["passage"]
    if "headings" in passage:
        passage["headings"] = tuple(passage["headings"])
    return Evidence(Passage(**passage), entry["relevance"], entry["scores"])


def _read_verdict(entry: Any) -> Verdict:
    return Verdict(entry["retrieve"], entry["probability"], entry["reason"])


def _read_plan(entry: Any) -> Plan:
    return Plan(tuple(tuple(step) for step in entry["steps"]), entry["probabilities"], entry["reason"])


def _read_draft(entry: Any) -> Draft:
    return Draft(
        entry["text"],
        entry["confidence"],
        entry["method"],
        tuple(entry["quoted"]),
        Usage(**entry["usage"]),
        entry["notes"],
    )


def _read_note(entry: Any, all_evidence: list[Evidence], seconds: float) -> Note:
    kind, written = entry["kind"], entry["value"]
    value: Value
    if kind == "retrieval":
        evidence = tuple(all_evidence[number] for number in written["evidence"])
        value = Retrieval(tuple(written["sources"]), evidence, written["query"])
    elif kind == "verdict":
        value = _read_verdict(written)
    elif kind == "plan":
        value = _read_plan(written)
    elif kind == "draft":
        value = _read_draft(written)
    elif kind == "refinement":
        value = Refinement(
            tuple((name, score) for name, score in written["scores"]),
            tuple((old, new) for old, new in written["replaced"]),
            tuple(all_evidence[number] for number in written["evidence"]),
            _read_draft(written["draft"]),
        )
    elif kind == "learned":
        value = decode(Learned, written)
    else:
        raise ValueError(f"a note of the unknown kind '{kind}'")
    return Note(entry["role"], entry["component"], seconds, value)
