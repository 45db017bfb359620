"""Resolve a time expression against the moment at which it was said, in the time zone of its speaker.

Conventions, where people differ: weeks begin on Monday; "last Tuesday" is the latest one before today; "next Tuesday"
is the one of next week; "this Friday" is the one of this week; a day and month in figures is read day first. A date
without a year is the last one after "since" and in a sentence about the past, the coming one after "until" and in a
sentence about the future, the nearest otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from dragoman.core.clock import zone_of
from dragoman.decision.times import chinese, english
from dragoman.decision.times.spans import LocalSpan, Tense
from dragoman.text import lazy_re as re
from dragoman.text.language import language

LONGEST = 400
"""Characters of a text in which expressions are looked for."""
_PAST = re.compile(
    r"\b(?:did|was|were|had|been|told|said|went|came|left|began|bought|got|met|used to|[a-z]{2,12}ed)\b"
    r"|了|过|曾|以前|之前|当时"
)
_FUTURE = re.compile(
    r"\b(?:will|going to|shall|plan|leaving|moving|flying|starts?|begins?|upcoming|coming)\b|'ll\b|要|将|会|打算|准备"
)


_OTHER_WORDS = re.compile(r"march|fall|spring|\d{1,2}th")
"""Words that are no time by themselves within a sentence: to march, to fall, the second day."""


@dataclass(frozen=True, slots=True)
class Period:
    """A time expression and the period that it means: from `start` up to, not including, `end`; None is open.

    `grain` is its precision: minute, day, week, month, year, or "" for any other span.
    """

    start: datetime | None
    end: datetime | None
    text: str = ""
    position: int = 0
    grain: str = ""


def resolve(text: str, at: datetime, zone: str | tzinfo = "", *, tense: Tense | None = None) -> Period | None:
    """The period that an expression means as a whole; None where it is no time expression.

    >>> from datetime import datetime, UTC
    >>> resolve("last Tuesday", datetime(2026, 11, 18, 9, tzinfo=UTC), "UTC").start.date().isoformat()
    '2026-11-17'
    """
    bare = text.strip(" .!?。！？，,")
    if not bare or len(bare) > LONGEST:
        return None
    local, zoned = _local(at, zone)
    grammar = chinese if language(bare) == "zh" else english
    prepared = grammar.prepare(bare)
    match = grammar.match(prepared, 0, local, tense or "near")
    if match is None or prepared[match[1] :].strip(" .,，。"):
        return None
    return _period(match[0], zoned, prepared, 0)


def find_periods(text: str, at: datetime, zone: str | tzinfo = "") -> list[Period]:
    """The time expressions of a text, in order; `text` and `position` of each are those in the prepared text."""
    opening = text[:LONGEST]
    grammar = chinese if language(opening) == "zh" else english
    if not grammar.HINT.search(opening.lower()):
        return []
    local, zoned = _local(at, zone)
    prepared = grammar.prepare(opening)
    tense: Tense = "past" if _PAST.search(prepared) else "future" if _FUTURE.search(prepared) else "near"
    periods: list[Period] = []
    place = 0
    for start in grammar.starts(prepared):
        if start < place:
            continue
        match = grammar.match(prepared, start, local, tense)
        if match is not None and not _OTHER_WORDS.fullmatch(prepared[start : match[1]]):
            span, place = match
            periods.append(_period(span, zoned, prepared[start:place], start))
    return periods


def without_periods(text: str, at: datetime, zone: str | tzinfo = "") -> str:
    """A text in lower case without its time expressions; numbers are written as digits."""
    opening = text[:LONGEST]
    prepared = chinese.prepare(opening) if language(opening) == "zh" else english.prepare(opening)
    for period in reversed(find_periods(text, at, zone)):
        prepared = f"{prepared[: period.position]} {prepared[period.position + len(period.text) :]}"
    return prepared


def _local(at: datetime, zone: str | tzinfo) -> tuple[datetime, tzinfo]:
    zoned = zone_of(zone) if isinstance(zone, str) else zone
    aware = at if at.tzinfo else at.replace(tzinfo=UTC)
    return aware.astimezone(zoned), zoned


def _period(span: LocalSpan, zone: tzinfo, text: str, position: int) -> Period:
    start, end = (None if side is None else side.replace(tzinfo=zone) for side in (span.start, span.end))
    return Period(start, end, text.strip(), position, span.grain)
