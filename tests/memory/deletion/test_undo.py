"""Undoing a deletion: in the same process, within a minute, once."""

from __future__ import annotations

import pytest

from dragoman.core.values import Passage, Scope
from dragoman.memory.deletion.undo import Deletion, RecentDeletions

ANA, BEN = Scope("acme", "ana"), Scope("acme", "ben")
FACTS = ["I live in Bern.", "My dog is called Rufus."]


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def deletion(text):
    return Deletion((Passage("f", "MEMORY", text),))


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def told(room, clock):
    room.memory.recent = RecentDeletions(clock=clock)
    for fact in FACTS:
        room.say(fact)
    return room


@pytest.mark.parametrize("words", ["undo", "Undo that.", "撤销"])
def test_a_deleted_fact_is_back_as_it_was(told, words):
    before = {row.id: row for row in told.memory.recall(ANA)}
    told.say("Forget that I live in Bern.")
    assert told.texts() == FACTS[1:]
    assert [row.text for row in told.say(words).restored] == FACTS[:1]
    assert {row.id: row for row in told.memory.recall(ANA)} == before
    assert told.memory.recall(ANA, "where do I live?", k=1)[0].text == FACTS[0]
    assert not told.say("undo").restored, "once"


def test_after_a_minute_nothing_is_held(told, clock):
    told.memory.forget(ANA, "Bern")
    clock.now = 59.9
    assert len(told.memory.recent) == 1
    clock.now = 60.0
    assert told.memory.undo(ANA) == () and len(told.memory.recent) == 0
    assert told.texts() == FACTS[1:]


def test_an_undo_reaches_the_same_user_alone(told):
    told.memory.forget(ANA, "Bern")
    assert told.memory.undo(BEN) == ()
    assert told.texts(BEN) == [] and told.memory.undo(ANA)


def test_erasing_everything_cannot_be_undone(told):
    told.memory.forget(ANA, "Bern")
    told.memory.forget(ANA)
    assert told.memory.undo(ANA) == () and told.texts() == []


def test_what_a_fact_had_replaced_comes_back_behind_it(told):
    told.say("I moved to Oslo.")
    told.memory.forget(ANA, "I moved to Oslo")
    told.memory.undo(ANA)
    assert told.superseded() == ["I live in Bern."] and "I moved to Oslo." in told.texts()


def test_a_fact_that_a_newer_one_contradicts_stays_deleted(told):
    told.memory.forget(ANA, "Bern")
    told.say("I live in Basel.")
    assert told.memory.undo(ANA) == ()
    assert "I live in Basel." in told.texts() and FACTS[0] not in told.texts()


def test_a_bounded_number_of_users_is_held(clock):
    recent = RecentDeletions(most=2, clock=clock)
    for name in ("a", "b", "c"):
        recent.hold(Scope("acme", name), deletion(name))
    assert recent.take(Scope("acme", "a")) is None
    assert recent.take(Scope("acme", "c")) == deletion("c")


def test_an_idle_process_lets_go_by_itself():
    import time

    recent = RecentDeletions(seconds=0.05)
    recent.hold(ANA, deletion("x"))
    deadline = time.monotonic() + 5
    while recent._held and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not recent._held
