"""Clauses of an English sentence, each with its subject."""

from __future__ import annotations

import pytest

from dragoman.memory.english.clauses import ClauseReader


def read(sentence, *, asks=False, people=None):
    return [(c.subject.key, c.predicate) for c in ClauseReader(lambda: people or {}).clauses(sentence, asks=asks)]


@pytest.mark.parametrize(
    ("sentence", "clauses"),
    [
        ("I live in Graz and work as a midwife", [("user", "live in Graz"), ("user", "work as a midwife")]),
        ("I come with my son Leo who is five", [("user", "come with my son Leo"), ("Leo", "is five")]),
        ("My dad, who is 82, has a pacemaker", [("dad", "is 82"), ("dad", "has a pacemaker")]),
        ("My son Oskar, 11, loves kites", [("Oskar", "is 11"), ("Oskar", "loves kites")]),
        ("My son, Max, is four", [("Max", "is four")]),
        ("I am Ida, 71", [("user", "am Ida"), ("user", "am 71")]),
        ("My dog is old and he weighs 12 kilos", [("dog", "is old"), ("dog", "weighs 12 kilos")]),
        ("My partner and I are both coeliac", [("user", "am coeliac"), ("partner", "is coeliac")]),
        ("I love steak, onions and cheese", [("user", "love steak, onions and cheese")]),
        ("I use a wheelchair if it rains", [("user", "use a wheelchair")]),
    ],
)
def test_a_subject_is_carried_to_the_clauses_about_it(sentence, clauses):
    assert read(sentence) == clauses


@pytest.mark.parametrize(
    "sentence",
    ["The Petrel is full", "You are a pirate", "Anna is nice", "It is my first time", "She is seven", "If I had a dog"],
)
def test_what_is_about_nobody_of_the_users_gives_no_clause(sentence):
    assert read(sentence) == []


def test_a_question_gives_only_what_it_states_on_its_way():
    assert read("I am a student, what do I pay", asks=True) == [("user", "am a student")]
    assert read("Which walk suits my son Leo, who is five", asks=True) == [("Leo", "is five")]
    assert read("Is my dog allowed", asks=True) == []
    assert read("I am old", asks=True) == []


def test_a_name_alone_is_a_subject_only_where_it_is_known():
    assert read("Leo is seven", people={"Leo": "son"}) == [("Leo", "is seven")]
    assert read("Leo is seven") == []


def test_somebody_is_kept_in_mind_over_sentences():
    reader = ClauseReader()
    reader.clauses("I own a camper van")
    assert [(c.subject.key, c.predicate) for c in reader.clauses("It is 7 metres long")] == [
        ("camper van", "is 7 metres long")
    ]


@pytest.mark.parametrize(
    ("sentence", "clauses"),
    [
        (
            "I can not eat nuts, and my mother, who is 71, uses a wheelchair",
            [("user", "can not eat nuts"), ("mother", "is 71"), ("mother", "uses a wheelchair")],
        ),
        (
            "I like tea, and my brother Tim, who lives in Bern, likes coffee",
            [("user", "like tea"), ("Tim", "lives in Bern"), ("Tim", "likes coffee")],
        ),
        (
            "I am allergic to bees and my father, a baker, lives in Basel",
            [("user", "am allergic to bees"), ("father", "is a baker"), ("father", "lives in Basel")],
        ),
        (
            "My sister Ana works at the harbour, and her husband Joe, a teacher, is deaf",
            [("Ana", "works at the harbour"), ("Joe", "is a teacher"), ("Joe", "is deaf")],
        ),
        (
            "I live with my son, who is five, and work as a nurse",
            [("user", "live with my son"), ("son", "is five"), ("user", "work as a nurse")],
        ),
    ],
)
def test_a_subject_keeps_its_verb_over_an_aside(sentence, clauses):
    assert read(sentence) == clauses


def test_what_is_said_of_somebody_elses_people_is_said_of_nobody_known():
    told = read("I come with my wife and her mother, who is 80")
    assert ("wife", "is 80") not in told and ("user", "come with my wife and her mother") in told
    assert read("My sister Ana works at the harbour, and her husband, a teacher, is deaf") == [
        ("Ana", "works at the harbour")
    ]
