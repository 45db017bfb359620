"""Each user has a time zone of their own: told, set, taken back; one that does not exist changes nothing."""

from __future__ import annotations

import pytest

from dragoman.core.clock import use_clock
from dragoman.core.errors import InputError
from dragoman.core.values import Scope
from dragoman.memory.zones import zone_named

ANA, BEN = Scope("acme", "ana"), Scope("acme", "ben")


@pytest.fixture
def zoned(make):
    return make(time_zone="Europe/Zurich")


def test_days_end_in_the_zone_of_the_user(zoned):
    zoned.memory.set_time_zone(ANA, "Asia/Tokyo")
    with use_clock("2026-03-04T08:00:00Z"):
        for scope in (ANA, BEN):
            zoned.say("I'm at the station.", scope)
        ends = [zoned.memory.recall(scope)[0].meta["valid_until"] for scope in (ANA, BEN)]
    assert ends == ["2026-03-04T15:00:00Z", "2026-03-04T23:00:00Z"]


def test_a_zone_that_is_told_counts_until_it_is_forgotten(zoned):
    zoned.say("My time zone is Asia/Tokyo.")
    assert zoned.memory.time_zone(ANA) == "Asia/Tokyo"
    assert zoned.memory.time_zone(BEN) == ""
    zoned.memory.forget(ANA, "My time zone is Asia/Tokyo.")
    assert zoned.memory.time_zone(ANA) == ""


def test_a_zone_that_does_not_exist_is_refused(zoned):
    with pytest.raises(InputError, match="There is no time zone 'Mars/Base'"):
        zoned.memory.set_time_zone(ANA, "Mars/Base")
    zoned.say("My time zone is Mars/Base.")
    assert zoned.memory.time_zone(ANA) == ""


@pytest.mark.parametrize(
    ("text", "name"),
    [("Europe/Zurich", "Europe/Zurich"), ("tokyo", "Asia/Tokyo"), ("New York", "America/New_York"), ("Bern", "")],
)
def test_zones_are_known_by_name_and_city(text, name):
    assert zone_named(text) == name


def test_a_zone_that_does_not_exist_is_not_kept(room):
    room.say("My time zone is Asia/Tokyo.")
    assert room.say("My time zone is Mars/Olympus.").is_empty
    assert room.texts() == ["My time zone is Asia/Tokyo."]
