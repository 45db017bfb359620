from __future__ import annotations

import pytest

from dragoman.memory.english.discourse import sentences_of, uncleft, without_asides, without_contrast, without_order
from dragoman.memory.facts import facts


@pytest.mark.parametrize(
    ("said", "bare"),
    [
        ("I have epilepsy by the way, can I still go", "I have epilepsy, can I still go"),
        ("Mia is actually 10", "Mia is 10"),
        ("I'm allergic to, like, peanuts", "I'm allergic to peanuts"),
        ("I am, to be honest, a nurse", "I am a nurse"),
        ("I've got asthma, sorry", "I've got asthma"),
        ("My son is scared of water though", "My son is scared of water"),
        ("I just don't like mushrooms", "I don't like mushrooms"),
        ("I'm from Oslo, actually", "I'm from Oslo"),
    ],
)
def test_discourse_words_are_left_out(said, bare):
    assert without_asides(said) == bare


@pytest.mark.parametrize(
    "text", ["do you know what time it is", "it's a matter of fact", "I am sorry", "I like fish", "I just got married"]
)
def test_words_that_say_something_stay(text):
    assert without_asides(text) == text


def test_what_a_correction_takes_back_is_left_out():
    assert without_contrast("My sister lives in Biel, not Basel") == "My sister lives in Biel"
    assert without_contrast("I arrive on Friday not Saturday") == "I arrive on Friday"
    for text in ("I'm not Anna", "I am vegan but not strict", "I am not a member"):
        assert without_contrast(text) == text


def test_sentences_without_full_stops_are_told_apart():
    assert sentences_of("got a boyfriend hes 19") == ["got a boyfriend", "hes 19"]
    for text in ("the room im in is cold", "I think she's a nurse", "my mum and he's a nurse"):
        assert sentences_of(text) == [text]


def test_whom_a_cleft_sentence_is_about_and_whom_not():
    assert uncleft("it is Zara who has asthma, not Noor") == "Zara has asthma, Noor does not have asthma"
    assert uncleft("it is Tom who is blind") == "Tom is blind"
    assert uncleft("it is the ferry that is late") == "it is the ferry that is late"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I have epilepsy by the way, can I still go on the boat?", ["I have epilepsy."]),
        ("I'm a member btw, have been for years", ["I am a member."]),
        ("my sister Amina has 14 years", ["My sister Amina is 14 years old."]),
        ("I have 14 years", ["I am 14 years old."]),
        ("I have got a daughter Mia", ["I have a daughter called Mia."]),
        ("I've got a daughter, Mia, who's 9", ["I have a daughter called Mia.", "My daughter Mia is 9."]),
        ("I have a dog called Rex, he's 3", ["I have a dog called Rex.", "My dog Rex is 3."]),
        ("I don't have a car, just a bike", ["I do not have a car.", "I have a bike."]),
        ("yo im lena n im 17 lol", ["I am Lena.", "I am 17."]),
        ("got a bf hes 19", ["I have a boyfriend.", "My boyfriend is 19."]),
        ("I am a gentleman of eighty-two years", ["I am eighty-two years old."]),
        ("Please do note that I walk with a stick", ["I walk with a stick."]),
        ("I am rather hard of hearing", ["I am rather hard of hearing."]),
        ("My mum turned 80 yesterday", ["My mum is 80."]),
        ("I joined the sailing club in March", ["I joined the sailing club in March."]),
        ("I've just moved from Leeds to York", ["I have just moved to York."]),
        ("I lost my job two weeks ago", ["I lost my job two weeks ago."]),
        (
            "I'm travelling with my twins, who've just turned six",
            ["I am travelling with my twins.", "My twins are six."],
        ),
        ("It's not true that I'm vegan", ["I am not vegan."]),
        ("Can my 8-year-old come along?", ["My child is 8 years old."]),
        ("I'm having surgery on my hip", ["I am having surgery on my hip."]),
        ("I shall be arriving on Thursday", ["I will be arriving on Thursday."]),
    ],
)
def test_facts_are_in_plain_words(text, found):
    assert [fact.text for fact in facts(text)] == found


def test_membership_is_a_status():
    assert [(fact.slot, fact.value) for fact in facts("I became a member last week")] == [("status", "member")]
    assert [(fact.slot, fact.value) for fact in facts("I'm not a member yet")] == [("status!", "member")]


def test_a_pronoun_behind_an_unknown_name_means_nobody_known():
    known = {"Clara": "wife"}
    text = "My goddaughter-in-law Emily comes along; she is a student"
    assert not any(fact.subject == "Clara" for fact in facts(text, people=lambda: known))


def test_siblings_of_a_child_are_children():
    (fact,) = facts("His sister Pia is 3", people=lambda: {"Ollie": "son"})
    assert (fact.text, fact.role) == ("My daughter Pia is 3.", "daughter")
    (fact,) = facts("His dog Rex is 3", people=lambda: {"Karim": "friend"})
    assert fact.text == "Karim's dog Rex is 3."


def test_a_pronoun_after_a_question_means_whom_the_question_names():
    known = {"Milo": "son", "Biscuit": "dog"}
    said = facts("Can Milo have the chips? He has a peanut allergy.", people=lambda: known)
    assert [fact.text for fact in said] == ["My son Milo has a peanut allergy."]
    assert not facts("Does Anna pay? She is four.", people=lambda: known)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I'm allergic to shrimp, please forget the salad and suggest something else", "I'm allergic to shrimp"),
        ("I'm vegan so please find me a soup", "I'm vegan"),
        ("I live in Bern, recommend a bus", "I live in Bern"),
        ("My son, please note, is 9", "My son, please note, is 9"),
        ("I like to find a seat and book early", "I like to find a seat and book early"),
        ("please tell me more", "please tell me more"),
    ],
)
def test_what_the_agent_is_asked_to_do_belongs_to_no_fact(said, told):
    assert without_order(said) == told
