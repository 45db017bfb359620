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
