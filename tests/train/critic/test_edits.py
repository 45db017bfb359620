"""Edits of texts: worked examples by hand, and what always holds."""

import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dragoman.text.claims import numbers
from dragoman.train.critic.edits import (
    change_number,
    exchange_name,
    has_name,
    negate,
    number_places,
    oppose,
    opposites,
    other_number,
    torn,
)

WORDS = st.sampled_from(
    "room clean is the ferry not offers we love old open 34 two rooms Monday 喜欢 我 有 三个 不是".split()
)
TEXTS = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)


@pytest.mark.parametrize(
    ("text", "old", "new", "edited"),
    [
        ("It has two rooms, 34 francs each.", "34", "36", "It has two rooms, 36 francs each."),
        ("It has two rooms, 34 francs each.", "2", "3", "It has three rooms, 34 francs each."),
        ("Two rooms.", "2", "5", "Five rooms."),
        ("Open from 9:30 on.", "9:30", "7:30", "Open from 7:30 on."),
        ("It was printed in 1908.", "1908", "1912", "It was printed in 1912."),
        ("出版时间是1908年", "1908", "1892", "出版时间是1892年"),
        ("我有三个哥哥", "3", "12", "我有十二个哥哥"),
        ("Rooms 1,200 and 34.", "1200", "700", "Rooms 700 and 34."),
    ],
)
def test_a_number_is_changed_in_its_own_spelling(text, old, new, edited):
    assert change_number(text, old, new) == edited


@pytest.mark.parametrize("text", ["No number here.", "Twenty-two rooms.", "Room 134."])
def test_a_number_that_does_not_stand_there_cannot_be_changed(text):
    assert change_number(text, "34", "36") is None
    assert number_places(text, "34") == []


def test_a_number_that_would_stay_in_another_spelling_is_changed_there_too():
    assert change_number("34 francs, I said 34.", "34", "40") == "40 francs, I said 40."


@given(TEXTS, st.integers(2, 3000), st.integers(2, 3000))
def test_a_changed_number_is_gone_and_the_new_one_is_there(text, old, new):
    assume(str(old) not in numbers(text))  # "two two" says 4 in words that no place alone says
    text = f"{text} {old} francs"
    edited = change_number(text, str(old), str(new))
    assert (edited is None) == (old == new)
    if edited is not None:
        assert str(old) not in numbers(edited)
        assert str(new) in numbers(edited)


@given(st.from_regex(r"[1-9]\d{0,4}(\.[1-9])?|([1-9]|1\d|2[0-3]):[0-5]\d", fullmatch=True), st.integers(0, 99))
def test_another_number_is_another_and_reads_as_one(number, seed):
    other = other_number(number, random.Random(seed))
    assert other != number
    assert numbers(other) == {other}


def test_a_name_is_exchanged_everywhere_and_keeps_its_case():
    assert (
        exchange_name("THE ASHLEY. We like the Ashley.", "Ashley", "Gonville") == "THE GONVILLE. We like the Gonville."
    )
    assert exchange_name("At the gonville hotel", "GONVILLE HOTEL", "ACORN HOUSE") == "At the Acorn House"
    assert exchange_name("我喜欢《十三邀》", "十三邀", "开讲啦") == "我喜欢《开讲啦》"


def test_a_part_of_a_word_is_no_name():
    assert not has_name("The Ashleys are here.", "Ashley")
    assert exchange_name("The Ashleys are here.", "Ashley", "Acorn") is None


@given(TEXTS, WORDS, WORDS)
def test_an_exchange_changes_the_text_or_gives_nothing(text, old, new):
    edited = exchange_name(text, old, new)
    assert edited is None or (edited != text and has_name(edited, new) and not has_name(edited, old))


@pytest.mark.parametrize(
    ("sentence", "denied"),
    [
        ("The room is clean.", "The room is not clean."),
        ("It offers free parking.", "It does not offer free parking."),
        ("Guests loved the view.", "Guests did not love the view."),
        ("I like tea.", "I do not like tea."),
        ("It has a pool.", "It does not have a pool."),
        ("They have been friendly.", "They have not been friendly."),
        ("我喜欢猫", "我不喜欢猫"),
        ("他的职业是歌手", "他的职业不是歌手"),
        ("那里有很多古迹", "那里没有很多古迹"),
        ("我去过西安", "我没去过西安"),
    ],
)
def test_a_sentence_is_denied_and_denied_twice_it_is_itself(sentence, denied):
    assert negate(sentence) == denied
    assert negate(denied) == sentence


@pytest.mark.parametrize(
    ("denied", "plain"),
    [
        ("The room isn't clean.", "The room is clean."),
        ("We don’t serve alcohol.", "We serve alcohol."),
        ("There is no parking.", "There is parking."),
        ("Can't say.", "Can say."),
    ],
)
def test_a_denial_is_taken_out(denied, plain):
    assert negate(denied) == plain


@pytest.mark.parametrize("text", ["Nothing was bad.", "Good morning!", "会议室很大", "湖南卫视呀", "所有人"])
def test_what_cannot_be_denied_clearly_is_left_alone(text):
    assert negate(text) is None


@given(TEXTS)
def test_a_denial_always_changes_the_text(text):
    assert negate(text) != text


@given(
    st.sampled_from(["The room", "The ferry", "My sister"]),
    st.sampled_from(["is", "was", "can", "will"]),
    st.sampled_from(["clean", "old", "open late"]),
)
def test_denying_twice_gives_a_simple_sentence_back(subject, helper, rest):
    sentence = f"{subject} {helper} {rest}."
    denied = negate(sentence)
    assert denied is not None
    assert negate(denied) == sentence


def test_opposite_words_are_found_with_what_means_as_much_and_what_they_exclude():
    [clean, monday] = opposites("The rooms were Clean on Monday.")
    assert clean.word == "clean" and "tidy" in clean.alike and "dirty" in clean.others
    assert monday.alike == ("monday",) and "sunday" in monday.others
    [sign] = opposites("我是狮子座")
    assert sign.word == "狮子座" and "处女座" in sign.others


def test_a_word_is_replaced_by_its_opposite():
    assert oppose("The rooms are clean.", "clean", "dirty") == "The rooms are dirty."


@given(TEXTS)
def test_an_opposite_is_never_among_what_means_as_much(text):
    for entry in opposites(text):
        assert entry.word in [word.casefold() for word in entry.alike]
        assert not set(entry.alike) & set(entry.others)


def test_reviews_that_disagree_are_torn():
    assert torn("The room was spotless. The bath was filthy.")
    assert not torn("The room was spotless and tidy.")


@given(TEXTS, st.integers(0, 9))
def test_every_edit_is_the_same_each_time(text, seed):
    assume(numbers(text))
    number = sorted(numbers(text))[0]
    assert other_number(number, random.Random(seed)) == other_number(number, random.Random(seed))
    assert negate(text) == negate(text)
