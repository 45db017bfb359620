"""Price lists in many wordings: the price that a person pays follows from the list, never from its text."""

from __future__ import annotations

import itertools

import pytest

from dragoman.decision.applies import applies

# Age bands with prices, as (words of the group, youngest, oldest, price); the first is everybody else's.
LISTS = [
    [("adults", 18, None, 14), ("children from 4 to 13", 4, 13, 6)],
    [("adults", 18, None, 21), ("children aged 6 to 15", 6, 15, 9), ("under 6s", 0, 5, 3)],
    [("adults", 18, None, 12), ("people over 65", 66, None, 8), ("children under 12", 0, 11, 5)],
    [("adults", 18, None, 30), ("young people from 14 to 17", 14, 17, 22), ("children under 14", 0, 13, 11)],
]
FORMS = {
    "costs ... for": lambda rows: (
        "A ticket costs " + _series([f"{price} euros for {who}" for who, price in rows]) + "."
    ),
    "who pay": lambda rows: _series([f"{who} pay {price} euros" for who, price in rows]).capitalize() + ".",
    "who: price": lambda rows: "Tickets: " + ", ".join(f"{who} €{price}" for who, price in rows) + ".",
    "price (who)": lambda rows: "Entry is " + _series([f"£{price} for {who}" for who, price in rows]) + ".",
    "semicolons": lambda rows: "; ".join(f"{who} pay ${price}" for who, price in rows).capitalize() + ".",
}
PEOPLE = [
    ("My grandson Felix is 8.", "How much is a ticket for Felix?", 8),
    ("My daughter is 5.", "What does a ticket cost for my daughter?", 5),
    ("I am 70.", "How much do I pay?", 70),
    ("I'm 34.", "What is the price for me?", 34),
    ("My son Ben is 15.", "What does Ben pay?", 15),
]


def _series(parts):
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]


def _expected(prices, age):
    fitting = [row for row in prices[1:] if row[1] <= age and (row[2] is None or age <= row[2])]
    if fitting:
        return fitting[0][3]
    return prices[0][3] if age >= prices[0][1] else None


@pytest.mark.parametrize("form", FORMS)
def test_the_price_of_ones_age_is_chosen(form):
    for prices, (fact, question, age) in itertools.product(LISTS, PEOPLE):
        rule = FORMS[form]([(who, price) for who, _, _, price in prices])
        decision = applies(rule, [fact], question)
        expected = _expected(prices, age)
        if expected is None:  # nothing is listed for that age
            assert decision.verdict != "yes" or not decision.value, (rule, fact)
        else:
            assert (decision.verdict, decision.value, decision.fact) == ("yes", str(expected), fact), rule


@pytest.mark.parametrize("form", FORMS)
def test_a_group_and_an_age_that_stand_together_must_both_hold(form):
    rule = FORMS[form]([("adults", 14), ("students under 27", 9), ("children from 4 to 13", 6)])
    assert applies(rule, ["I am 24.", "I am a student."], "How much do I pay?").value == "9"
    assert applies(rule, ["I am 31.", "I am a student."], "How much do I pay?").value == "14"
    assert applies(rule, ["My son Tim is 9."], "How much does Tim pay?").value == "6"
    unsure = applies(rule, ["I am 24."], "How much do I pay?")
    assert (unsure.verdict, unsure.missing) == ("unknown", "student")


@pytest.mark.parametrize("form", FORMS)
def test_no_price_is_said_where_a_group_that_code_does_not_know_may_be_the_users(form):
    rule = FORMS[form]([("adults", 14), ("students and florists under 27", 9), ("children from 4 to 13", 6)])
    assert applies(rule, ["I am 24.", "I am a florist."], "How much do I pay?").value in ("", "9")
    assert applies(rule, ["My son Tim is 9."], "How much does Tim pay?").value == "6"
    assert applies(rule, ["I am 50."], "How much do I pay?").value == "14"


@pytest.mark.parametrize(
    ("home", "value"),
    [
        ("I live in Oakham with my son Milo and our beagle Biscuit.", "45"),
        ("We live at Oakham.", "45"),
        ("I live in Bern.", "90"),
        ("I'm 34.", ""),
    ],
)
def test_who_lives_in_the_place_pays_what_its_residents_pay(home, value):
    rule = "Residents of Oakham pay 45 euros for the season ticket, everybody else 90 euros."
    decision = applies(rule, [home], "How much is a season ticket for me?")
    assert decision.value == value and (decision.verdict == "yes") == bool(value)
