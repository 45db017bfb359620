"""Which draft is said: by hand, and what must always hold."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.reader.consensus import agreements, common_subsequence, most_agreed, similarity

TOKENS = st.lists(st.sampled_from("abcd"), max_size=8)
TEXTS = st.lists(TOKENS.map(" ".join), min_size=2, max_size=6)


def test_choice_by_hand():
    """Between the second and the third, 4 tokens of 5 and 4 are shared, in order: (4 + 4) / 9; the first has none.

    The fourth has all 5 tokens of the second, 3 of them in order ("costs 34 francs"): (5 + 3) / 10; and 4 of the
    third's: (4 + 3) / 9.
    """
    texts = [
        "Tea grows here!",
        "The ferry costs 34 francs.",
        "Ferry costs 34 francs",
        "costs 34 francs the ferry",
    ]
    near, turned, brief = Fraction(8, 9), Fraction(8, 10), Fraction(7, 9)
    assert agreements(texts) == [0, (near + turned) / 3, (near + brief) / 3, (turned + brief) / 3]
    assert most_agreed(texts) == (1, pytest.approx(float((near + turned) / 3)))


def test_chinese_is_compared_by_characters():
    """3 characters are shared of 5 and 3, in order; Latin words and numbers among them are words."""
    assert agreements(["我喜欢喝茶。", "我喝茶"]) == [Fraction(6, 8)] * 2
    assert agreements(["坐Ferry要34块", "ferry 34"]) == [Fraction(4, 7)] * 2


def test_two_drafts_agree_with_each_other_alike_so_that_the_first_is_said():
    assert most_agreed(["Good day.", "Good morning to you."])[0] == 0


def test_texts_without_words_are_alike_and_unlike_all_others():
    assert agreements(["", "...", "Yes."]) == [Fraction(1, 2), Fraction(1, 2), 0]


@given(TOKENS.map(" ".join), st.integers(2, 6))
def test_where_all_are_the_same_the_first_is_said(text, count):
    assert most_agreed([text] * count) == (0, 1.0)


@given(TEXTS, st.data())
def test_order_of_the_drawn_ones_changes_only_which_of_those_alike_is_said(texts, data):
    moved = [texts[0], *data.draw(st.permutations(texts[1:]))]
    (one, agreement), (other, again) = most_agreed(texts), most_agreed(moved)
    assert agreement == again
    best = {text for text, found in zip(texts, agreements(texts), strict=True) if found == max(agreements(texts))}
    assert {texts[one], moved[other]} <= best
    assert one == min(place for place, text in enumerate(texts) if text in best)


@given(TOKENS, TOKENS)
def test_similarity_is_the_same_both_ways_and_one_for_equals_alone(one, other):
    assert similarity(one, other) == similarity(other, one)
    assert 0 <= similarity(one, other) <= 1
    assert (similarity(one, other) == 1) == (one == other)


@given(TOKENS, TOKENS)
def test_common_subsequence_is_that_of_the_definition(one, other):
    @lru_cache(None)
    def longest(i, j):
        if i == len(one) or j == len(other):
            return 0
        if one[i] == other[j]:
            return 1 + longest(i + 1, j + 1)
        return max(longest(i + 1, j), longest(i, j + 1))

    assert common_subsequence(one, other) == longest(0, 0)
