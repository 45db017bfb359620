"""The limit of facts: the least useful makes room, and the reply says so; name, home and health go last."""

from __future__ import annotations

import pytest

from dragoman.core.errors import ConfigError
from dragoman.core.values import Scope
from dragoman.reader.phrases import acknowledgement

ANA = Scope("acme", "ana")


def test_the_least_useful_fact_makes_room_visibly(make):
    room = make(limit=3)
    for text in ("I am allergic to nuts.", "I like tea.", "I live in Bern."):
        assert room.say(text).dropped == ()
    learned = room.say("I work as a nurse.")
    assert [row.text for row in learned.dropped] == ["I like tea."]
    assert "To make room, I no longer use: you like tea." in acknowledgement(learned, "en")
    assert sorted(room.texts()) == ["I am allergic to nuts.", "I live in Bern.", "I work as a nurse."]
    assert room.superseded() == ["I like tea."]


def test_a_new_fact_is_never_the_one_that_goes(make):
    room = make(limit=1)
    room.say("I am allergic to nuts.")
    room.say("I like tea.")
    assert room.texts() == ["I like tea."]


def test_a_fact_that_replaces_another_needs_no_room(make):
    room = make(limit=1)
    room.say("I live in Bern.")
    assert room.say("I live in Basel.").dropped == ()


def test_a_limit_below_one_is_refused(make):
    with pytest.raises(ConfigError, match=r"memory\.limit is 0"):
        make(limit=0)
