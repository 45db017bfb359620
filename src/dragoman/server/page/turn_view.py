"""View model of a turn: the notes of a trace as the values that the Why panel draws. Independent of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dragoman.core.trace import NO_USAGE, Note, Refinement, Reply, Retrieval, Trace
from dragoman.core.values import Draft, Evidence, Learned, Plan, SourceName, Usage, Verdict
from dragoman.reader.phrases import NEAREST, NO_ANSWER
from dragoman.server.explanation import Explanation, explanation
from dragoman.server.page.text_diff import Span, quoted_spans

Fate: TypeAlias = Literal["kept", "replaced", "novel", "dropped"]
Worth: TypeAlias = Literal["answer", "nearest", "no answer", "phrase"]
"""Kind of a reply: an answer, the nearest match quoted with doubt, "I don't know", or a set phrase."""


@dataclass(frozen=True, slots=True)
class Card:
    """A piece of evidence and whether it was used. `consistency` is None where no critic has scored it."""

    evidence: Evidence
    fate: Fate = "kept"
    quoted: bool = False
    consistency: float | None = None
    spans: tuple[Span, ...] = ()

    @property
    def is_gone(self) -> bool:
        return self.fate in ("replaced", "dropped")


@dataclass(frozen=True, slots=True)
class Stop:
    """A source in step number `step` of the plan; `hits` counts its hits and is None until it was searched."""

    source: SourceName
    step: int
    hits: int | None = None
    best: float | None = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Round:
    """One round of refinement: pairs of (old, new) evidence ids, and the draft before and after."""

    replaced: tuple[tuple[str, str], ...]
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Bar:
    """Timing of one note; roles run one after the other. `about` names the sources of a retrieval."""

    role: str
    component: str
    start: float
    seconds: float
    about: tuple[SourceName, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnPicture:
    """A turn so far; what is not decided yet is None or empty."""

    explanation: Explanation | None = None
    learned: Learned | None = None
    verdict: Verdict | None = None
    plan: Plan | None = None
    stops: tuple[Stop, ...] = ()
    cards: tuple[Card, ...] = ()
    rounds: tuple[Round, ...] = ()
    bars: tuple[Bar, ...] = ()
    warnings: tuple[str, ...] = ()
    method: str = ""
    confidence: float | None = None
    worth: Worth = "answer"
    text: str = ""
    usage: Usage = NO_USAGE
    price: float | None = None

    @property
    def origin(self) -> str:
        """The reader's method; a standard phrase after a search, whose evidence it does not use, is one of its own."""
        return "said_unused" if self.worth == "phrase" and self.cards else self.method

    @property
    def best(self) -> float:
        """The highest relevance among the evidence."""
        return max((card.evidence.relevance for card in self.cards), default=0.0)

    @property
    def seconds(self) -> float:
        return sum(bar.seconds for bar in self.bars)


def turn_picture(notes: Sequence[Note], text: str = "") -> TurnPicture:
    """The view of a turn from its notes so far; `text` is the reply as far as it is streamed."""
    values = [note.value for note in notes]
    learned = [value for value in values if isinstance(value, Learned)]
    verdicts = [value for value in values if isinstance(value, Verdict)]
    plans = [value for value in values if isinstance(value, Plan)]
    retrievals = [value for value in values if isinstance(value, Retrieval)]
    drafts = [value for value in values if isinstance(value, Draft)]
    rounds = [value for value in values if isinstance(value, Refinement)]
    last = rounds[-1].draft if rounds else drafts[-1] if drafts else None
    shown = last.text if last else text
    closed = bool(verdicts) and not verdicts[-1].retrieve
    plan = Plan() if closed else plans[-1] if plans else None
    cards = _cards(retrievals, rounds, last, shown, dropped=closed)
    trace = Trace(tuple(notes))
    return TurnPicture(
        explanation=explanation(last, [card.evidence for card in cards]) if last else None,
        learned=learned[-1] if learned else None,
        verdict=verdicts[-1] if verdicts else None,
        plan=plan,
        stops=_stops(plan, retrievals) if plan else (),
        cards=cards,
        rounds=_rounds(drafts, rounds),
        bars=_bars(notes),
        warnings=tuple(dict.fromkeys(warning for value in retrievals for warning in value.warnings)),
        method=last.method if last else "",
        confidence=last.confidence if last else None,
        worth=_worth(last) if last else "answer",
        text=shown,
        usage=trace.usage,
        price=trace.price,
    )


def reply_picture(reply: Reply) -> TurnPicture:
    """The view of a finished turn."""
    return turn_picture(reply.trace.notes, reply.text)


def _stops(plan: Plan, retrievals: Sequence[Retrieval]) -> tuple[Stop, ...]:
    stops = []
    for number, step in enumerate(plan.steps):
        for source in step:
            searches = [retrieval for retrieval in retrievals if source in retrieval.sources]
            pieces = [piece for retrieval in searches for piece in retrieval.evidence if piece.source == source]
            best = max((piece.relevance for piece in pieces), default=None)
            failed = any(warning.startswith(f"{source}: ") for retrieval in searches for warning in retrieval.warnings)
            stops.append(Stop(source, number, len(pieces) if searches else None, best, failed))
    return tuple(stops)


def _worth(draft: Draft) -> Worth:
    """The kind of a draft: "I don't know" has a high confidence that must not be shown as that of an answer."""
    if draft.notes.items() >= NO_ANSWER.items():
        return "no answer"
    if draft.notes.items() >= NEAREST.items():
        return "nearest"
    return "phrase" if draft.method == "said" else "answer"


def _cards(
    retrievals: Sequence[Retrieval], rounds: Sequence[Refinement], last: Draft | None, text: str, *, dropped: bool
) -> tuple[Card, ...]:
    """Evidence in order of retrieval, then what refinement added; evidence that the reply quotes is marked."""
    pieces = {piece.id: piece for retrieval in retrievals for piece in retrieval.evidence}
    novel = {piece.id: piece for value in rounds for piece in value.evidence if piece.id not in pieces}
    gone = {old for value in rounds for old, _ in value.replaced}
    consistency = _consistency({**pieces, **novel}, rounds)
    quoted = set(last.quoted) if last else set()
    cards = []
    for name, piece in {**pieces, **novel}.items():
        fate: Fate = "dropped" if dropped else "replaced" if name in gone else "novel" if name in novel else "kept"
        is_used = fate not in ("replaced", "dropped") and (name in quoted or not quoted)
        spans = quoted_spans(piece.text, text) if is_used else ()
        cards.append(Card(piece, fate, name in quoted, consistency.get(name), spans))
    return tuple(cards)


def _consistency(pieces: dict[str, Evidence], rounds: Sequence[Refinement]) -> dict[str, float]:
    """The critic's consistency by evidence id: a score is consistency times relevance (Alg. 1, line 6)."""
    scores: dict[str, float] = {}
    for value in rounds:
        for name, score in value.scores:
            piece = pieces.get(name)
            if piece is not None and piece.relevance > 0:
                scores[name] = min(1.0, max(0.0, score / piece.relevance))
    return scores


def _rounds(drafts: Sequence[Draft], rounds: Sequence[Refinement]) -> tuple[Round, ...]:
    views = []
    before = drafts[-1].text if drafts else ""
    for value in rounds:
        views.append(Round(value.replaced, before, value.draft.text))
        before = value.draft.text
    return tuple(views)


def _bars(notes: Sequence[Note]) -> tuple[Bar, ...]:
    bars = []
    start = 0.0
    for note in notes:
        about = tuple(note.value.sources) if isinstance(note.value, Retrieval) else ()
        bars.append(Bar(note.role, note.component, start, note.seconds, about))
        start += note.seconds
    return tuple(bars)


def source_label(name: str, words: Mapping[str, str]) -> str:
    """The name of a source for the eye: usual ones in the language of the page, others as "Harbour rules"."""
    if f"source.{name}" in words:
        return words[f"source.{name}"]
    return name.replace("_", " ").capitalize() if name.isupper() else name
