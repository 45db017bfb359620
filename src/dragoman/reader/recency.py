"""Prefer the newer of two documents that contradict each other, for questions that ask for the latest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from dragoman.core.values import Evidence
from dragoman.text import lazy_re as re
from dragoman.text.claims import negated, numbers
from dragoman.text.sentences import sentences

_LATEST = re.compile(
    r"\b(?:latest|newest|most recent|current|currently|up[- ]to[- ]date|these days|nowadays)\b"
    r"|最新|目前|现行|最近的|如今",
    re.IGNORECASE,
)
_NEWEST = re.compile(r"\b(?:latest|newest|most recent)\b|最新|最近的", re.IGNORECASE)
_WORD = re.compile(r"[a-z]{3,}|[\u4e00-\u9fff]", re.IGNORECASE)
_COMMON = frozenset("the and for are was from with that this has have its not but per at".split())
_SAME = 0.5
"""Share of the words of the shorter of two sentences that both hold, where they are about the same."""
_LONGEST = 240


@dataclass(frozen=True, slots=True)
class OlderVersion:
    """A passage that a newer document contradicts, with its date."""

    evidence: Evidence
    sentence: str
    day: str


def asks_for_latest(question: str) -> bool:
    return bool(_LATEST.search(question))


def asks_for_newest(question: str) -> bool:
    """Whether a question asks for the newest document, not only for what is currently valid."""
    return bool(_NEWEST.search(question))


def older_versions(question: str, evidence: Sequence[Evidence], days: Mapping[str, str]) -> tuple[OlderVersion, ...]:
    """Return the evidence that a newer piece contradicts on the question; `days` are the dates of passages by id.

    Two pieces of different documents contradict one another where their sentences on the question share most of their
    words, and differ in a number or in a negation.
    """
    wanted = _words(question)
    dated = [(piece, days[piece.id], _sentence(piece.text, wanted)) for piece in evidence if days.get(piece.id)]
    older = []
    for piece, day, sentence in dated:
        newer = [
            (later, its)
            for other, later, its in dated
            if later > day and _apart(piece, other) and _alike(sentence, its)
        ]
        if newer and _differ(sentence, max(newer)[1]):  # only the newest counts, not versions in between
            older.append(OlderVersion(piece, sentence, day))
    return tuple(older)


def older_note(older: Sequence[OlderVersion], language: str) -> str:
    """The sentence that says that an older document differs."""
    latest = max(older, key=lambda version: version.day)
    day, quote = date.fromisoformat(latest.day), latest.sentence[:_LONGEST].strip()
    if language == "zh":
        return f"较早的一份资料（{day.year}年{day.month}月{day.day}日）说法不同：{quote}"
    return f" An older document ({day.day} {day:%B} {day.year}) differs: {quote}"


def _apart(piece: Evidence, other: Evidence) -> bool:
    return (piece.passage.origin or piece.id) != (other.passage.origin or other.id)


def _sentence(text: str, wanted: frozenset[str]) -> str:
    """The sentence of a text that shares most words with a question."""
    return max(sentences(text) or [text], key=lambda sentence: len(_words(sentence) & wanted))


def _alike(first: str, second: str) -> bool:
    """Whether two sentences are about the same subject, by shared words."""
    one, other = _words(first), _words(second)
    smaller = min(len(one), len(other))
    return smaller > 0 and len(one & other) / smaller >= _SAME


def _differ(first: str, second: str) -> bool:
    return numbers(first) != numbers(second) or negated(first) != negated(second)


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(text)) - _COMMON
