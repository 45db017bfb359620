"""Calendar arithmetic on local time: days, weeks, months, years, seasons and parts of the day as spans.

A span runs from its first moment up to, not including, its end; an open side is None. Weeks begin on Monday.
"""

from __future__ import annotations

from calendar import isleap, monthrange
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal, TypeAlias

from dragoman.decision.moments import Day

Tense: TypeAlias = Literal["past", "future", "near"]
"""Which of two years or weeks an expression means that names none: "near" is the coming weekday, the nearest date."""

PARTS = {"morning": (5, 12), "noon": (11, 14), "afternoon": (12, 18), "evening": (18, 24), "night": (20, 29)}
"""Hours of the day; the night ends at five on the next morning."""
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_FIRST_YEAR, _LAST_YEAR = 1000, 9000


@dataclass(frozen=True, slots=True)
class LocalSpan:
    """A span of local time. `is_day` is set for a single day, to which a time of the day may be added.

    `named` is the precision of the expression that an open span was made from: "year" for "since 2019".
    """

    start: datetime | None
    end: datetime | None
    is_day: bool = False
    named: str = ""

    @property
    def grain(self) -> str:
        """The precision of the expression: minute, day, week, month, year, or "" for any other span."""
        if self.named or self.start is None or self.end is None:
            return self.named
        if self.end - self.start == timedelta(minutes=1):
            return "minute"
        if self.is_day:
            return "day"
        if self.end - self.start == timedelta(7) and self.start.weekday() == 0:
            return "week"
        if self.start.day == 1 and self.start.time() == time():
            months = (self.end.year - self.start.year) * 12 + self.end.month - self.start.month
            return {1: "month", 12: "year"}.get(months, "") if self.end.day == 1 else ""
        return ""

    def since(self) -> LocalSpan:
        return LocalSpan(self.start, None, named=self.grain)

    def until(self) -> LocalSpan:
        return LocalSpan(None, self.end, named=self.grain)

    def before(self) -> LocalSpan:
        return LocalSpan(None, self.start, named=self.grain)

    def after(self) -> LocalSpan:
        return LocalSpan(self.end, None, named=self.grain)

    def at(self, minutes: int) -> LocalSpan:
        """One minute of a day."""
        assert self.start is not None
        start = self.start + timedelta(minutes=minutes)
        return LocalSpan(start, start + timedelta(minutes=1))

    def part(self, name: str) -> LocalSpan:
        """A part of a day: its morning, its evening."""
        assert self.start is not None
        first, last = PARTS[name]
        return LocalSpan(self.start + timedelta(hours=first), self.start + timedelta(hours=last))


def midnight(day: date) -> datetime:
    return datetime.combine(day, time())


def day_span(day: date) -> LocalSpan:
    return LocalSpan(midnight(day), midnight(day + timedelta(1)), is_day=True)


def minute_span(moment: datetime) -> LocalSpan:
    start = moment.replace(second=0, microsecond=0)
    return LocalSpan(start, start + timedelta(minutes=1))


def shifted(now: datetime, minutes: int) -> LocalSpan:
    """A minute some minutes away, by the clock of the world: summer time may begin between the two."""
    moment = (now.astimezone(UTC) + timedelta(minutes=minutes)).astimezone(now.tzinfo)
    return minute_span(moment.replace(tzinfo=None))


def week_span(day: date, shift: int = 0) -> LocalSpan:
    """The week of a day, or one some weeks away."""
    monday = day - timedelta(day.weekday()) + timedelta(weeks=shift)
    return LocalSpan(midnight(monday), midnight(monday + timedelta(7)))


def weekend_span(day: date, shift: int = 0) -> LocalSpan:
    monday = day - timedelta(day.weekday()) + timedelta(weeks=shift)
    return LocalSpan(midnight(monday + timedelta(5)), midnight(monday + timedelta(7)))


def month_span(year: int, month: int) -> LocalSpan:
    first = date(year, month, 1)
    return LocalSpan(midnight(first), midnight(add_months(first, 1)))


def quarter_span(year: int, quarter: int) -> LocalSpan:
    first = date(year, 3 * quarter - 2, 1)
    return LocalSpan(midnight(first), midnight(add_months(first, 3)))


def year_span(year: int, years: int = 1) -> LocalSpan:
    return LocalSpan(datetime(year, 1, 1), datetime(year + years, 1, 1))


def season_span(name: str, year: int) -> LocalSpan:
    """A season of the northern year; winter begins in its year, and ends in the next."""
    first = date(year, _SEASONS[name], 1)
    return LocalSpan(midnight(first), midnight(add_months(first, 3)))


def add_months(day: date, months: int) -> date:
    """The same day some months away; the last of the month where there is none, as 28 February for the 29th."""
    index = day.year * 12 + day.month - 1 + months
    year, month = divmod(index, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def add(day: date, count: int, unit: str) -> date:
    """A day some days, weeks, months or years away."""
    if unit in ("day", "week", "fortnight"):
        return day + timedelta(count * {"day": 1, "week": 7, "fortnight": 14}[unit])
    return add_months(day, count * {"month": 1, "quarter": 3, "year": 12, "decade": 120}[unit])


def named_day(named: Day, today: date, tense: Tense) -> LocalSpan | None:
    """The span of a date or month as `moments.days` reads it; None where the calendar has no such day.

    Without a year it is the last one ("past"), the coming one ("future"), or the nearest.
    """
    if named.year:
        if not _FIRST_YEAR <= named.year <= _LAST_YEAR:
            return None
        return _of_year(named, named.year)
    years = [year for year in range(today.year - 8, today.year + 9) if _of_year(named, year) is not None]
    spans = [span for year in years if (span := _of_year(named, year)) is not None]
    return nearest(spans, today, tense)


def nearest(spans: list[LocalSpan], today: date, tense: Tense) -> LocalSpan | None:
    """Choose among ordered spans: the last that has begun, the first that is not over, or the nearest to today."""
    now = midnight(today)
    past = [span for span in spans if span.start is not None and span.start <= now]
    coming = [span for span in spans if span.end is not None and span.end > now]
    if tense == "past":
        return past[-1] if past else None
    if tense == "future":
        return coming[0] if coming else None
    dated = [(span, span.start) for span in spans if span.start is not None]
    return min(dated, key=lambda pair: abs(pair[1] - now))[0] if dated else None


def _of_year(named: Day, year: int) -> LocalSpan | None:
    if not named.day:
        return month_span(year, named.month)
    if named.month == 2 and named.day == 29 and not isleap(year):
        return None
    try:
        return day_span(date(year, named.month, named.day))
    except ValueError:
        return None


def whole_year(digits: str, today: date) -> int:
    """A year as written: of two digits, the one that is at most ten years ahead ("24" is 2024, "98" is 1998)."""
    if len(digits) > 2:
        return int(digits)
    century = today.year // 100 * 100
    year = century + int(digits)
    return year if year <= today.year + 10 else year - 100


def is_apart(first: LocalSpan, second: LocalSpan) -> bool:
    """Whether the end of a range was read wrongly by itself: before its start, or more than a year after it."""
    if first.start is None or second.end is None or second.start is None:
        return False
    year_apart = second.start.month >= first.start.month and second.start.year == first.start.year + 1
    return second.end <= first.start or (second.is_day and first.is_day and year_apart)


def edge(span: LocalSpan, side: str) -> LocalSpan | None:
    """The first or last day of a span."""
    if span.start is None or span.end is None:
        return None
    day = span.start.date() if side == "start" else (span.end - timedelta(days=1)).date()
    return replace(day_span(day), is_day=True)
