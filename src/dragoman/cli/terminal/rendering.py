"""Rendering of replies, traces, tables and errors for the terminal."""

from __future__ import annotations

import sys
from pathlib import PurePath
from typing import TYPE_CHECKING

from dragoman.cli.terminal.messages import printable
from dragoman.core.errors import DragomanError
from dragoman.core.trace import Note, Refinement, Reply, Retrieval, Trace, Value
from dragoman.core.values import Draft, Evidence, Learned, Passage, Plan, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console
    from rich.table import Table

_SHORT = 72
_EXPLAINED = ("rule", "fact", "price")


def out() -> Console:
    """Console for results; created on each call, because tests and pipes replace the stream."""
    from rich.console import Console

    return Console(file=sys.stdout, highlight=False, markup=False, emoji=False)


def err() -> Console:
    """Console for progress, warnings and errors."""
    from rich.console import Console

    return Console(file=sys.stderr, highlight=False, markup=False, emoji=False)


def one_line(text: str, width: int = _SHORT) -> str:
    """The text on one line, cut to a width."""
    flat = " ".join(printable(text).split())
    return flat if len(flat) <= width else f"{flat[: width - 1].rstrip()}…"


def error_text(error: DragomanError) -> str:
    """The error message and, on a second line, the remedy."""
    return f"Error: {error.message}" + (f"\n       {error.remedy}" if error.remedy else "")


def place(passage: Passage) -> str:
    """The file name of a passage, else its source."""
    return one_line(PurePath(passage.origin).name or passage.source, 40)


def route(plan: Plan) -> str:
    """The sources of a plan in order: `A > B + C`, where B and C are searched together."""
    return " > ".join(" + ".join(step) for step in plan.steps)


def seconds_text(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 0.095 else f"{seconds * 1000:.0f} ms"


def why_line(reply: Reply) -> str:
    """One-line summary: sources, files, relevance, seconds and, where it is known, the price."""
    took = seconds_text(reply.trace.seconds)
    if reply.trace.price is not None:
        from dragoman.server.cost import price_text

        took = f"{took} · {price_text(reply.trace.price)}"
    if reply.plan.is_null:
        reason = one_line(reply.verdict.reason, 48)
        return " · ".join(part for part in ("nothing looked up", reason, took) if part)
    basis = _rests_on(reply)
    if not basis:
        nothing = "nothing that answers it" if reply.evidence else "nothing found"
        return f"{route(reply.plan)} · {nothing} · {took}"
    places = ", ".join(dict.fromkeys(place(evidence.passage) for evidence in basis))
    return f"{route(reply.plan)} · {places} · relevance {max(e.relevance for e in basis):.2f} · {took}"


def _rests_on(reply: Reply) -> tuple[Evidence, ...]:
    """The evidence that the last draft quotes, else the most relevant; none for a standard phrase."""
    drafts = [note.value for note in reply.trace if isinstance(note.value, Draft)]
    quoted = set(drafts[-1].quoted) if drafts else set()
    if drafts and drafts[-1].method == "said":
        return ()
    cited = tuple(evidence for evidence in reply.evidence if evidence.id in quoted)
    return cited or tuple(sorted(reply.evidence, key=lambda evidence: -evidence.relevance)[:1])


def learned_lines(trace: Trace) -> list[str]:
    """Changes of the user's memory, one line per fact."""
    return [line for note in trace if isinstance(note.value, Learned) for line in learned_text(note.value)]


def learned_text(learned: Learned) -> list[str]:
    """A change of memory as lines of text."""
    changes = {
        "remembered": learned.added,
        "replaced": learned.superseded,
        "known already": learned.joined,
        "deleted": learned.forgotten,
        "restored": learned.restored,
        "dropped to make room": learned.dropped,
        "from now on": learned.wishes,
        "no longer": learned.ended_wishes,
    }
    return [f"{word}: {one_line(passage.text)}" for word, passages in changes.items() for passage in passages]


def explanation_text(reply: Reply) -> list[str]:
    """Explain a reply in lines: the user's fact, the rule and the outcome; empty if nothing is noted."""
    from dragoman.server.explanation import EXPLANATION_WORDS, explanation, explanation_lines

    draft = _last_draft(reply)
    reason = explanation(draft, reply.evidence) if draft is not None else None
    if reason is None:
        return []
    english = {key: words[0] for key, words in EXPLANATION_WORDS.items()}
    return [f"{label}: {one_line(text, 400)}" for label, text in explanation_lines(reason, english)]


def _last_draft(reply: Reply) -> Draft | None:
    values = [note.value for note in reply.trace if isinstance(note.value, Draft | Refinement)]
    last = values[-1] if values else None
    return last.draft if isinstance(last, Refinement) else last


def cost_line(trace: Trace) -> str:
    """Calls, tokens and price of a turn; "" where no model was asked."""
    from dragoman.server.cost import COST_WORDS, cost_text

    return cost_text(trace.usage, trace.price, {key: words[0] for key, words in COST_WORDS.items()})


def trace_table(trace: Trace) -> Table:
    """Table of every role's decision, score and seconds."""
    rows = table("role", "component", "decision", ">score", ">seconds", title="Why")
    for note in trace:
        decision, score = _decision(note.value)
        add_row(rows, note.role, note.component, decision, score, f"{note.seconds:.3f}")
    return rows


def evidence_table(evidence: Sequence[Evidence]) -> Table:
    """Table of a reply's evidence, most relevant first."""
    rows = table(">relevance", "source", "from", "passage", title="Evidence")
    for piece in sorted(evidence, key=lambda piece: -piece.relevance):
        add_row(rows, f"{piece.relevance:.2f}", piece.source, place(piece.passage), one_line(piece.text, 200))
    return rows


def facts_table(passages: Iterable[Passage]) -> Table:
    """Table of the stored facts about a user."""
    rows = table("id", "fact", "told", title="Memory")
    for passage in passages:
        add_row(rows, passage.id, one_line(passage.text, 200), passage.meta.get("said_at", "")[:10])
    return rows


def wishes_table(passages: Iterable[Passage]) -> Table:
    """Table of a user's standing wishes about replies."""
    rows = table("id", "wish", "told", title="Standing wishes")
    for passage in passages:
        add_row(rows, passage.id, one_line(passage.text, 200), passage.meta.get("said_at", "")[:10])
    return rows


def table(*columns: str, title: str = "") -> Table:
    """An empty table in the common style; columns that begin with `>` are right-aligned."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left", overflow="fold")
    return table


def add_row(table: Table, *cells: str) -> None:
    """Add a row of plain text: square brackets are not markup."""
    from rich.text import Text

    table.add_row(*(Text(printable(cell)) for cell in cells))


def _decision(value: Value) -> tuple[str, str]:
    """A note's value in words, and its score."""
    if isinstance(value, Verdict):
        words = "look something up" if value.retrieve else "answer without looking"
        return _with(words, value.reason), f"{value.probability:.2f}"
    if isinstance(value, Plan):
        best = max((value.probabilities[name] for name in value.sources if name in value.probabilities), default=None)
        return _with(route(value) or "no source", value.reason), "" if best is None else f"{best:.2f}"
    if isinstance(value, Retrieval):
        words = f"{len(value.evidence)} from {' + '.join(value.sources)}"
        best = max((evidence.relevance for evidence in value.evidence), default=None)
        text = _with(words, f"“{one_line(value.query, 48)}”" if value.query else "")
        text += "".join(f"; {one_line(warning, 160)}" for warning in value.warnings)
        return text, "" if best is None else f"{best:.2f}"
    if isinstance(value, Draft):
        # Rule and fact stand above the table (`explanation_text`).
        notes = ", ".join(f"{name} {_figure(item)}" for name, item in value.notes.items() if name not in _EXPLAINED)
        return _with(value.method, notes), f"{value.confidence:.2f}"
    if isinstance(value, Refinement):
        words = ", ".join(f"{old} by {new}" for old, new in value.replaced)
        worst = min((score for _, score in value.scores), default=None)
        return f"replaced {words}" if words else "kept", "" if worst is None else f"{worst:.2f}"
    return _learned(value), ""


def _learned(learned: Learned) -> str:
    counts = {
        "remembered": len(learned.added),
        "replaced": len(learned.superseded),
        "known already": len(learned.joined),
        "deleted": len(learned.forgotten),
        "restored": len(learned.restored),
    }
    return ", ".join(f"{word} {count}" for word, count in counts.items() if count) or "nothing new"


def _with(words: str, more: str) -> str:
    return f"{words} ({one_line(more, 96)})" if more else words


def _figure(item: str | float) -> str:
    return item if isinstance(item, str) else f"{item:.2f}"


def note_progress(note: Note) -> str:
    """Status text after a note, while a turn is running."""
    if isinstance(note.value, Plan) and not note.value.is_null:
        return f"looking in {route(note.value)}"
    return "thinking"
