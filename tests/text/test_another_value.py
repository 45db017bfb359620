"""A question asked again with another day, time or measure."""

from __future__ import annotations

import pytest

from dragoman.core.values import Context, Turn
from dragoman.text.same_question import with_another_value


def said(*turns: str) -> Context:
    return Context(tuple(Turn("agent" if place % 2 else "user", text) for place, text in enumerate(turns)))


@pytest.mark.parametrize(
    ("before", "now", "whole"),
    [
        ("Can I bring my dog on Thursday evening?", "and on a Friday?", "Can I bring my dog on Friday?"),
        ("my bowl is 45 cm high, can you fire it?", "and one of 38 cm?", "my bowl is 38 cm high, can you fire it?"),
        ("Are you open at 9 am?", "what about 7:30?", "Are you open at 7:30?"),
        (
            "Is there room for five people on Sunday?",
            "or for eight people?",
            "Is there room for eight people on Sunday?",
        ),
        ("Can we camp in July?", "And in September?", "Can we camp in September?"),
        ("Could I stay for two nights?", "three weeks then?", "Could I stay for three weeks?"),
    ],
)
def test_the_question_is_asked_with_the_new_value(before, now, whole):
    assert with_another_value(said(before, "A reply.", now)) == whole


def test_several_fragments_go_back_to_the_same_question():
    context = said("Can I come on Monday?", "No.", "And on Tuesday?", "No.", "and Sunday morning?")
    assert with_another_value(context) == "Can I come on Sunday morning?"


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("Can I bring my dog?", "And on Friday?"),  # nothing to replace
        ("Open from Monday to Friday?", "And on Sunday?"),  # two of the kind
        ("I come on Monday.", "And on Friday?"),  # no question
        ("Can I come on Monday?", "And on Friday may I bring my dog?"),  # a question of its own
        ("Can I come on Monday?", "And in July?"),  # another kind
    ],
)
def test_every_other_turn_stays_as_it_is(before, now):
    assert with_another_value(said(before, "A reply.", now)) is None
