"""Who is who: people of facts, people that a dialogue mentions, and roles with several words."""

from __future__ import annotations

from dragoman.core.values import Turn
from dragoman.memory.facts import facts
from dragoman.memory.people import is_same, people_in, people_of
from dragoman.memory.roles import canonical, fits, singular


def test_animals_are_known_by_the_names_of_the_facts_about_them():
    assert people_of(facts("I have a dog called Rex and two cats, Ink and Blot."))["Rex"] == "dog"
    assert people_of(facts("I have two cats, Ink and Blot.")) == {"Ink": "cat", "Blot": "cat"}


def test_people_are_known_from_the_dialogue_and_from_the_agents_question():
    turns = [Turn("user", "Can my son Leo join, or my daughter?"), Turn("agent", "That depends. How old is Mia?")]
    assert people_in(turns) == {"Leo": "son", "daughter": "daughter", "Mia": ""}
    assert people_in([Turn("user", "Is my daughter allowed in?")]) == {"daughter": "daughter"}


def test_a_pronoun_means_the_only_one_who_fits():
    known = {"Leo": "son", "Mia": "daughter"}
    assert [fact.slot for fact in facts("she is ten", people=lambda: known)] == ["Mia's age"]
    assert facts("he is ten", people=lambda: {"Leo": "son", "Max": "son"}) == ()


def test_mum_and_mother_are_the_same_person():
    (old,), (new,) = facts("My mother is 80."), facts("My mum is 81.")
    assert is_same(new, old, {})


def test_roles_have_one_word_a_singular_and_pronouns():
    assert (canonical("granny"), singular("kids"), singular("dogs")) == ("grandmother", "child", "dog")
    assert fits("friend", "he") and fits("dog", "she") and not fits("mum", "he")
