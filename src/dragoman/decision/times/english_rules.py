"""Rules of English time expressions: each a pattern over prepared text, and the span that it means."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from dragoman.decision.moments import DAY_NAMES, Day
from dragoman.decision.times.grammar import (
    TimeRule,
    between_now_and,
    calendar_period,
    clock_today,
    longest_first,
    nearest_season,
    plain_weekday,
    this_minute,
)
from dragoman.decision.times.spans import (
    LocalSpan,
    Tense,
    add,
    add_months,
    day_span,
    edge,
    midnight,
    month_span,
    named_day,
    nearest,
    season_span,
    shifted,
    whole_year,
    year_span,
)
from dragoman.text import lazy_re as re

_UNIT = r"(?P<unit>minute|min|hour|day|week|fortnight|month|quarter|year|decade)s?"
_COUNT = r"(?P<count>\d{1,4}|an?|half (?:an?|1))"
DAY = r"(?P<day>mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?s?\b"
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|maymonth|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b"
)
PART = r"(?P<part>morning|afternoon|evening|night)"
_BACK = r"(?:last|past|previous|this past)"
_AHEAD = r"(?:next|coming|this coming|following)"
_PERIOD = r"(?P<period>week|weekend|month|quarter|year|spring|summer|autumn|fall|winter)"
_NOT_DAY = re.compile(r"(?:sun|sat|mon|wed|mar|may|second|min)\b(?!\.)")
"""Short forms that are words of their own: the sun, he sat, to mar."""


def _weekday_of(name: str) -> int:
    return next(i for i, day in enumerate(DAY_NAMES) if day.lower().startswith(name[:3]))


def _moved(count: str, unit: str, now: datetime, sign: int) -> LocalSpan:
    number = 1 if count in ("a", "an") else 0 if count.startswith("half") else int(count)
    if unit in ("minute", "min", "hour"):
        minutes = (60 if unit == "hour" else 1) * number or 30
        return shifted(now, sign * minutes)
    if not number and count.startswith("half"):
        return (
            day_span(add_months(now.date(), sign * 6))
            if unit == "year"
            else day_span(add(now.date(), sign * 15, "day"))
        )
    return day_span(add(now.date(), sign * number, unit))


def _ago(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    return _moved(match["count"], match["unit"], now, -1)


def _ahead(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    return _moved(match["count"], match["unit"], now, 1)


def _stretch(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    """Some units before or after now: "the last 3 days", "within 2 weeks"."""
    back = bool(match["back"])
    other = _moved(match["count"], match["unit"], now, -1 if back else 1)
    return between_now_and(other, now, back=back, to_the_minute=match["unit"] in ("minute", "min", "hour"))


def _today(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    word = match["word"]
    shift = {"today": 0, "yesterday": -1, "tomorrow": 1}.get(word, -2 if "before" in word else 2)
    return day_span(now.date() + timedelta(shift))


def _period(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    """A whole week, month, season or year before, of or after today."""
    way = -1 if match["back"] else 1 if match["ahead"] else 0
    return _shifted_period(match["period"], way, now.date())


def _twice(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    return _shifted_period(match["period"], -2 if match["way"] == "before last" else 2, now.date())


def _shifted_period(period: str, way: int, today: date) -> LocalSpan | None:
    if period in ("week", "weekend", "month", "quarter", "year"):
        return calendar_period(period, way, today)
    return _season(period, way, today)


def _season(name: str, way: int, today: date) -> LocalSpan | None:
    """The last season of this name that is over, the one of this year, or the next to begin."""
    spans = [season_span(name, year) for year in range(today.year - 3, today.year + 4)]
    now = midnight(today)
    if way < 0:
        return [span for span in spans if span.end is not None and span.end <= now][way]
    if way > 0:
        return [span for span in spans if span.start is not None and span.start > now][way - 1]
    running = (span for span in spans if span.start is not None and span.start <= now and span.end and now < span.end)
    return next(running, season_span(name, today.year))  # in January it is the winter of last year


def _season_of_year(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    if match["year"]:
        return season_span(match["period"], int(match["year"]))
    return nearest_season(match["period"], now.date(), tense)


def _weekday(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    """A weekday by the way it is named: "last Tuesday", "next Friday", "Monday"."""
    today, wanted = now.date(), _weekday_of(match["day"])
    way = match["way"]
    if way is None:
        if _NOT_DAY.fullmatch(match[0]):
            return None
        return plain_weekday(wanted, today, tense)
    monday = today - timedelta(today.weekday())
    if way == "this":
        return day_span(monday + timedelta(wanted))
    if way in ("coming", "this coming", "following"):
        return day_span(today + timedelta((wanted - today.weekday()) % 7 or 7))
    if way == "next":
        return day_span(monday + timedelta(7 + wanted))
    return day_span(today - timedelta((today.weekday() - wanted) % 7 or 7))


def _weekday_of_week(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    way = match["back"] or match["way"] or match["way2"]
    shift = {"this": 0, "next": 1, "coming": 1, "before last": -2, "after next": 2}.get(way, -1)
    today = now.date()
    return day_span(today - timedelta(today.weekday()) + timedelta(7 * shift + _weekday_of(match["day"])))


def _weeks_from_weekday(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    today, wanted = now.date(), _weekday_of(match["day"])
    weeks = 1 if match["count"] in ("a", "an", None) else int(match["count"])
    return day_span(today + timedelta((wanted - today.weekday()) % 7 or 7) + timedelta(weeks=weeks))


def _month(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    """A month by the way it is named: "last March" is over or has begun, "next March" has not begun."""
    month, today = _MONTHS.index(match["month"][:3]) + 1, now.date()
    if match["way"] == "this":
        return month_span(today.year, month)
    if match["way"] in ("next", "coming", "this coming", "following"):
        return month_span(today.year + (month <= today.month), month)
    return month_span(today.year - (month >= today.month), month)


def _numeric(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    """A date in figures, day first unless that is no date."""
    year = whole_year(match["year"], now.date())
    first, second = int(match["first"]), int(match["second"])
    return day_span(date(year, second, first) if second <= 12 else date(year, first, second))


def _decade(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    digits = match["decade"]
    return year_span(int(digits) if len(digits) == 4 else whole_year(digits, now.date()), 10)


def _day_of_month(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    """The 15th of this month, or of another; without a month by the tense."""
    day, way = int(match["number"]), match["way"]
    today = now.date()
    if way:
        first = add_months(today.replace(day=1), {"last": -1, "this": 0, "the": 0, "next": 1}[way])
        return day_span(first.replace(day=day))
    spans = []
    for shift in range(-2, 3):
        first = add_months(today.replace(day=1), shift)
        if day <= (add_months(first, 1) - first).days:
            spans.append(day_span(first.replace(day=day)))
    return nearest(spans, today, tense) if tense != "near" else day_span(today.replace(day=day))


def _edge(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    """The first or the last day of a week, month or year."""
    way = {"last": -1, "next": 1}.get(match["way"] or "", 0)
    whole: LocalSpan | None
    if match["month"]:
        whole = named_day(Day(_MONTHS.index(match["month"][:3]) + 1, 0, int(match["year"] or 0)), now.date(), tense)
    elif match["year2"]:
        whole = year_span(int(match["year2"]))
    elif match["unit"] == "day":
        whole = day_span(now.date())
    else:
        whole = _shifted_period(match["unit"], way, now.date())
    return None if whole is None else edge(whole, "end" if match["side"] == "end" else "start")


def _holiday(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    month, day = _HOLIDAYS[match["name"]]
    shift = {"last": -1, "next": 1, "this": 0}.get(match["way"] or "")
    year = int(match["year"] or 0)
    today = now.date()
    if shift == -1:
        return nearest([day_span(date(y, month, day)) for y in range(today.year - 2, today.year + 1)], today, "past")
    if shift == 1:
        return nearest([day_span(date(y, month, day)) for y in range(today.year, today.year + 2)], today, "future")
    return named_day(Day(month, day, year or (today.year if shift == 0 else 0)), today, tense)


def _tonight(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    if match["part"] is None:
        return day_span(now.date()).part("evening")
    return day_span(now.date() - timedelta(match["way"] == "last")).part(match["part"])


def _week_weekday(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    today = now.date()
    monday = today - timedelta(today.weekday())
    return day_span(monday + timedelta((7 if match["next"] else -7) + _weekday_of(match["day"])))


def _any_year(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    return year_span(whole_year(match["short"] or match["year"], now.date()))


_HOLIDAYS = {
    "christmas": (12, 25),
    "christmas eve": (12, 24),
    "christmas day": (12, 25),
    "new year": (1, 1),
    "new year's": (1, 1),
    "new year's day": (1, 1),
    "new year's eve": (12, 31),
    "halloween": (10, 31),
    "valentine's day": (2, 14),
}
_WAY = rf"(?:(?P<way>{_BACK}|{_AHEAD}|this) )"
RULES: tuple[tuple[re.Pattern[str], TimeRule], ...] = tuple(
    (re.compile(pattern), rule)
    for pattern, rule in (
        (rf"{_COUNT} {_UNIT} (?:ago|earlier|back)\b", _ago),
        (rf"(?:in|after) {_COUNT} {_UNIT}(?:'? time| from now)?\b", _ahead),
        (rf"{_COUNT} {_UNIT} (?:from now|hence|from today)\b", _ahead),
        (rf"(?:in |over |for )?(?:the )?(?:(?P<back>{_BACK})|{_AHEAD}) (?P<count>\d{{1,4}}) {_UNIT}\b", _stretch),
        (rf"within (?:the next |the coming )?(?P<back>last )?{_COUNT} {_UNIT}\b", _stretch),
        (r"(?P<word>today|yesterday|tomorrow|(?:the )?day (?:before yesterday|after tomorrow))\b", _today),
        (r"(?:(?:right |just )?now|at the moment|at present)\b", this_minute),
        (rf"tonight\b|(?P<way>last|this) {PART}\b", _tonight),
        (rf"(?:(?P<back>{_BACK})|(?P<ahead>{_AHEAD})|this) {_PERIOD}\b", _period),
        (r"(?:the )?(?P<period>week|weekend|month|year) (?P<way>before last|after next)\b", _twice),
        (r"(?P<period>spring|summer|autumn|fall|winter)(?: of)?(?: (?P<year>(?:19|20)\d\d))?\b", _season_of_year),
        (rf"{_WAY}?{DAY}", _weekday),
        (
            rf"{DAY} (?:of )?(?:(?:(?P<back>{_BACK})|(?P<way>this|next|coming)) week"
            r"|(?P<way2>before last|after next))\b",
            _weekday_of_week,
        ),
        (rf"(?:{_BACK} week'?s?|(?P<next>next) week'?s?) (?:on )?{DAY}", _week_weekday),
        (rf"(?P<count>an?|\d) weeks? (?:on|from|after) (?:next )?{DAY}", _weeks_from_weekday),
        (rf"{DAY} week\b(?P<count>)?", _weeks_from_weekday),
        (rf"{_WAY}{_MONTH}", _month),
        (r"(?P<first>\d{1,2})[/.](?P<second>\d{1,2})[/.](?P<year>\d{4}|\d\d)\b", _numeric),
        (r"(?:the year )?(?P<year>(?:19|20)\d\d)(?!\d|[:.-]\d)|'(?P<short>\d\d)\b", _any_year),
        (r"(?:the )?(?:early |late |mid-?)?'?(?P<decade>(?:19|20)?\d0)'?s\b", _decade),
        (
            r"(?:the )?(?P<number>\d{1,2})(?:st|nd|rd|th)(?: of (?:(?P<way>last|this|next|the) month|(?P<x>this)))?\b",
            _day_of_month,
        ),
        (
            r"(?:the )?(?P<side>end|beginning|start) of"
            r" (?:(?:the|(?P<way>this|last|next)) (?P<unit>day|week|month|quarter|year)\b"
            rf"|{_MONTH}(?: (?P<year>\d{{4}}))?|(?P<year2>(?:19|20)\d\d)\b)",
            _edge,
        ),
        (
            rf"(?:(?P<way>last|this|next) )?(?P<name>{longest_first(_HOLIDAYS)})\b"
            r"(?: (?P<year>(?:19|20)\d\d)\b)?",
            _holiday,
        ),
        (
            r"(?:at )?(?:\d{1,2}[:.][0-5]\d(?: ?[ap]\.?m\b)?|\d{1,2} ?[ap]\.?m\b|noon\b|midnight\b|midday\b)",
            clock_today,
        ),
    )
)
