"""Find from when until when a fact is true by its sentence: "since 2019", "until Friday", "last week"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, time, timedelta, tzinfo

from dragoman.core.clock import moment_of, stamp, zone_of
from dragoman.core.values import Fact
from dragoman.decision.times import Period, find_periods
from dragoman.memory.calendar_words import with_dates
from dragoman.text import lazy_re as re
from dragoman.text.language import language

_EVENT = re.compile(
    r"\b(?:moved|started|joined|broke|sprained|injured|passed|divorced|became|began"
    r"|bought|adopted|retired|quit|stopped|got|arrived|(?<!getting )(?<!get )married|switched|changed)\b"
    r"|搬|开始|入职|成为|买|养了|退休|结婚|换了|来到",
    re.IGNORECASE,
)
"""Verbs that begin a state: "I moved last week" dates where the user lives."""
_LASTING = re.compile(
    r"\b(?:(?:have|has|'ve|'s) (?:been |lived |worked |had |known )|(?:live|lives|work|works) )[^.]{0,60}?"
    r"\b(?:for|since) (?:the (?:last|past) )?"
    r"(?P<span>(?:an?|\d{1,3}|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty)"
    r" (?:days?|weeks?|months?|years?))(?! ago)",
    re.IGNORECASE,
)
_RELATIVE = re.compile(
    r"\b(?:yesterday|today|ago|recently|just"
    r"|(?:last|this) (?:week|month|year|weekend|\w{3,6}day|summer|winter|spring))\b"
    r"|昨天|今天|前天|上周|上个?月|这个月|去年|今年|最近|刚",
    re.IGNORECASE,
)
_PLANS = frozenset(("plan", "stay", "lodging", "booking", "companion", "arrival", "departure", "return"))
"""Relations that are over when the time that they name is."""
_FROM_NOW = re.compile("大?后天|明天|下周|下个月")
"""Times that mean another day tomorrow; a name of a weekday stays as it is."""
_REPEATED = re.compile(r"\b(?:every|always|usually|each|daily|weekly|\w+days)\b|每|总是|通常", re.IGNORECASE)


_WEEK_AHEAD = re.compile(
    r",? ?\bin (?:an?|one|two|three|four|five|six|\d{1,2}) weeks?(?:[’']s?)?(?: time)?\b", re.IGNORECASE
)
_STARTS = re.compile(r"\bstarting (?:in |on |from )?(?P<when>[^.,;]{3,40})", re.IGNORECASE)
_WEEKDAY = re.compile(r"\b(?:on |from )?(?P<day>(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b", re.IGNORECASE)


def dated(fact: Fact, at: datetime, zone: str | tzinfo = "") -> Fact:
    """Add to a fact when it was said, and from when until when it is true.

    A correction keeps the start of the fact that it corrects; a fact of the hour already has its end.
    """
    said_at = stamp(at)
    sentence = fact.text if fact.valid_from else fact.said or fact.text
    starts = _STARTS.search(sentence)
    if starts is not None:  # "I got a new job, starting in June": the future start counts, not the past event
        sentence = f"from {starts['when']} on"
    week = _week_meant(sentence, at, zone)
    if week is not None:
        fact, sentence = _in_week(fact, week, zone), _WEEK_AHEAD.sub("", sentence)
    start, end = fact.valid_from or said_at, "" if fact.valid_from else fact.valid_until
    for period in _periods(sentence, week or at, zone):
        if period.start is not None and begins(period, sentence, at):
            start = stamp(period.start)
        if period.end is not None and _ends(period, fact, sentence, at):
            end = stamp(period.end)
    return _worded(replace(fact, said_at=said_at, valid_from=start, valid_until=end), zone)


def _week_meant(sentence: str, at: datetime, zone: str | tzinfo) -> datetime | None:
    """Return the moment before the week of "in two weeks" if weekdays are named with it; else None."""
    ahead = _WEEK_AHEAD.search(sentence)
    if ahead is None or not _WEEKDAY.search(_WEEK_AHEAD.sub("", sentence)):
        return None
    day = next((each.start for each in find_periods(ahead[0].strip(", "), at, zone)), None)
    if day is None:
        return None
    local = day.astimezone(zone_of(zone) if isinstance(zone, str) else zone)
    monday = datetime.combine(local.date() - timedelta(days=local.weekday()), time(), local.tzinfo)
    return monday - timedelta(seconds=1)


def _in_week(fact: Fact, week: datetime, zone: str | tzinfo) -> Fact:
    """Add to a fact's weekdays their dates in the week after a moment."""
    zone = zone_of(zone) if isinstance(zone, str) else zone

    def named(match: re.Match[str]) -> str:
        period = next(iter(find_periods(f"on {match['day']}", week, zone)), None)
        if period is None or period.start is None:
            return match[0]
        day = period.start.astimezone(zone)
        return f"{match[0]} {day.day} {day:%B} {day.year}"

    monday = (week + timedelta(seconds=1)).astimezone(zone)
    if _WEEKDAY.search(fact.text):
        return replace(fact, text=_WEEKDAY.sub(named, _WEEK_AHEAD.sub("", fact.text)))
    return replace(fact, text=_WEEK_AHEAD.sub(f" in the week of {monday.day} {monday:%B} {monday.year}", fact.text))


def _worded(fact: Fact, zone: str | tzinfo) -> Fact:
    """Reword a fact so that it stays true: "I moved to Basel last week." becomes "I live in Basel."."""
    chinese = language(fact.text) == "zh"
    if chinese and fact.relation in _PLANS and (relative := _FROM_NOW.search(fact.text)):
        return _with_date(fact, relative, zone)
    if fact.slot == "home" and fact.value and _RELATIVE.search(fact.text) and _EVENT.search(fact.text):
        return replace(fact, text=f"我住在{fact.value}。" if chinese else f"I live in {fact.value}.")
    said_at = moment_of(fact.said_at)
    if not chinese and said_at is not None:
        fact = replace(fact, text=with_dates(fact.text, said_at, zone_of(zone) if isinstance(zone, str) else zone))
    start = moment_of(fact.valid_from)
    if start is None or fact.valid_from <= fact.said_at or find_periods(fact.text, start, zone):
        return fact
    day = start.astimezone(zone_of(zone) if isinstance(zone, str) else zone)
    if chinese:
        return replace(fact, text=f"从{day.year}年{day.month}月{day.day}日起，{fact.text}")
    return replace(fact, text=f"{fact.text.rstrip('.')} from {day.day} {day:%B} {day.year} on.")


def _with_date(fact: Fact, relative: re.Match[str], zone: str | tzinfo) -> Fact:
    """Replace the relative time of a Chinese plan by its date."""
    at = moment_of(fact.said_at)
    period = next(iter(find_periods(relative[0], at, zone)), None) if at else None
    if period is None or period.start is None or period.grain not in ("day", "week", "month"):
        return fact
    day = period.start.astimezone(zone_of(zone) if isinstance(zone, str) else zone)
    named = f"{day.year}年{day.month}月" + ("" if period.grain == "month" else f"{day.day}日")
    named += "那一周" if period.grain == "week" else ""
    return replace(fact, text=fact.text[: relative.start()] + named + fact.text[relative.end() :])


def grain_of(fact: Fact, at: datetime, zone: str | tzinfo = "") -> str:
    """Return the precision with which a sentence gives the start of its fact; "" if it gives none."""
    sentence = fact.said or fact.text
    starts = [period for period in _periods(sentence, at, zone) if period.start and begins(period, sentence, at)]
    return (starts[-1].grain or "day") if starts else ""


def meta_of(fact: Fact, grain: str = "") -> dict[str, str]:
    """Return the known times of a fact as meta of its row."""
    times = {"said_at": fact.said_at, "valid_from": fact.valid_from, "valid_until": fact.valid_until, "grain": grain}
    return {key: value for key, value in times.items() if value}


def times_of(meta: Mapping[str, str]) -> tuple[str, str, str]:
    """Return `said_at`, `valid_from` and `valid_until` of a row; "" for rows of an earlier version."""
    return meta.get("said_at", ""), meta.get("valid_from", ""), meta.get("valid_until", "")


def _periods(sentence: str, at: datetime, zone: str | tzinfo) -> list[Period]:
    lasting = _LASTING.search(sentence)
    if lasting:
        ago = find_periods(f"since {lasting['span']} ago", at, zone)
        if ago:
            years = "year" in lasting["span"].lower()
            return [replace(ago[0], grain="month" if years or "month" in lasting["span"].lower() else "day")]
    return find_periods(sentence, at, zone)


def begins(period: Period, sentence: str, at: datetime) -> bool:
    """Whether a period gives the start of its sentence's fact: after "since" or "from", or as the time of an event."""
    assert period.start is not None
    if period.end is None:
        return True
    return bool(_EVENT.search(sentence)) and period.start <= at


def _ends(period: Period, fact: Fact, sentence: str, at: datetime) -> bool:
    """Whether a period gives the end of its sentence's fact; a time of day does not: "I work until 5 pm"."""
    assert period.end is not None
    if period.end <= at or period.end.time() != time() or _REPEATED.search(sentence):
        return False
    return period.start is None or fact.relation in _PLANS
