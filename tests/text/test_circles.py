"""What is said in circles is said once."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.circles import Unwinding, loops, unwound


@pytest.mark.parametrize(
    "text, once",
    [
        ("我爱看电影" + "，看电影可以放松一下心情" * 8 + "，看电影", "我爱看电影，看电影可以放松一下心情"),
        ("我喜欢体育电影" + "，我喜欢看体育电影" * 9, "我喜欢体育电影，我喜欢看体育电影"),
        ("羽毛球" * 20, "羽毛球"),
        ("It has a pool, " * 4 + "It has", "It has a pool"),
        ("It has a pool. " * 4 + "It has", "It has a pool."),
        ("Yes." + " The staff is kind and the rooms are clean." * 3, "Yes. The staff is kind and the rooms are clean."),
        ("The room, the bar are" + " open, the bar are" * 4, "The room, the bar are open"),
        ("It has a bar" + " and it has a pool and it has a bar" * 4, "It has a bar and it has a pool and it"),
        ("So good, " + "so good, " * 5 + "yes it is. But dear.", "So good, so good, yes it is. But dear."),
        ("Well, " + "so it goes, " * 5 + "but breakfast is good.", "Well, so it goes, but breakfast is good."),
        ("abcdefghij" * 3 + "klmnopqrst" * 3, "abcdefghijklmnopqrst"),
    ],
)
def test_circles_are_unwound(text, once):
    assert unwound(text) == once


@pytest.mark.parametrize(
    "text",
    [
        "",
        "哈哈哈哈哈，真的真的真的好吃！",
        "No, no, no, no, no. I meant the other one.",
        "The pool is open. The pool is open until ten. The bar is open until two.",
        "The pool is open until ten. The pool is open until ten. ",
        "-" * 60,
        "|---|" + "---|" * 20,
        "It costs 1" + "0" * 40 + " crowns.",
        "北京市金杜律师事务所，总部设在北京的律师事务所，拥有1000余名律师。",
    ],
)
def test_what_people_may_say_is_left_alone(text):
    assert unwound(text) == text


CIRCLES = st.lists(st.tuples(st.text("abc，. ", max_size=14), st.integers(1, 8)), max_size=5).map(
    lambda rounds: "".join(circle * times for circle, times in rounds)
)


@given(CIRCLES)
def test_nothing_is_added(text):
    assert len(unwound(text)) <= len(text)


@given(CIRCLES, st.integers(1, 60))
def test_pieces_are_the_text_unwound(text, size):
    unwinding = Unwinding()
    told = [unwinding.take(text[place : place + size]) for place in range(0, len(text), size)]
    assert "".join([*told, unwinding.rest()]) == unwound(text)


def test_what_does_not_repeat_is_said_as_it_comes():
    unwinding, text = Unwinding(), "The hostel opens at nine and has a garden by the river."
    heard = 0
    for place, letter in enumerate(text, 1):
        heard += len(unwinding.take(letter))
        assert place - heard <= 6
    assert heard + len(unwinding.rest()) == len(text)


WORDS = st.lists(st.sampled_from(["so", "good,", "yes", "it", "is.", "pool,"]), min_size=1, max_size=4).map(
    lambda words: " ".join(words) + " "
)
NESTED = st.lists(st.tuples(WORDS, st.integers(1, 6), WORDS, st.integers(1, 4)), max_size=3).map(
    lambda found: "".join((inner * often + after) * times for inner, often, after, times in found)
)


@given(NESTED)
def test_words_stand_only_where_they_stood(text):
    def pairs(said):
        words = [word.rstrip(",.") for word in said.split()]
        return set(pairwise(words))

    assert pairs(unwound(text)) <= pairs(text)


@given(st.text("abcd，", max_size=8), st.text("abcd，", max_size=12).map("a".__add__), st.integers(3, 40))
def test_no_circle_is_left(before, circle, rounds):
    text = before + circle * rounds
    assert len(unwound(text)) <= len(before) + max(2 * len(circle), 29)


def test_a_looping_text_is_caught_and_a_normal_one_is_not():
    assert loops("the cat sat on the cat sat on the cat sat on the cat sat")
    assert loops("好的好的好的好的好的好的好的好的")
    assert not loops("The ferry leaves at nine, and the last boat back leaves at six.")
