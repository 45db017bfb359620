"""Kept beginnings: the longest common one is found, what goes on takes the place of what it goes on from."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dragoman.models.unified.prefix_cache import Prefixes

TEXTS = st.lists(st.integers(0, 2), max_size=6).map(tuple)


def test_longest_common_beginning_is_found():
    kept = Prefixes(20)
    kept.keep((1, 2, 3, 4), ["a"])
    kept.keep((1, 2, 9), ["b"])
    assert kept.find((1, 2, 3, 7)) == (3, ["a"])
    assert kept.find((1, 2, 9, 9)) == (3, ["b"])
    assert kept.find((5,)) == (0, ())


def test_what_goes_on_takes_the_place_of_what_it_goes_on_from():
    kept = Prefixes(20)
    kept.keep((1, 2), ["a"])
    kept.keep((1, 2, 3), ["b"])
    assert kept.tokens == 3
    assert kept.find((1, 2)) == (2, ["b"])


def test_oldest_makes_room_and_what_is_too_long_is_not_kept():
    kept = Prefixes(6)
    kept.keep((1, 1, 1), ["a"])
    kept.keep((2, 2, 2), ["b"])
    kept.find((1,))
    kept.keep((3, 3), ["c"])
    assert kept.find((2, 2, 2)) == (0, ())
    assert kept.find((1, 1, 1)) == (3, ["a"])
    kept.keep((4,) * 7, ["d"])
    assert kept.find((4,)) == (0, ())


def test_cleared_keeps_nothing():
    kept = Prefixes(6)
    kept.keep((1,), ["a"])
    kept.clear()
    assert (kept.tokens, kept.find((1,))) == (0, (0, ()))


@given(st.lists(TEXTS, max_size=8), TEXTS)
def test_what_is_found_is_a_true_beginning_and_the_longest(texts, asked):
    kept = Prefixes(12)
    for text in texts:
        kept.keep(text, text)
    assert kept.tokens <= 12
    size, found = kept.find(asked)
    assert found[:size] == asked[:size]
    longest = max((common(text, asked) for text in kept._kept), default=0)
    assert size == longest


def common(one, other):
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
