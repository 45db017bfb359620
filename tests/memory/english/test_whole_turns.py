# ruff: noqa: E501  # a turn and its facts on one line
"""Facts of whole turns: each keeps what was said of its subject, and nothing beside it."""

from __future__ import annotations

import pytest

from dragoman.memory.english.wording import with_articles
from dragoman.memory.facts import facts


@pytest.mark.parametrize(
    ("turn", "texts"),
    [
        ("I have a nine years old labrador", ["My labrador is nine years old.", "I have a labrador."]),
        ("Got a new dog, Rex, 9 weeks old", ["I have a new dog called Rex.", "My new dog Rex is 9 weeks old."]),
        ("i am a apprentice", ["I am an apprentice."]),
        ("We still have a dog too", ["We have a dog."]),
        ("I also drive a camper van", ["I drive a camper van."]),
        ("I have a son who is 7 and a dog called Rex.", ["I have a son and a dog called Rex.", "My son is 7."]),
        ("I come with my son, who has a scooter and a bike", ["I come with my son.", "My son has a scooter and a bike."]),
        ("I have since two years the asthma", ["I have asthma for two years."]),
        ("I live since 2019 in Bonn", ["I live in Bonn since 2019."]),
        ("I'm a teacher and bring 24 pupils", ["I am a teacher.", "I bring 24 pupils."]),
        ("I am a pensioner of 78 years", ["I am a pensioner.", "I am 78 years old."]),
        ("We come with our two dachshunds, Max and Moritz, aged 4 and 6", ["My dachshund Max is 4.", "My dachshund Moritz is 6.", "We come with our two dachshunds Max and Moritz."]),
        ("I earn 2,100 euros a month", ["I earn 2,100 euros a month."]),
        ("my mum (81) takes blood thinners, does she have to tell the doctor?", ["My mum is 81.", "My mum takes blood thinners."]),
        ("we're 2 adults and 3 kids (4, 7, 9)", ["My kids are 4, 7, 9.", "We are 2 adults and 3 kids."]),
        ("it's Edith here, I'm 84", ["My name is Edith.", "I am 84."]),
        ("we will be 7, not 5", ["We are 7 people."]),
        ("Since my husband died I live on my own", ["I live on my own since my husband died."]),
        ("Next week I have a knee operation", ["I have a knee operation next week."]),
        ("I have got 2 childs, 5 and 8 years", ["My children are 5 and 8.", "I have 2 children."]),
        ("Apparently I'm allergic to latex", ["I am allergic to latex."]),
        ("This is Ingrid Solberg.", ["My name is Ingrid Solberg."]),
        ("I'm 72, so there's no charge for me.", ["I am 72."]),
        ("We're staying from 3 to 7 June, two adults and a baby", ["We are two adults and a baby.", "We are staying from 3 to 7 June."]),
        ("We're flying to Rome on 20 June and coming back on the 30th", ["We are flying to Rome on 20 June.", "We are coming back on the 30th."]),
        ("my hubby and me bring our two cats Miso and Tofu, and he's vegan", ["We bring our two cats Miso and Tofu.", "My hubby is vegan."]),
        ("My two kids, Nils (9) and Aline who turns 6 next month, are coming along", ["My child Nils is 9.", "My child Aline turns 6 next month."]),
        ("I live with our two kids, Nils (9) and Aline who turns 6 next month.", ["My child Nils is 9.", "My child Aline turns 6 next month.", "I live with our two kids, Nils and Aline."]),
        ("My kids are Nils, who is 9, and Aline, who turns 6 next month.", ["My kids are Nils and Aline.", "My child Nils is 9.", "My child Aline turns 6 next month."]),
        ("We're planning to come in two weeks, from Monday to Friday, with the kids", ["We are planning to come in two weeks, from Monday to Friday.", "We are planning to come in two weeks, from Monday to Friday.", "We are planning to come in two weeks, with my kids."]),
        ("We moved to Kent with our two dogs", ["We moved to Kent.", "I live with our two dogs."]),
        ("We moved to Basel last weekend.", ["We moved to Basel last weekend."]),
    ],
)  # fmt: skip
def test_a_turn_leaves_its_facts(turn: str, texts: list[str]) -> None:
    assert sorted(fact.text for fact in facts(turn)) == sorted(texts)


@pytest.mark.parametrize(
    "turn",
    [
        "So my cat stays free.",
        "then I pay half",
        "So a missed appointment costs 50 euros.",
        "My friend says he is allergic to chalk",
        "If I were 70, I would pay less",
        "I hate your answers",
    ],
)
def test_what_is_asked_supposed_or_said_by_others_is_no_fact(turn: str) -> None:
    assert facts(turn) == ()


def test_a_corrected_age_of_an_animal_leaves_out_the_old_one() -> None:
    (fact,) = facts("Rex is 9 weeks old, not 5 months", people=lambda: {"Rex": "dog"})
    assert (fact.slot, fact.value, fact.text) == ("Rex's age", "9 weeks old", "My dog Rex is 9 weeks old.")


@pytest.mark.parametrize(
    ("typed", "right"),
    [
        ("I am a apprentice", "I am an apprentice"),
        ("an car", "a car"),
        ("a hour", "an hour"),
        ("an European", "a European"),
        ("a 8 year old", "an 8 year old"),
        ("an MRI and a UK passport", "an MRI and a UK passport"),
        ("a university and a uncle", "a university and an uncle"),
    ],
)
def test_an_article_fits_the_sound_of_the_next_word(typed: str, right: str) -> None:
    assert with_articles(typed) == right
