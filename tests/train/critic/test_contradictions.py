"""Pairs made to contradict each other, and pairs edited alike on both sides."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.claims import numbers
from dragoman.train.critic.contradictions import (
    EDITS,
    NamePools,
    Pair,
    contradicted,
    echoed,
    shared_names,
    word_overlap,
)

FERRY = Pair("Ferry\nA ticket costs 34 francs.", "A ticket costs 34 francs, I believe.", "Ferry")
HOTEL = Pair(
    "ASHLEY HOTEL\nThe rooms are clean and quiet.", "The rooms at the Ashley Hotel are spotless.", "ASHLEY HOTEL"
)
OTHER = Pair("GONVILLE\nThe view is great.", "The Gonville has a great view.", "GONVILLE")
SHOW = Pair("十三邀的制作公司是腾讯公司", "《十三邀》是腾讯公司制作的")
SHOW_TOO = Pair("开讲啦的制作公司是中央电视台", "《开讲啦》是中央电视台制作的")
PAIRS = (FERRY, HOTEL, OTHER, SHOW, SHOW_TOO)
KNOWN = NamePools.of(PAIRS)


def made(pair, edit, seed=1):
    return contradicted(pair, edit, KNOWN, random.Random(seed))


def test_a_shared_number_is_changed_on_one_side_only():
    found = made(FERRY, "number")
    sides = {"34" in numbers(found.grounding), "34" in numbers(found.reply)}
    assert sides == {True, False}


def test_a_number_that_only_one_side_has_is_left_alone():
    assert made(Pair("A ticket costs 34 francs.", "A ticket is not cheap."), "number") is None


def test_a_single_one_counts_nothing():
    assert made(Pair("我是一个幽默的人", "我是一个有意思的人"), "number") is None


def test_a_title_is_exchanged_for_another_title_of_the_set():
    found = made(HOTEL, "name")
    assert "gonville" in (found.grounding + found.reply).casefold()
    assert ("ashley hotel" in found.grounding.casefold()) != ("ashley hotel" in found.reply.casefold())


def test_the_value_of_a_fact_is_exchanged_for_another_value_of_the_same_kind():
    texts = {made(SHOW, "name", seed).grounding + made(SHOW, "name", seed).reply for seed in range(20)}
    assert any("中央电视台" in text for text in texts)
    assert any("开讲啦" in text for text in texts)


def test_names_that_stand_on_both_sides_are_found_with_their_kinds():
    assert ("title", "ASHLEY HOTEL") in shared_names(HOTEL)
    assert ("value of 制作公司", "腾讯公司") in shared_names(SHOW)
    assert ("subject of 制作公司", "十三邀") in shared_names(SHOW)


def test_words_of_many_titles_name_nothing():
    pairs = [
        Pair(f"{name} HOTEL\nFine.", f"The {name.title()} Hotel is fine.", f"{name} HOTEL")
        for name in ("A1", "BEE", "SEA")
    ]
    assert "hotel" in NamePools.of(pairs).common


def test_a_sentence_is_denied_where_the_other_side_says_the_same():
    found = made(Pair("The rooms are clean.", "The rooms are clean. Shall I book?"), "negation")
    assert " not " in found.grounding + found.reply
    assert found.reply.endswith("Shall I book?")


def test_a_sentence_about_something_else_is_not_denied():
    assert made(Pair("我喜欢看十三邀", "这个节目是腾讯公司制作的"), "negation") is None


def test_a_word_is_opposed_where_the_other_side_means_as_much():
    found = made(HOTEL, "opposite")
    assert found is not None
    assert any(word in found.grounding + found.reply for word in ("dirty", "messy", "filthy", "unclean"))
    assert made(Pair("The rooms are clean.", "Breakfast is at nine."), "opposite") is None


def test_several_pieces_are_denied_in_the_reply_alone_and_not_where_they_disagree():
    pieces = Pair("The rooms are clean. The rooms were tidy.", "The rooms are clean.", pieces=2)
    for seed in range(8):
        assert made(pieces, "negation", seed).grounding == pieces.grounding
    torn = Pair("The rooms are clean. The rooms were dirty.", "The rooms are clean.", pieces=2)
    assert made(torn, "negation") is None
    assert made(torn, "opposite") is None


def test_an_echo_edits_both_sides_alike():
    found = echoed(FERRY, KNOWN, random.Random(1))
    assert (found.grounding, found.reply) != (FERRY.grounding, FERRY.reply)
    assert numbers(found.grounding) & numbers(found.reply) or "ferry" not in found.grounding.casefold()


def test_a_pair_without_anything_in_common_has_no_echo():
    assert echoed(Pair("I keep bees.", "Boats leave at ten."), KNOWN, random.Random(1)) is None


@pytest.mark.parametrize(
    ("sentence", "share"), [("The rooms are clean", 1.0), ("The rooms are cold", 0.5), ("the", 0.0)]
)
def test_the_share_of_a_sentence_is_counted_over_its_words(sentence, share):
    assert word_overlap(sentence, "Clean rooms, and a view.") == share


@given(st.sampled_from(PAIRS), st.sampled_from(EDITS), st.integers(0, 50))
def test_an_edit_changes_exactly_one_side_and_repeats_itself(pair, edit, seed):
    found = made(pair, edit, seed)
    assert found == made(pair, edit, seed)
    if found is not None:
        assert (found.grounding != pair.grounding) != (found.reply != pair.reply)
