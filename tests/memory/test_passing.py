"""Corrections told in passing, of what the turn before told."""

from __future__ import annotations

import pytest

from dragoman.core.values import Context, Fact, Scope, Turn
from dragoman.memory.facts import facts
from dragoman.memory.passing import may_correct_in_passing, passing_correction, told_in

NEAR = {
    frozenset(("a diesel", "petrol")),
    frozenset(("season ticket", "a ten-trip card")),
    frozenset(("vegetarian", "vegan")),
} | {frozenset(("Leeds", "near Leeds"))}


def alike(one: str, other: str) -> float:
    return 0.6 if frozenset((one, other)) in NEAR else 0.1


@pytest.mark.parametrize(
    ("told", "text", "corrected"),
    [
        ("We rented the large boat.", "it's the small one actually", "We rented the small boat."),
        ("I have a big dog.", "sorry, a small one", "I have a small dog."),
        (
            "We booked two nights in a full cabin",
            "it's not a full one, we only took the half",
            "We booked two nights in a cabin, not a full one: we only took the half.",
        ),
        ("We booked an open boat", "It isn't an open one, it's a covered one.", "We booked a covered boat."),
        ("My dog is vaccinated.", "that was wrong, he isn't", "My dog is not vaccinated."),
        ("My son has a helmet.", "no he hasn't", "My son does not have a helmet."),
        (
            "My neighbour Jon is blind.",
            "sorry I got that wrong, the neighbour is deaf not blind",
            "My neighbour Jon is deaf.",
        ),
        ("I was born in Leeds.", "well, near Leeds", "I was born near Leeds."),
        ("My daughter is vegetarian.", "actually she's vegan", "My daughter is vegan."),
        ("My car is a diesel", "sorry, petrol", "My car is petrol."),
        ("I have a season ticket", "well, it's only a ten-trip card really", "I have a ten-trip card."),
    ],
)
def test_a_turn_in_passing_corrects_what_the_turn_before_told(told, text, corrected):
    known = list(facts(told)) or [Fact(f"{told.rstrip('.')}.", "about", told.rstrip("."), told)]
    assert may_correct_in_passing(text)
    (fact,) = passing_correction(text, told_in(told, known), alike)
    assert fact.text == corrected
    assert fact.corrects == known[-1].text


@pytest.mark.parametrize(
    "text",
    [
        "no, thanks",
        "sorry, what was that?",
        "It's only a question of time",
        "actually, I have a cat too",
        "sorry for being late",
        "Is it only a small one?",
        "petrol",
        "No, he can't come either.",
        "sorry, late",
        "the small one is nicer",
        "the small one",
    ],
)
def test_other_turns_correct_nothing_in_passing(text):
    assert passing_correction(text, facts("My car is a diesel."), alike) == ()


def test_a_fact_of_an_earlier_turn_is_not_corrected_in_passing(room):
    assert told_in("Hello there", facts("My car is a diesel.")) == []


def test_the_corrected_fact_is_replaced_where_several_could_hold(make):
    room = make()
    before = Turn("user", "We arrive on Friday with three bikes.")
    room.say(before.text)
    learned = room.memory.learn(
        [
            Context(
                (before, Turn("agent", "Got it."), Turn("user", "actually make that two bikes")),
                scope=Scope("acme", "ana"),
            )
        ]
    )[0]
    assert [row.text for row in learned.superseded] == ["We arrive with three bikes."]
    assert not any("three" in text for text in room.texts())
