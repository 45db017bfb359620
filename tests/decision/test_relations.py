"""Comparisons of a user's values with a sentence's, said in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.decision.relations import MOST, is_replaced, relations, user_values, with_relations


def compared(sentence: str, *facts: str, question: str = "Can I?") -> list[str]:
    return relations(sentence, user_values(facts, question))


@pytest.mark.parametrize(
    ("sentence", "fact", "expected"),
    [
        ("Children under four travel free.", "My son Leo is five.", "leo: 5 is not under 4"),
        ("Open to people of 14 and above.", "I'm 14.", "user: 14 is at least 14"),
        ("Bags of up to 23 kg are free.", "My bag weighs 25.5 kg.", "25.5 kg is not at most 23 kg"),
        ("Vehicles above 2 tonnes need a permit.", "My van weighs 1800 kg.", "1800 kg is not over 2 tonnes"),
        ("Office hours: Monday to Friday.", "I can come on Saturday.", "saturday is not in monday to friday"),
        ("Riding is allowed up to the 16th week.", "I am 14 weeks pregnant.", "user: 14 weeks is at most 16th week"),
        ("Entry until 20:00.", "I arrive at 21:15.", "21:15 is not at most 20:00"),
        ("Doors open at 8 a.m.", "I come at half past eight.", "8:30 is later than 8 a.m"),
        ("Bookable from 15 April to 30 September.", "We come on 3 May.", "3 may is at least 15 april"),
        ("Groups of at least seven people.", "There are five of us.", "5 is not at least 7 people"),
        ("The Young Barn is for those of 9 to 15.", "My daughter is eight.", "daughter: 8 is not at least 9"),
        ("Between 18 and 35 you pay half.", "I'm 40.", "user: 40 is not at most 35"),
        ("Over-60s get 15 % off.", "I'm 66.", "user: 66 is over 60"),
        ("Minimum age is four.", "Kacper is three.", "kacper: 3 is not at least 4"),
        ("Return it within 30 days.", "I bought it four months ago.", "4 months is not at most 30 days"),
        ("Diving course: from 12 years, Fridays.", "My twins Lea and Ben are six.", "6 is not at least 12 years"),
        ("For babies from 4 months to 2 years.", "My son Max is five.", "max: 5 is not at most 2 years"),
        ("No one takes seeds before 3 o'clock.", "It's four in the afternoon.", "is not under 3 o'clock"),
        ("The bench is for patients until 5 p.m.", "It's half past five.", "5:30 is not at most 5 p.m"),
    ],
)
def test_values_of_one_kind_are_compared(sentence: str, fact: str, expected: str) -> None:
    assert any(expected in relation for relation in compared(sentence, fact))


@pytest.mark.parametrize(
    ("sentence", "fact"),
    [
        ("The ticket is valid for 2 years.", "I'm 34."),
        ("Cancel after at least three months of membership.", "I'm 34."),
        ("Members for at least 5 years pay half.", "My son Max is four."),
    ],
)
def test_a_length_of_time_is_no_limit_of_age(sentence: str, fact: str) -> None:
    assert compared(sentence, fact) == []


def test_each_value_belongs_to_whom_the_sentence_names() -> None:
    said = compared("Children under six go free.", "My daughters are Ida and Mia.", "Ida is 4, Mia is 7.")
    assert "ida: 4 is under 6" in said
    assert "mia: 7 is not under 6" in said


def test_what_is_not_exact_or_of_another_kind_is_not_compared() -> None:
    assert not compared("Children under six go free.", "Leo is nearly six.")
    assert not compared("Bags of up to 23 kg are free.", "My bag is 60 cm long.")
    assert not compared("A deposit of 20 euros is due.", "I have 30 dollars.")
    assert not compared("Open since 1952.", "I own 3 dogs.")


def test_a_question_with_its_own_measure_replaces_that_of_a_fact() -> None:
    rule, fact = "Pieces up to 40 cm fit.", "My bowl is 45 cm high."
    assert compared(rule, fact, question="And one of 38 cm?") == ["38 cm is at most 40 cm"]
    assert is_replaced(fact, "And one of 38 cm?")
    assert not is_replaced(fact, "Does it fit?")
    assert not is_replaced("I'm 30.", "And one of 38 cm?")


def test_a_sentence_without_comparisons_stays_as_it_is() -> None:
    assert with_relations("Dogs are welcome.", user_values(["I have a dog."], "Can I bring it?")) == "Dogs are welcome."


@given(st.integers(1, 99), st.integers(1, 99))
def test_an_age_stands_to_a_limit_as_the_numbers_do(age: int, limit: int) -> None:
    own = f"I am {age}."
    under, least = "is" if age < limit else "is not", "is" if age >= limit else "is not"
    assert compared(f"Children under {limit} travel free.", own) == [f"user: {age} {under} under {limit}"]
    assert compared(f"Open to people of {limit} and over.", own) == [f"user: {age} {least} at least {limit}"]
    assert compared(f"Not for anyone under {limit}.", own) == [f"user: {age} {under} under {limit}"]
    most = "is" if age <= limit else "is not"
    assert compared(f"No older than {limit}.", own) == [f"user: {age} {most} at most {limit}"]


@given(st.text(alphabet="0123456789 :.-kgmpa;,€under", max_size=120), st.text(max_size=120))
def test_any_text_is_read_and_few_comparisons_are_said(sentence: str, fact: str) -> None:
    assert len(compared(sentence, fact)) <= MOST
