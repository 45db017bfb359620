"""Full sentences for fragments, for phrases inside questions and for lists of names with ages."""

from __future__ import annotations

import pytest

from dragoman.memory.english.fragments import LONGEST_FRAGMENT, completed, embedded, named_with_ages
from dragoman.memory.facts import facts


@pytest.mark.parametrize(
    ("fragment", "sentence"),
    [
        ("Son Sam, 9", "My son Sam is 9"),
        ("Got epilepsy", "I have epilepsy"),
        ("vegan btw", "I am vegan"),
        ("2 kids, 4 and 7", "I have 2 kids, my kids are 4 and 7"),
        ("Pensioner, 72, from Crewe", "I am a pensioner, 72, from Crewe"),
        ("no longer a student", "I am no longer a student"),
        ("family of four", "We are a family of four"),
    ],
)
def test_a_fragment_becomes_a_full_sentence(fragment, sentence):
    statement = completed(fragment)
    assert statement is not None and statement.text == sentence


@pytest.mark.parametrize(
    "text", ["Have fun", "Dog food", "Student price", "My son is 9", "Two coffees please", "vegan " * LONGEST_FRAGMENT]
)
def test_other_words_state_nothing_about_the_user(text):
    statement = completed(text)
    assert statement is None or not facts(text)


def test_only_the_words_before_a_question_are_completed():
    statement = completed("coeliac here, any bread I can have", asks=True)
    assert statement is not None and statement.text == "I am coeliac"
    assert completed("Student price", asks=True) is None


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("As a student, do I pay less", "I am a student"),
        ("Can I, with my guide dog, enter", "I come with my guide dog"),
        ("Can my 9-year-old daughter use the slide", "My daughter is 9 years old"),
        ("With my broken arm, can I go kayaking", "I have a broken arm"),
        ("I need a lift because of my hip", "I have trouble with my hip"),
    ],
)
def test_a_phrase_inside_a_question_is_a_statement(question, sentence):
    assert [statement.text for statement in embedded(question)] == [sentence]


def test_a_role_that_anybody_may_have_is_not_the_users():
    assert list(embedded("Is it true that as a member one gets in free")) == []


def test_names_with_ages_are_one_person_each():
    statements, rest = named_with_ages("We have two kids, Ben (4) and Lea, 7, and a dog")
    assert [statement.text for statement in statements] == ["My child Ben is 4", "My child Lea is 7"]
    assert rest == "We have two kids, Ben and Lea, and a dog"


def test_somebody_named_in_one_sentence_is_known_in_the_next():
    learnt = facts("We have two kids, Ben (4) and Lea (7). Ben's allergic to hazelnuts.")
    assert ("Ben's allergy", "hazelnuts") in [(fact.slot, fact.value) for fact in learnt]
