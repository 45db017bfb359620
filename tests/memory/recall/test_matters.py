"""Questions about one's own plans and things are answered from facts, and left to documents where nothing was told."""

from __future__ import annotations

import pytest

from dragoman.core.values import Context, Scope
from dragoman.reader.history import recollection_reply

ANA = Scope("acme", "ana")
TOLD = (
    "I arrive on 20 June with two bikes.",
    "We are two adults and a baby.",
    "I have an annual pass.",
    "My labrador Bruno broke his leg.",
    "My mother uses a walking frame.",
    "I have an appointment on Tuesday at 3",
    "I take insulin since my operation",
)


@pytest.fixture
def asked(make):
    room = make()

    def ask(text, told=TOLD):
        for each in told:
            room.say(each)
        found = room.memory.recollect(Context.of(text, scope=ANA))
        return None if found is None else recollection_reply(found, "en")

    return ask


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When do I arrive?", "You told me: you arrive on 20 June."),
        ("What am I bringing?", "You told me: you arrive with two bikes."),
        ("How many are we?", "You told me: you are two adults and a baby."),
        ("Do I still have the pass?", "Yes, you told me that you have an annual pass."),
        ("What's wrong with Bruno?", "You told me: your labrador Bruno broke his leg."),
        ("What's wrong with my dog?", "You told me: your labrador Bruno broke his leg."),
        ("What does my mother use?", "You told me: your mother uses a walking frame."),
        ("Who uses a walking frame?", "You told me: your mother uses a walking frame."),
        ("When is my appointment?", "You told me: you have an appointment on Tuesday at 3."),
        ("Since when do I take insulin?", "You told me: you take insulin since your operation."),
    ],
)
def test_what_was_told_answers(asked, question, answer):
    assert asked(question) == answer


@pytest.mark.parametrize(
    "question",
    [
        "When do I arrive?",
        "When do we leave?",
        "Do I have a pass?",
        "When is my appointment?",
        "How much does a day ticket cost?",
        "Do I have to pay?",
        "Is Bruno allowed in the café?",
    ],
)
def test_without_such_a_fact_documents_may_answer(asked, question):
    assert asked(question, told=("My labrador Bruno broke his leg.",)) is None


def test_who_was_given_away_is_no_longer_there(asked):
    told = ("I have a cat called Mimi.", "I don't have the cat any more.")
    assert asked("Do I have a cat?", told=told) == "No, you told me that you do not have the cat any more."


def test_one_of_two_who_were_told_of_together_is_found(asked):
    told = ("My kids Ana and Ben are 4 and 6.",)
    assert asked("How old is Ben?", told=told) == "You told me: your kids Ana and Ben are 4 and 6."
