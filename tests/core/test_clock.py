"""The clock of the process, and moments as text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from threading import Thread

import pytest

from dragoman.core.clock import moment_of, now, stamp, use_clock, zone_of
from dragoman.core.errors import InputError


def test_a_moment_is_text_in_utc_that_sorts_like_the_moment():
    zurich = datetime(2026, 5, 3, 1, 30, tzinfo=timezone(timedelta(hours=2)))
    assert stamp(zurich) == "2026-05-02T23:30:00Z"
    assert moment_of(stamp(zurich)) == zurich
    assert stamp(zurich) < stamp(zurich + timedelta(seconds=1))


def test_a_clock_that_is_set_holds_for_all_threads_and_ends_with_its_block():
    seen = []
    with use_clock("2024-02-29T12:00:00Z"):
        thread = Thread(target=lambda: seen.append(stamp()))
        thread.start()
        thread.join()
        with use_clock(datetime(2020, 1, 1)):
            assert stamp() == "2020-01-01T00:00:00Z"
        assert stamp() == "2024-02-29T12:00:00Z"
    assert seen == ["2024-02-29T12:00:00Z"]
    assert abs(now() - datetime.now(UTC)) < timedelta(minutes=1)


def test_a_clock_may_be_a_function():
    ticks = iter((datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)))
    with use_clock(lambda: next(ticks)):
        assert [stamp(), stamp()] == ["2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"]


@pytest.mark.parametrize("text", ["", "yesterday", "2026-02-30", "29"])
def test_what_is_no_moment_has_none(text):
    assert moment_of(text) is None


def test_a_date_is_its_first_moment():
    assert moment_of("2026-05-03") == datetime(2026, 5, 3, tzinfo=UTC)


@pytest.mark.parametrize("name", ["Europe/Atlantis", "../etc/passwd", "x" * 500, "Mars\x00"])
def test_an_unknown_time_zone_is_refused_with_a_remedy(name):
    with pytest.raises(InputError) as error:
        zone_of(name)
    assert "Europe/Zurich" in error.value.remedy


def test_a_known_time_zone_has_its_summer_time():
    assert datetime(2026, 7, 1, tzinfo=zone_of("Europe/Zurich")).utcoffset() == timedelta(hours=2)
