"""Answer questions about the history of a user's facts: before, when told, at a date, since when, how old."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo

from dragoman.core.clock import stamp
from dragoman.core.protocols import Encoder
from dragoman.core.values import Context, HistoryKind, Passage, Recollection
from dragoman.decision.times import Period, find_periods
from dragoman.memory.ages import age_at, birthday_of, is_age, is_birthday, turned_at
from dragoman.memory.deletion.forgetting import fitting
from dragoman.memory.recall.history import EVER, believed, is_current, told, valid
from dragoman.memory.recall.topics import Topic, topic_of
from dragoman.memory.reconcile import fact_of
from dragoman.memory.subjects import USER
from dragoman.memory.upkeep import PENDING
from dragoman.text import lazy_re as re
from dragoman.text.language import language as language_of

_LONGEST = 240
_CUE = re.compile(
    r"\b(?:did|have|has) (?:i|you|my|we)\b|\b(?:was|were) (?:i|my)\b|\bmy (?:previous|former|old|last)\b|\bhow old\b"
    r"|\bsince when\b|\bhow long\b|\b(?:was|were) the name of my\b"
    r"|以前|之前|原来|从前|过去|曾经|什么时候|哪天|几时|多久|几岁|多大|[你您].{0,12}(?:知道|认为|以为|记得|了解)我"
    r"|我.{0,16}(?:住|在|做|叫|告诉|说|提).{0,10}(?:哪|什么|啥|谁)",
    re.IGNORECASE,
)
_TELL = "(?:tell|told|mention|mentioned|say|said|inform|informed|let you know)"
_TOLD = re.compile(
    rf"\bwhen (?:did|have) i (?:first |last |ever |actually )?{_TELL}\b|\bhow long ago did i {_TELL}\b"
    r"|(?:什么时候|哪天|几时|何时).{0,8}(?:告诉|跟你说|和你说|对你说|提到|提过|说过|说的)",
    re.IGNORECASE,
)
_BELIEVED = re.compile(
    r"\bwhat did you (?:still )?(?:believe|know|think|remember|have (?:noted|stored|saved))\b"
    r"|[你您].{0,12}(?:知道|认为|以为|记得|了解|记着)(?:的)?我?(?:的|是|住|在|有)?.{0,6}(?:什么|哪些|啥|谁|哪)",
    re.IGNORECASE,
)
_SAID = re.compile(
    rf"\bwhat (?:did|have|else did) i {_TELL}(?: to)?(?: you)?\b"
    r"|我.{0,12}(?:告诉|跟你说|和你说|对你说|跟你提|说)(?:过|了)?你?(?:过|了)?(?:些)?(?:什么|哪些|啥)",
    re.IGNORECASE,
)
_AGE = re.compile(r"\bhow old (?:is|are|am)\b|(?:几岁|多大)(?:了|啦)?[？?。]?$", re.IGNORECASE)
_SINCE = re.compile(
    r"\bsince when\b|\bhow long (?:have|has) (?:i|my|we)\b|\bhow long ago did i (?:move|start|begin|become|join|get)\b"
    r"|\bwhen did (?:i|we) (?:move(?! out| away)|start|begin|become|join|get)\b"
    r"|从什么时候|多久了|(?:什么时候|哪年|何时)(?:搬到|搬来|开始|入职|成为|来到|住到)",
    re.IGNORECASE,
)
_SAYS_SINCE = re.compile(r"\b(?:since|ever since)\b (?=my\b|the\b|our\b|I\b|we\b)", re.IGNORECASE)
_UNTIL = re.compile(
    r"\b(?:until|till) when did\b|\bwhen did (?:i|we) (?:stop|leave|quit|move (?:out|away)|give up)\b"
    r"|到什么时候|(?:什么时候|哪年|何时)(?:离开|搬走|辞|不再|停)",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"\b(?:before|previously|formerly|earlier|used? to)\b|\bmy (?:previous|former|old|last)\b|以前|之前|原来|从前|曾经",
    re.IGNORECASE,
)
_WAS = re.compile(r"\b(?:was|were|did|had)\b|以前|之前|原来|从前", re.IGNORECASE)
_PERSONAL_PAST = re.compile(
    r"\b(?:did|was|were) (?:i|my|we)\b|\bmy (?:previous|former|old)\b|\bwas the name of my\b|我", re.IGNORECASE
)
_BEFORE_MOVE = re.compile(r"\bbefore i moved\b|搬(?:家|到.{1,8})?(?:以前|之前)", re.IGNORECASE)
_ONLY_THAT = re.compile(
    rf"{_TELL}(?: you)?(?: that| this| it| about (?:it|that|this))?\W*$|告诉你(?:这个|这件事)?的?\W*$|说的?\W*$", re.I
)
_NOW = re.compile(r"\b(?:now|currently|at the moment|these days|nowadays)\b|现在|目前|如今|眼下", re.IGNORECASE)
_PAST = re.compile(
    r"\b(?:before|previous|former|used to|when|how long|since|how old|earlier)\b"
    r"|以前|之前|原来|从前|曾经|什么时候|多久|几岁|多大|哪年",
    re.IGNORECASE,
)
"""Asks for more than what holds now."""
_MOST = 50
_UNPLACED = "about"
"""The slot of facts that no rule places: two of them need not be about the same."""


@dataclass(frozen=True, slots=True)
class Asking:
    """A question with all inputs needed to answer it from history."""

    context: Context
    at: datetime
    zone: tzinfo
    rows: Sequence[Passage]
    live: Sequence[Passage]
    encoder: Encoder
    analyse: Callable[[str], tuple[str, ...]]
    shown_before: Callable[[Context], Sequence[str]]

    @property
    def text(self) -> str:
        return self.context.last

    def period(self) -> Period | None:
        """The time that the question names, if it names one in the past or present."""
        periods = find_periods(self.text, self.at, self.zone)
        return next((each for each in periods if each.start is None or each.start <= self.at), None)

    def made(
        self, kind: HistoryKind, facts: Sequence[Passage] = (), current: Sequence[Passage] = (), grain: str = ""
    ) -> Recollection:
        zone = getattr(self.zone, "key", "")
        rows = tuple(facts)[:_MOST], tuple(current)[:_MOST]
        return Recollection(kind, *rows, grain=grain, now=stamp(self.at), zone=zone)


def asks_for_history(text: str) -> bool:
    """Quick test whether a turn may ask for the history of the user's facts."""
    return len(text) <= _LONGEST and bool(_CUE.search(text)) and (not _NOW.search(text) or bool(_PAST.search(text)))


def recollection(asking: Asking) -> Recollection | None:
    """Answer a question from the history of a user's facts; None if it asks for something else."""
    text = asking.text
    for pattern, answer in (
        (_TOLD, _when_told),
        (_SAID, _what_was_told),
        (_BELIEVED, _what_was_believed),
        (_AGE, _how_old),
        (_UNTIL, _until_when),
        (_SINCE, _since_when),
    ):
        if pattern.search(text) and not (pattern is _AGE and _BEFORE.search(text)):
            return answer(asking)
    topic = None if _PERSONAL_PAST.search(text) or not _WAS.search(text) else _topic(asking)
    if not _PERSONAL_PAST.search(text) and (topic is None or topic.subject == USER):
        return None
    period = asking.period()
    if _BEFORE.search(text) and (period is None or period.start is None):
        return _before(asking)
    return _valid_then(asking, period) if period is not None else None


def _topic(asking: Asking) -> Topic | None:
    return topic_of(asking.text, asking.rows, asking.analyse)


def _when_told(asking: Asking) -> Recollection | None:
    rows = [row for row in asking.rows if row.meta.get("said_at") and not row.meta.get("aged")]
    if _ONLY_THAT.search(asking.text):
        shown = asking.shown_before(asking.context)
        rows_meant = [row for row in rows if row.id in shown] or rows[-1:]
        return asking.made("told", rows_meant[:3]) if rows_meant else None
    topic = _topic(asking)
    rows_meant = topic.of(rows) if topic else []
    if not rows_meant:
        rows_meant = fitting(rows, _content(asking.text), asking.encoder, asking.analyse)
    return asking.made("told", rows_meant[-1:]) if rows_meant else asking.made("told")


def _what_was_told(asking: Asking) -> Recollection | None:
    period, start, end = asking.period(), "", ""
    if _BEFORE_MOVE.search(asking.text):
        topic = Topic("home", "user", asking.text)
        homes = topic.of(asking.live) or topic.of(asking.rows)
        if not homes:
            return None
        end = homes[-1].meta.get("valid_from", "")
        return replace(asking.made("said", told(asking.rows, "", end)), end=end, grain="day")
    if period is None:
        return None
    start, end = _bounds(period, asking.at)
    return replace(asking.made("said", told(asking.rows, start, end), grain=period.grain), start=start, end=end)


def _what_was_believed(asking: Asking) -> Recollection | None:
    period = asking.period()
    if period is None:
        return None
    start, end = _bounds(period, asking.at)
    at = stamp(min(period.end - timedelta(seconds=1), asking.at)) if period.end else start
    rows = believed(asking.rows, at)
    topic = _topic(asking)
    if topic is not None:
        rows = topic.of(rows)
    return replace(asking.made("believed", rows, grain=period.grain), start=start, end=end)


def _how_old(asking: Asking) -> Recollection | None:
    """Return an age computed from an old statement or a birthday; a recent statement is an ordinary fact."""
    topic = topic_of(asking.text, asking.rows, asking.analyse, slot="age")
    subject = topic.subject if topic else "user"
    facts = [fact_of(row) for row in asking.live]
    ages = [row for row, fact in zip(asking.live, facts, strict=True) if fact.subject == subject and is_age(fact)]
    births = [
        row for row, fact in zip(asking.live, facts, strict=True) if fact.subject == subject and is_birthday(fact)
    ]
    born = birthday_of(subject, facts)
    if not ages and births and (turned := turned_at(fact_of(births[-1]), asking.at, asking.zone)) is not None:
        return replace(asking.made("age", births[-1:]), value=str(turned))
    if not ages and (born is None or not born.year):
        return None
    if ages and born is None and ages[-1].meta.get("said_at", "") > stamp(asking.at - timedelta(days=180)):
        return asking.made("known", ages[-1:]) if language_of(asking.text) == "zh" else None
    age = age_at(fact_of(ages[-1]) if ages else None, born, asking.at, asking.zone)
    if age is None:
        return None
    return replace(asking.made("age", [*ages[-1:], *births[-1:]]), value=str(age))


def _since_when(asking: Asking) -> Recollection | None:
    topic = _topic(asking)
    if topic is None:
        return None
    rows = topic.of(asking.rows) if topic.names_value(asking.rows) else topic.of(asking.live)
    rows = [row for row in rows if not row.meta.get("corrected")]
    if rows and not rows[-1].meta.get("grain") and _SAYS_SINCE.search(rows[-1].text):  # "since my operation"
        return asking.made("known", rows[-1:])
    return asking.made("since", rows[-1:]) if rows else None


def _until_when(asking: Asking) -> Recollection | None:
    topic = _topic(asking)
    rows = _past(topic.of(asking.rows), asking) if topic else []
    return asking.made("until", rows[:1]) if rows else None


def _before(asking: Asking) -> Recollection | None:
    """What was true before what is true now, or before the value that the question names."""
    topic = _topic(asking)
    if topic is None:
        return None
    whole = replace(topic, text="") if topic.slot != _UNPLACED else topic
    rows = whole.of(asking.rows)
    named = topic.named(rows)
    past = _past(rows, asking)
    if named:
        past = [row for row in past if row not in named]
        if not any(is_current(row, asking.live) for row in named):  # everything past comes before what is true now
            first = min(row.meta.get("valid_from", "") for row in named)
            past = [row for row in past if row.meta.get("valid_from", "") <= first]
    current = whole.of(asking.live)
    return asking.made("before", past[:3], current) if past or current else None


def _valid_then(asking: Asking, period: Period) -> Recollection | None:
    topic = _topic(asking)
    if topic is None:
        return None
    start, end = _bounds(period, asking.at)
    whole = replace(topic, text="")
    facts = [row for row in whole.of(asking.rows) if not row.meta.get("corrected") and not row.meta.get(PENDING)]
    if not facts:
        return None
    made = asking.made("valid", valid(facts, start, end), whole.of(asking.live), grain=period.grain)
    return replace(made, start=start, end=end)


def _past(rows: Sequence[Passage], asking: Asking) -> list[Passage]:
    """Return rows that were true once and no longer are, latest first."""
    now = {row.id for row in asking.live}
    gone = [
        row
        for row in rows
        if row.id not in now and not any(row.meta.get(key) for key in ("corrected", PENDING, "aged"))
    ]
    return sorted(gone, key=lambda row: (row.meta.get("valid_until", ""), row.position), reverse=True)


def _bounds(period: Period, at: datetime) -> tuple[str, str]:
    return (stamp(period.start) if period.start else ""), stamp(period.end) if period.end else EVER


def _content(text: str) -> str:
    """Return the content part of a question: what follows "that" or "about", else all of it."""
    match = re.search(rf"{_TELL}(?: you)?(?: that| about| of)? (?P<rest>.+)", text, re.IGNORECASE | re.DOTALL)
    return match["rest"].rstrip("?？ ") if match else re.sub("什么时候|告诉|跟你说|你|的|过|[?？]", "", text)
