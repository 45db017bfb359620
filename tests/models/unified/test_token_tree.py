"""Trees of segments: rows, positions and masks, drawn by hand and by chance."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import InputError
from dragoman.models.unified.masks import layout_mask
from dragoman.models.unified.token_tree import Segment, laid_out

# a dialogue of two tokens; a persona on it; a document on the persona; another persona; a plan that sees all of them
PERSONAS = (
    Segment((1, 2)),
    Segment((3, 4), 0),
    Segment((5,), 1),
    Segment((6,), 0),
    Segment((7,), 0, (1, 2, 3)),
)


@st.composite
def trees(draw):
    segments = [Segment(tuple(draw(st.lists(st.integers(0, 9), min_size=1, max_size=3))))]
    for number in range(1, draw(st.integers(1, 6))):
        tokens = tuple(draw(st.lists(st.integers(0, 9), min_size=1, max_size=3)))
        parent = draw(st.integers(0, number - 1))
        sees = draw(st.sets(st.integers(0, number - 1), max_size=2)) if draw(st.booleans()) else ()
        segments.append(Segment(tokens, parent, tuple(sorted(sees))))
    return segments


def test_the_mask_drawn_by_hand():
    drawn = """
        1......
        11.....
        111....
        1111...
        11111..
        11...1.
        1111111
    """
    expected = [[mark == "1" for mark in row] for row in drawn.split()]
    assert layout_mask(laid_out(PERSONAS)).tolist() == expected


def test_positions_go_on_after_the_parent_and_after_the_longest_that_is_seen():
    assert laid_out(PERSONAS).positions == (0, 1, 2, 3, 4, 2, 5)


def test_places_count_from_either_end():
    layout = laid_out(PERSONAS)
    assert [layout.place(1, 0), layout.place(1, -1), layout.place(4, -1)] == [2, 3, 6]


def test_a_later_start_gives_the_last_rows():
    layout = laid_out(PERSONAS)
    assert torch.equal(layout_mask(layout, start=3), layout_mask(layout)[3:])


def test_trees_beside_each_other_see_nothing_of_each_other():
    first = len(PERSONAS)
    again = [
        replace(
            segment,
            parent=None if segment.parent is None else segment.parent + first,
            sees=tuple(other + first for other in segment.sees),
        )
        for segment in PERSONAS
    ]
    layout = laid_out([*PERSONAS, *again])
    mask = layout_mask(layout)
    size = len(layout.tokens) // 2
    assert torch.equal(mask[size:, size:], mask[:size, :size])
    assert not mask[size:, :size].any() and not mask[:size, size:].any()
    assert layout.positions[size:] == layout.positions[:size]


@given(trees())
def test_a_token_sees_itself_and_all_that_its_line_holds_and_nothing_later(segments):
    layout = laid_out(segments)
    mask = layout_mask(layout)
    assert mask.diagonal().all() and not mask.triu(1).any()
    for place, owner in enumerate(layout.segments):
        line, above = {owner}, segments[owner].parent
        line |= set(segments[owner].sees)
        while above is not None:
            line |= {above, *segments[above].sees}
            above = segments[above].parent
        seen = [key for key in range(place + 1) if layout.segments[key] in line]
        assert mask[place].nonzero().flatten().tolist() == seen


@given(trees())
def test_without_further_sight_positions_count_what_is_seen(segments):
    plain = [Segment(segment.tokens, segment.parent) for segment in segments]
    layout = laid_out(plain)
    assert (layout_mask(layout).sum(1) - 1).tolist() == list(layout.positions)


@pytest.mark.parametrize("segment", [Segment((1,), 1), Segment((1,), 0, (1,)), Segment((1,), -1)])
def test_a_segment_before_what_it_sees_is_refused(segment):
    with pytest.raises(InputError, match="Segment 1"):
        laid_out([Segment((1,)), segment])
