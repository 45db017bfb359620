"""Rows and columns that are named after a group, and the sentence that says who belongs to it."""

from __future__ import annotations

import pytest

from dragoman.decision.tables.own_group import own_group

CARDS = ("Card: Adult; Yearly fee: 18; Books: 12", "Card: Concession; Yearly fee: 9; Books: 12")
TICKETS = (
    "Ticket: Day; Adults: 14.50; Reduced: 11; Children: 8",
    "Ticket: Evening; Adults: 9; Reduced: 7; Children: 6",
)
CONCESSIONS = "Concessions are for people over 65 and for those on income support."
REDUCED = "Reduced: pupils, students and apprentices up to 27, people out of work."
CHILDREN = "Children are under 14."


@pytest.mark.parametrize(
    ("rows", "facts", "question", "label", "fact"),
    [
        (CARDS, ["I am 68."], "What would a card cost me?", "concession", "I am 68."),
        (TICKETS, ["I am a student.", "I am 24."], "How much is a day ticket?", "reduced", "I am a student."),
        (TICKETS, ["I am 40.", "My son Tim is 5."], "What does Tim pay?", "children", "My son Tim is 5."),
    ],
)
def test_the_group_is_found_by_the_sentence_that_defines_it(rows, facts, question, label, fact):
    group = own_group(rows, [CONCESSIONS, REDUCED, CHILDREN], facts, question)
    assert group is not None and (group.label, group.decision.fact) == (label, fact)


@pytest.mark.parametrize(
    ("rows", "facts", "question"),
    [
        (CARDS, ["I am 40."], "What would a card cost me?"),  # belongs to no group
        (TICKETS, ["I am a student.", "I am 34."], "How much is a day ticket?"),  # too old for the reduction
        (CARDS, ["I am 68."], "What does the concession card cost?"),  # names the row itself
        (("Room: Otter; Seats: 2", "Room: Heron; Seats: 4"), ["I am 68."], "What does a room cost?"),
        (CARDS, [], "What would a card cost me?"),
    ],
)
def test_without_one_group_of_the_users_there_is_none(rows, facts, question):
    assert own_group(rows, [CONCESSIONS, REDUCED, CHILDREN], facts, question) is None


COURSE = ("What: Wheel course; Members: 140 €; Guests: 180 €",)
STUDENTS = "Students and apprentices under 28 pay the members' price when they show a card."


@pytest.mark.parametrize(
    ("sentence", "facts"),
    [
        (STUDENTS, ["I'm a law student, 24."]),
        ("Residents of Oakham get the member rate.", ["I live in Oakham."]),
        ("Students are entitled to the members' fee.", ["I am a student."]),
    ],
)
def test_a_sentence_may_say_what_a_group_pays(sentence, facts):
    group = own_group(COURSE, [sentence], facts, "What would the course cost me?")
    assert group is not None and (group.label, group.decision.fact) == ("members", facts[0])


@pytest.mark.parametrize("facts", [["I am a student, 31."], ["I am 24."]])
def test_who_does_not_meet_the_whole_condition_does_not_pay_as_the_group(facts):
    assert own_group(COURSE, [STUDENTS], facts, "What would the course cost me?") is None
