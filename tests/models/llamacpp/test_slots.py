"""Slots of the embedded server: a prompt goes on where its beginning was read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.models.llamacpp.slots import Slots

DIALOGUE = tuple(range(100, 140))


def test_what_goes_on_or_branches_off_keeps_its_slot():
    slots = Slots(2)
    first = slots.take(DIALOGUE)
    other = slots.take((1, 2, 3))
    assert first != other
    assert slots.take((*DIALOGUE, 7, 8)) == first
    assert slots.take((*DIALOGUE, 9)) == first
    assert slots.take((1, 2, 3, 4)) == other


def test_a_short_dialogue_with_much_evidence_is_still_that_dialogue():
    slots = Slots(2)
    first = slots.take(DIALOGUE)
    assert slots.take((*DIALOGUE, *range(1000, 1400))) == first
    assert slots.take((*DIALOGUE[:-1], 5, 6)) == first
    assert slots.take((*DIALOGUE[:3], *range(40))) != first


def test_a_new_dialogue_takes_the_slot_that_was_used_longest_ago():
    slots = Slots(2)
    first, other = slots.take(DIALOGUE), slots.take((1, 2, 3))
    slots.take(DIALOGUE)
    assert slots.take((50, 51)) == other
    assert slots.take((60, 61)) == first


def test_forgotten_dialogues_have_no_slot():
    slots = Slots(2)
    slots.take((9, 9))
    slots.take(DIALOGUE)
    slots.clear()
    assert {slots.take((1, 1)), slots.take(DIALOGUE)} == {0, 1}


@pytest.mark.parametrize("count", [1, 3])
@given(prompts=st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=12))
def test_every_prompt_has_a_slot_and_keeps_it_when_asked_again_at_once(count, prompts):
    slots = Slots(count)
    for prompt in prompts:
        slot = slots.take(prompt)
        assert 0 <= slot < count
        if prompt:
            assert slots.take(prompt) == slot
