"""Parts that the grammars of time expressions share: matching by rules, periods around now, ranges, clock times."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta
from typing import TypeAlias

from dragoman.decision.moments import clocks
from dragoman.decision.times.spans import (
    LocalSpan,
    Tense,
    add_months,
    day_span,
    is_apart,
    minute_span,
    month_span,
    nearest,
    quarter_span,
    season_span,
    week_span,
    weekend_span,
    year_span,
)

Match: TypeAlias = tuple[LocalSpan, int]
"""What an expression means, and where it ends in the text."""
TimeRule: TypeAlias = Callable[[re.Match[str], datetime, Tense], LocalSpan | None]
Expression: TypeAlias = Callable[[str, int, datetime, Tense], Match | None]


def longest_first(words: Iterable[str]) -> str:
    """Alternatives of a pattern, so ordered that none hides a longer one."""
    return "|".join(sorted(words, key=len, reverse=True))


def longest_by_rules(
    rules: Iterable[tuple[re.Pattern[str], TimeRule]],
    text: str,
    place: int,
    now: datetime,
    tense: Tense,
    *,
    best: Match | None,
) -> Match | None:
    """The longest of `best` and the expressions that the rules read at a place."""
    for pattern, rule in rules:
        match = pattern.match(text, place)
        if match is not None and (best is None or match.end() > best[1]):
            try:
                span = rule(match, now, tense)
            except (ValueError, OverflowError):  # a year or a day that no calendar has
                span = None
            if span is not None:
                best = span, match.end()
    return best


def range_from(
    first: LocalSpan, second: Match, again: Callable[[datetime, Tense], Match | None], now: datetime
) -> Match:
    """The period from `first` to `second`; `again` reads the second expression at another moment."""
    if is_apart(first, second[0]):
        # "from Monday to Friday", said on a Wednesday: the Friday after that Monday
        assert first.start is not None
        second = again(first.start.replace(tzinfo=now.tzinfo), "future") or second
    return LocalSpan(first.start, second[0].end), second[1]


def likely_hour(minutes: int, *, ambiguous: bool) -> int:
    """Return minutes of the day; an ambiguous hour means the afternoon up to six, the morning from seven on."""
    return minutes + 720 if ambiguous and 60 <= minutes < 420 else minutes


def clock_today(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    """Rule of a time alone: it is today's."""
    times = clocks(match[0])
    return day_span(now.date()).at(likely_hour(times[0][0].minutes, ambiguous=times[0][0].ambiguous)) if times else None


def this_minute(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    """Rule of "now"."""
    return minute_span(now.replace(tzinfo=None))


def between_now_and(other: LocalSpan | None, now: datetime, *, back: bool, to_the_minute: bool) -> LocalSpan | None:
    """Return the period between now and the start of another one; with `back`, that one lies before now."""
    if other is None or other.start is None:
        return None
    here = now.replace(tzinfo=None, second=0, microsecond=0)
    there = other.start if to_the_minute else datetime.combine(other.start.date(), here.time())
    return LocalSpan(there, here) if back else LocalSpan(here, there)


def calendar_period(unit: str, shift: int, today: date) -> LocalSpan:
    """The whole week, weekend, month, quarter or year that is `shift` units from today's."""
    if unit in ("week", "weekend"):
        return (week_span if unit == "week" else weekend_span)(today, shift)
    if unit == "month":
        first = add_months(today.replace(day=1), shift)
        return month_span(first.year, first.month)
    if unit == "quarter":
        first = add_months(today.replace(day=1), 3 * shift)
        return quarter_span(first.year, (first.month + 2) // 3)
    return year_span(today.year + shift)


def plain_weekday(weekday: int, today: date, tense: Tense) -> LocalSpan:
    """A weekday without "last" or "next": the latest before today in the past, the coming one (or today) otherwise."""
    if tense == "past":
        return day_span(today - timedelta((today.weekday() - weekday) % 7 or 7))
    return day_span(today + timedelta((weekday - today.weekday()) % 7))


def nearest_season(name: str, today: date, tense: Tense) -> LocalSpan | None:
    """A season without a year: the nearest one that the tense allows."""
    return nearest([season_span(name, year) for year in range(today.year - 2, today.year + 3)], today, tense)
