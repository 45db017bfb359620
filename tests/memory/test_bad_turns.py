"""Turns that could spoil a memory: a clock that goes back, two corrections at once, what others said of others."""

from __future__ import annotations

from dragoman.core.clock import use_clock
from dragoman.core.values import Context, Scope
from dragoman.reader.history import recollection_reply

ANA = Scope("acme", "ana")


def say(room, moment, *texts):
    with use_clock(moment):
        for text in texts:
            room.say(text)


def known(room):
    return [row.text for row in room.memory.recall(ANA)]


def test_a_clock_that_goes_back_loses_nothing(make):
    room = make(time_zone="UTC")
    say(room, "2026-05-03T10:00Z", "I live in Bern.")
    say(room, "2025-01-01T10:00Z", "I live in Basel.")
    assert known(room) == ["I live in Basel."]
    with use_clock("2026-06-01T10:00Z"):
        asked = room.memory.recollect(Context.of("Where did I live before?", scope=ANA))
        assert asked is not None and "Bern" in recollection_reply(asked, "en")
        assert known(room) == ["I live in Basel."]


def test_two_corrections_in_one_sentence_both_count(make):
    room = make()
    say(room, "2026-05-03T10:00Z", "I live in Bern. I work as a nurse.")
    say(room, "2026-05-04T10:00Z", "Actually I live in Basel and I work as a teacher.")
    assert known(room) == ["I live in Basel.", "I work as a teacher."]


def test_what_a_third_tells_about_somebodys_health_is_not_kept(make):
    room = make()
    say(
        room,
        "2026-05-03T10:00Z",
        "My neighbour told me that her husband has cancer.",
        "My friend Tom says that his boss is diabetic.",
        "Anna said Peter is allergic to nuts.",
        "My sister told me that her friend is pregnant.",
    )
    assert known(room) == []
    say(room, "2026-05-03T10:00Z", "My son is allergic to nuts.")
    assert known(room) == ["My son is allergic to nuts."]
