from __future__ import annotations

import pytest

from dragoman.memory.correction import corrected, may_correct
from dragoman.memory.facts import facts

KNOWN = facts("I arrive on Tuesday. My son Leo is five. I live in Bern.")


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("sorry, I meant Thursday", "I arrive on Thursday."),
        ("No, six.", "My son Leo is six."),
        ("I meant Basel", "I live in Basel."),
        ("Thursday, not Tuesday", "I arrive on Thursday."),
        ("not Bern, Basel", "I live in Basel."),
    ],
)
def test_a_new_value_alone_changes_the_latest_fact_of_its_kind(text, changed):
    assert may_correct(text)
    assert [fact.text for fact in corrected(text, KNOWN)] == [changed]


@pytest.mark.parametrize("text", ["Thursday", "No, thanks.", "I mean the blue one", "sorry, Thursday?", "no"])
def test_other_turns_correct_nothing(text):
    assert corrected(text, KNOWN) == ()


@pytest.mark.parametrize(
    ("told", "correction", "now"),
    [
        ("My twins Lea and Ben are six.", "No, the twins are seven.", "My twins Lea and Ben are seven."),
        ("My twins are six.", "No, they are thirteen.", "My twins are thirteen."),
        ("My nephew Ole is 12.", "Sorry, Ole is 13.", "My nephew Ole is 13."),
    ],
)
def test_a_correction_names_whose_value_it_is(told: str, correction: str, now: str) -> None:
    assert [fact.text for fact in corrected(correction, facts(told))] == [now]


def test_a_correction_that_fits_two_values_changes_neither() -> None:
    assert corrected("No, they are thirteen.", facts("Our kids are 4 and 7.")) == ()
