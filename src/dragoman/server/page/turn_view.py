"""A turn as the page tells it: what the notes of a trace say, put together for drawing. Knows no page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dragoman.core.trace import Note, Refinement, Reply, Retrieval
from dragoman.core.values import Draft, Evidence, Learned, Plan, SourceName, Verdict
from dragoman.reader.phrases import NEAREST, NO_ANSWER
from dragoman.server.page.text_diff import Span, quoted_spans

Fate: TypeAlias = Literal["kept", "replaced", "novel", "dropped"]
Worth: TypeAlias = Literal["answer", "nearest", "no answer", "phrase"]
"""What a reply is worth: an answer, the nearest that was found, the word that there is none, or a set phrase."""


@dataclass(frozen=True, slots=True)
class Card:
    """A piece of evidence: what was found, and what became of it. `consistency` is None where no critic read it."""

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
    """A source of the plan, in the step of its number; `found` is None until it was asked. A tool may have failed."""

    source: SourceName
    step: int
    found: int | None = None
    best: float | None = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Round:
    """One round of refinement: what it replaced, and the text before and after."""

    replaced: tuple[tuple[str, str], ...]
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Bar:
    """One note on the clock: roles work one after the other. `about` are the sources, where some were asked."""

    role: str
    component: str
    start: float
    seconds: float
    about: str = ""


@dataclass(frozen=True, slots=True)
class TurnPicture:
    """A turn, as far as it has come."""

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

    @property
    def best(self) -> float:
        """The relevance of what fits best of all that was found."""
        return max((card.evidence.relevance for card in self.cards), default=0.0)

    @property
    def seconds(self) -> float:
        return sum(bar.seconds for bar in self.bars)


def turn_picture(notes: Sequence[Note], text: str = "") -> TurnPicture:
    """The telling of a turn from its notes so far; `text` is what was said of it so far."""
    values = [note.value for note in notes]
    learned = [value for value in values if isinstance(value, Learned)]
    verdicts = [value for value in values if isinstance(value, Verdict)]
    plans = [value for value in values if isinstance(value, Plan)]
    found = [value for value in values if isinstance(value, Retrieval)]
    drafts = [value for value in values if isinstance(value, Draft)]
    rounds = [value for value in values if isinstance(value, Refinement)]
    last = rounds[-1].draft if rounds else drafts[-1] if drafts else None
    said = last.text if last else text
    closed = bool(verdicts) and not verdicts[-1].retrieve
    plan = Plan() if closed else plans[-1] if plans else None
    return TurnPicture(
        learned=learned[-1] if learned else None,
        verdict=verdicts[-1] if verdicts else None,
        plan=plan,
        stops=_stops(plan, found) if plan else (),
        cards=_cards(found, rounds, last, said, dropped=closed),
        rounds=_rounds(drafts, rounds),
        bars=_bars(notes),
        warnings=tuple(dict.fromkeys(warning for value in found for warning in value.warnings)),
        method=last.method if last else "",
        confidence=last.confidence if last else None,
        worth=_worth(last) if last else "answer",
        text=said,
    )


def reply_picture(reply: Reply) -> TurnPicture:
    """The telling of a whole turn."""
    return turn_picture(reply.trace.notes, reply.text)


def _stops(plan: Plan, found: Sequence[Retrieval]) -> tuple[Stop, ...]:
    stops = []
    for number, step in enumerate(plan.steps):
        for source in step:
            asked = [retrieval for retrieval in found if source in retrieval.sources]
            pieces = [piece for retrieval in asked for piece in retrieval.evidence if piece.source == source]
            best = max((piece.relevance for piece in pieces), default=None)
            failed = any(warning.startswith(f"{source}: ") for retrieval in asked for warning in retrieval.warnings)
            stops.append(Stop(source, number, len(pieces) if asked else None, best, failed))
    return tuple(stops)


def _worth(draft: Draft) -> Worth:
    """The confidence of "I don't know" is that there is no answer: it must not be read as that of an answer."""
    if draft.notes.items() >= NO_ANSWER.items():
        return "no answer"
    if draft.notes.items() >= NEAREST.items():
        return "nearest"
    return "phrase" if draft.method == "said" else "answer"


def _cards(
    found: Sequence[Retrieval], rounds: Sequence[Refinement], last: Draft | None, said: str, *, dropped: bool
) -> tuple[Card, ...]:
    """Evidence in the order in which it was found, what refinement brought last; what the reply rests on is marked."""
    pieces = {piece.id: piece for retrieval in found for piece in retrieval.evidence}
    novel = {piece.id: piece for value in rounds for piece in value.evidence if piece.id not in pieces}
    gone = {old for value in rounds for old, _ in value.replaced}
    consistency = _consistency({**pieces, **novel}, rounds)
    quoted = set(last.quoted) if last else set()
    cards = []
    for name, piece in {**pieces, **novel}.items():
        fate: Fate = "dropped" if dropped else "replaced" if name in gone else "novel" if name in novel else "kept"
        spans = () if fate in ("replaced", "dropped") else quoted_spans(piece.text, said)
        cards.append(Card(piece, fate, name in quoted, consistency.get(name), spans))
    return tuple(cards)


def _consistency(pieces: dict[str, Evidence], rounds: Sequence[Refinement]) -> dict[str, float]:
    """What the critic said: a score is consistency times relevance (Alg. 1, line 6), so it comes out by division."""
    read: dict[str, float] = {}
    for value in rounds:
        for name, score in value.scores:
            piece = pieces.get(name)
            if piece is not None and piece.relevance > 0:
                read[name] = min(1.0, max(0.0, score / piece.relevance))
    return read


def _rounds(drafts: Sequence[Draft], rounds: Sequence[Refinement]) -> tuple[Round, ...]:
    told = []
    before = drafts[-1].text if drafts else ""
    for value in rounds:
        told.append(Round(value.replaced, before, value.draft.text))
        before = value.draft.text
    return tuple(told)


def _bars(notes: Sequence[Note]) -> tuple[Bar, ...]:
    bars = []
    start = 0.0
    for note in notes:
        about = ", ".join(note.value.sources) if isinstance(note.value, Retrieval) else ""
        bars.append(Bar(note.role, note.component, start, note.seconds, about))
        start += note.seconds
    return tuple(bars)
