# ruff: noqa: E501  # a pattern is easier to check in one piece
"""Relative times in the words of a fact, as dates: "I broke my wrist last month" is true in that month only."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo

from dragoman.decision.times import Period, find_periods
from dragoman.text import lazy_re as re

_COUNT = (
    r"(?:about |around |almost |over |just )?"
    r"(?:\d{1,3}|half an?|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty)"
)
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTH = "january|february|march|april|may|june|july|august|september|october|november|december"
_SEASON = "spring|summer|autumn|fall|winter"
_PAST = re.compile(
    rf"(?P<since>\bsince )?(?<![\w-])(?:(?P<day>(?:the day before )?yesterday|last (?:night|{_DAY}))"
    rf"|last (?P<unit>week|month|year|weekend|{_SEASON}|{_MONTH})"
    rf"|(?P<count>{_COUNT}) (?P<of>days?|weeks?|months?|years?) ago)(?![\w-])",
    re.IGNORECASE,
)
_AHEAD = re.compile(
    rf"(?P<since>\b(?:since|from) )?(?P<on>\bon )?(?<![\w-])(?:(?P<day>(?:the day after )?tomorrow|next {_DAY}"
    rf"|in {_COUNT} (?:days?|weeks?))|next (?P<unit>week|month|year|weekend|{_SEASON}|{_MONTH}))(?![\w-])",
    re.IGNORECASE,
)
_LASTED = re.compile(
    rf"(?P<have>\b(?:have|has) (?:been |lived |worked |had |known |owned |studied )[^.,;]{{0,60}}?) for (?:the (?:last|past) )?"
    rf"(?P<span>(?P<count>{_COUNT}) (?P<of>days?|weeks?|months?|years?))(?: now)?(?![\w-])"
    rf"|(?P<live>^(?:I|We|My [a-z]+(?: [A-Z]\w+)?) (?:live|lives|work|works|am|is|are) [^.,;]{{1,60}}?) for "
    rf"(?P<span2>(?P<count2>{_COUNT}) (?P<of2>months?|years?))(?: now)?(?![\w-])",
    re.IGNORECASE,
)  # fmt: skip
_LONGEST = 300


def with_dates(text: str, at: datetime, zone: tzinfo) -> str:
    """An English sentence with the dates of its relative times, as of the moment `at`."""
    if len(text) > _LONGEST:
        return text
    text = _LASTED.sub(lambda match: _lasted(match, at, zone), text)
    text = _PAST.sub(lambda match: _past(match, at, zone), text)
    return _AHEAD.sub(lambda match: _ahead(match, at, zone), text)


def _past(match: re.Match[str], at: datetime, zone: tzinfo) -> str:
    since = match["since"] or ""
    period = _period(match[0].removeprefix(since), at, zone)
    if period is None:
        return match[0]
    start = _local(period, zone)
    if match["count"]:
        years = match["of"].startswith("year")
        named = _month(start) if years or match["of"].startswith("month") else _date(start)
        day = match["of"].startswith("day")
        return f"{since}{named}" if since else f"{'on' if day else 'around'} {named}"
    unit = (match["unit"] or "day").lower()
    return f"since {_period_name(unit, start)}" if since else _placed(unit, start)


def _ahead(match: re.Match[str], at: datetime, zone: tzinfo) -> str:
    since = match["since"] or ""
    period = _period(match[0].removeprefix(since).removeprefix(match["on"] or ""), at, zone)
    if period is None:
        return match[0]
    start = _local(period, zone)
    if match["day"] and not since:
        return f"on {start:%A} {_date(start)}"
    unit = (match["unit"] or "day").lower()
    return f"{since}{_period_name(unit, start)}" if since else _placed(unit, start)


def _lasted(match: re.Match[str], at: datetime, zone: tzinfo) -> str:
    """Replace a span that lasts until now by its start: "for five years" becomes "since 2021"."""
    period = _period(f"{match['span'] or match['span2']} ago", at, zone)
    if period is None:
        return match[0]
    of, start = match["of"] or match["of2"], _local(period, zone)
    named = str(start.year) if of.startswith("year") else _month(start) if of.startswith("month") else _date(start)
    before = match["have"]
    if before is None:
        before = _PERFECT.sub(lambda verb: _PERFECT_OF[verb[0]], match["live"], count=1)
    return f"{before} since {named}"


_PERFECT_OF = {
    "live": "have lived", "lives": "has lived", "work": "have worked", "works": "has worked",
    "am": "have been", "is": "has been", "are": "have been",
}  # fmt: skip
_PERFECT = re.compile(rf"\b(?:{'|'.join(_PERFECT_OF)})\b")


def _period(expression: str, at: datetime, zone: tzinfo) -> Period | None:
    bare = re.sub(r"^(?:about|around|almost|over|just) ", "", expression.strip())
    periods = find_periods(bare, at, zone)
    return periods[0] if periods and periods[0].start is not None else None


def _local(period: Period, zone: tzinfo) -> datetime:
    assert period.start is not None
    return period.start.astimezone(zone)


def _date(day: datetime) -> str:
    return f"{day.day} {day:%B} {day.year}"


def _month(day: datetime) -> str:
    return f"{day:%B} {day.year}"


def _period_name(unit: str, start: datetime) -> str:
    """The name of a time without the words before it."""
    if unit == "year":
        return str(start.year)
    if unit in ("spring", "summer", "autumn", "fall", "winter"):
        end = start + timedelta(89)
        return f"{unit} {start.year}" + (f"/{end:%y}" if end.year != start.year else "")
    return _month(start) if unit == "month" or unit in _MONTH.split("|") else _date(start)


def _placed(unit: str, start: datetime) -> str:
    """Word a past or future time as part of a sentence."""
    before = {"week": "in the week of", "weekend": "on the weekend of", "day": "on"}.get(unit, "in")
    return f"{before} {_period_name(unit, start)}"
