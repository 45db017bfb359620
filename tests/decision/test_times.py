"""Time expressions, English and Chinese, against the moment and the time zone in which they are said."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dragoman.core.errors import InputError
from dragoman.decision.times import find_periods, resolve

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "memory"))
import time_expressions

AT = datetime(2026, 11, 18, 10, 30, tzinfo=UTC)  # a Wednesday


def days(text, at=AT, zone="UTC", **options):
    period = resolve(text, at, zone, **options)
    return (
        None
        if period is None
        else tuple(None if side is None else side.date().isoformat() for side in (period.start, period.end))
    )


def test_expressions_written_by_hand():
    expressions = list(time_expressions.written())
    assert [each for each in expressions if time_expressions.resolved(each) != (each.start, each.end)] == []


def test_expressions_made_by_independent_arithmetic():
    made = list(time_expressions.made(300, seed=11))
    right = [time_expressions.resolved(each) == (each.start, each.end) for each in made]
    assert sum(right) >= 0.97 * len(made)


@pytest.mark.parametrize(
    ("text", "tense", "start"),
    [
        ("3 May", "past", "2026-05-03"),
        ("3 May", "future", "2027-05-03"),
        ("20 November", "near", "2026-11-20"),
        ("Friday", "past", "2026-11-13"),
        ("Friday", "future", "2026-11-20"),
        ("五月三号", "past", "2026-05-03"),
    ],
)
def test_a_date_without_a_year_goes_by_the_tense(text, tense, start):
    assert days(text, tense=tense)[0] == start


def test_the_day_after_tomorrow_at_midnight_is_two_days_after_the_day_that_begins():
    midnight = datetime(2026, 11, 18, 0, 0, tzinfo=UTC)
    assert days("the day after tomorrow", midnight) == days("后天", midnight) == ("2026-11-20", "2026-11-21")


def test_the_time_zone_says_which_day_today_is():
    late = datetime(2026, 11, 18, 20, 0, tzinfo=UTC)
    assert days("today", late, "Asia/Shanghai")[0] == "2026-11-19"
    assert days("today", late, "America/New_York")[0] == "2026-11-18"


def test_hours_are_counted_through_the_change_to_summer_time():
    after = datetime(2026, 3, 29, 4, 30, tzinfo=UTC)  # 06:30 in Zurich, where 02:00 to 03:00 was left out
    assert resolve("5 hours ago", after, "Europe/Zurich").start.astimezone(UTC) == datetime(
        2026, 3, 28, 23, 30, tzinfo=UTC
    )


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("a year ago", "2023-02-28"),
        ("in four years", "2028-02-29"),
        ("29 February 2024", "2024-02-29"),
        ("29 February", "2024-02-29"),
        ("一年前", "2023-02-28"),
    ],
)
def test_the_leap_day_has_its_years(text, start):
    assert days(text, datetime(2024, 2, 29, 12, tzinfo=UTC))[0] == start


@pytest.mark.parametrize(("text", "year"), [("3/5/24", 2024), ("3/5/36", 2036), ("3/5/37", 1937), ("24年5月3日", 2024)])
def test_a_year_of_two_digits_is_at_most_ten_years_ahead(text, year):
    assert days(text)[0] == f"{year}-05-03"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "30 February",
        "2月30日",
        "the 31st of February",
        "32/13/2024",
        "hello",
        "my dog",
        "99999 years ago",
        "9999-99-99",
        "在哪里",
    ],
)
def test_what_is_no_time_or_not_in_the_calendar_has_no_period(text):
    assert resolve(text, AT, "UTC") is None


def test_a_time_zone_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match="no time zone"):
        resolve("today", AT, "Europe/Atlantis")


@pytest.mark.parametrize(
    ("text", "expressions"),
    [
        ("I moved to Bern last week.", ["last week"]),
        ("I have a meeting on Friday at 3 pm and leave on Monday.", ["on friday at 3 pm", "on monday"]),
        ("我上周三到了上海，下个月走。", ["上周三", "下个月"]),
        ("May I bring my dog?", []),
        ("I sat in the sun on my second day, and will fall asleep.", []),
        ("My phone number is 079 123 45 67.", []),
        ("我住在三号楼，有两个孩子。", []),
    ],
)
def test_expressions_are_found_within_a_sentence(text, expressions):
    assert [period.text for period in find_periods(text, AT, "UTC")] == expressions


def test_a_sentence_about_the_past_means_the_last_friday():
    (past,) = find_periods("I moved on Friday.", AT, "UTC")
    (future,) = find_periods("I will move on Friday.", AT, "UTC")
    assert (past.start.day, future.start.day) == (13, 20)


def test_the_precision_of_an_expression_is_kept():
    grains = [
        resolve(text, AT, "UTC").grain for text in ("since 2019", "last March", "last week", "yesterday", "an hour ago")
    ]
    assert grains == ["year", "month", "week", "day", "minute"]
