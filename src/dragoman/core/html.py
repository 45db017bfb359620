"""Replies, plans and traces as HTML for notebooks: every text is escaped, and nothing is loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.core.trace import Note, Reply, Trace
    from dragoman.core.values import Evidence, Plan

_MOST = 280
"""Most characters of a passage that are shown."""
_CHIP = "display:inline-block;border:1px solid #8888;border-radius:9px;padding:0 .6em;margin:0 .2em"


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts."""
    head = "".join(f'<th style="text-align:left">{escape(name)}</th>' for name in headers)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{escape(cell)}</td>' for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def plan_html(plan: Plan) -> str:
    """The steps of a plan, one chip for each."""
    if plan.is_null:
        return "<div><em>nothing is looked up</em></div>"
    chips = [f'<span style="{_CHIP}">{escape(" + ".join(step))}</span>' for step in plan.steps]
    reason = f" <small>{escape(plan.reason)}</small>" if plan.reason else ""
    return f"<div>{' → '.join(chips)}{reason}</div>"


def trace_html(trace: Trace) -> str:
    """What each role decided, in order, with its seconds."""
    rows = [(note.role, note.component, _decision(note), f"{note.seconds:.3f}") for note in trace]
    return table(("role", "component", "decision", "seconds"), rows)


def evidence_html(evidence: Iterable[Evidence]) -> str:
    """The evidence of a reply, most relevant first."""
    ranked = sorted(evidence, key=lambda piece: -piece.relevance)
    rows = [
        (f"{piece.relevance:.2f}", piece.source, piece.passage.origin, _short(piece.passage.text)) for piece in ranked
    ]
    return table(("relevance", "source", "from", "passage"), rows)


def reply_html(reply: Reply) -> str:
    """The text of a reply; plan, evidence and trace unfold below it."""
    text = escape(reply.text).replace("\n", "<br>")
    inner = plan_html(reply.plan) + (evidence_html(reply.evidence) if reply.evidence else "") + trace_html(reply.trace)
    return (
        f"<div><p>{text}</p><details><summary>Why (confidence {reply.confidence:.2f}, "
        f"{reply.trace.seconds:.2f} s)</summary>{inner}</details></div>"
    )


def _decision(note: Note) -> str:
    from dragoman.core.trace import Retrieval
    from dragoman.core.values import Draft, Learned, Plan, Verdict

    value = note.value
    if isinstance(value, Verdict):
        shown = "look something up" if value.retrieve else "answer without looking"
        return f"{shown} ({value.probability:.2f})"
    if isinstance(value, Plan):
        return " > ".join(" + ".join(step) for step in value.steps) or "nothing"
    if isinstance(value, Retrieval):
        return f"{len(value.evidence)} from {', '.join(value.sources)}"
    if isinstance(value, Draft):
        return _short(value.text)
    if isinstance(value, Learned):
        return f"{len(value.added)} facts learned, {len(value.forgotten)} forgotten"
    return f"{len(value.replaced)} passages replaced"


def _short(text: str) -> str:
    return text if len(text) <= _MOST else f"{text[:_MOST].rstrip()}…"
