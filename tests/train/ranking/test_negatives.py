"""Negatives that words find, that vectors find, and how an epoch draws from them."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.train.ranking.negatives import Mined, by_vectors, by_words, draw_negatives, limit_candidates
from dragoman.train.ranking.pairs import RankingPairs, RankingQuestion


def question(name, said, gold, candidates, source="D"):
    every = tuple(candidates)
    return RankingQuestion(name, source, {"turn": said}, said, frozenset(gold), every, every)


TEXTS = ("ferry ticket", "ferry price", "museum ticket", "museum price", "dog", "ferry dog")
PAIRS = RankingPairs(
    (
        question("a", "ferry ticket", {0}, (0, 4)),
        question("b", "museum ticket", {2}, (2, 5)),
        question("c", "ferry", {1}, (1, 3), source="E"),
    ),
    TEXTS,
)


def words(text):
    return tuple(text.split())


def test_words_find_what_shares_them_and_is_not_right():
    found = by_words(PAIRS, words, 5)
    assert set(found[0]) == {2, 5}, "of the texts of its source that share a word with it"
    assert found[1] == (0,)


def test_negatives_stay_inside_their_source():
    assert by_words(PAIRS, words, 5)[2] == (), "the only other text of E shares no word"


def unit(*rows):
    matrix = np.array(rows, dtype=np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


TEXT_VECTORS = unit((1, 0), (0, 1), (0.98, 0.2), (0, 1), (0.7, 0.7), (0.1, 1))
QUERIES = unit((1, 0), (1, 0.2), (0, 1))


def test_vectors_find_the_nearest_that_is_not_right():
    found = by_vectors(PAIRS, QUERIES, TEXT_VECTORS, 2)
    assert found[0] == (2, 4), "0 is right; 1 and 3 are another source's"


def test_what_is_as_near_as_the_right_one_is_left_out():
    assert by_vectors(PAIRS, QUERIES, TEXT_VECTORS, 2, ceiling=0.95)[0] == (4, 5)


def test_vectors_agree_with_a_plain_search():
    """Against every cosine computed one by one."""
    dice = np.random.default_rng(3)
    texts, queries = unit(*dice.normal(size=(30, 4))), unit(*dice.normal(size=(5, 4)))
    found = RankingPairs(tuple(question(str(i), "x", {i}, range(30)) for i in range(5)), tuple(map(str, range(30))))
    mined = by_vectors(found, queries, texts, 7)
    for i in range(5):
        order = sorted((j for j in range(30) if j != i), key=lambda j, i=i: -float(queries[i] @ texts[j]))
        assert mined[i] == tuple(order[:7])


@given(
    gold=st.sets(st.integers(0, 40), min_size=1, max_size=3),
    hard=st.lists(st.integers(0, 60), max_size=20, unique=True),
    own=st.integers(1, 12),
    mined=st.integers(0, 5),
    seed=st.integers(0, 99),
)
def test_a_draw_never_holds_what_is_right_nor_anything_twice(gold, hard, own, mined, seed):
    asked = question("q", "x", gold, range(41))
    mine, others = draw_negatives(asked, hard, own=own, mined=mined, dice=random.Random(seed))
    assert len(mine) == min(own, 41 - len(gold))
    assert len(others) <= mined
    assert not gold & {*mine, *others}
    assert len({*mine, *others}) == len(mine) + len(others)
    again = draw_negatives(asked, hard, own=own, mined=mined, dice=random.Random(seed))
    assert again == (mine, others)


def test_own_candidates_that_look_right_are_drawn_first():
    mine, _ = draw_negatives(question("q", "x", {0}, range(40)), [7, 9, 11], own=4, mined=0, dice=random.Random(1))
    assert mine[:2] == (7, 9)


def test_few_candidates_are_all_taken():
    mine, _ = draw_negatives(question("q", "x", {0}, range(4)), [], own=10, mined=0, dice=random.Random(1))
    assert mine == (1, 2, 3)


def test_what_was_mined_is_read_and_not_mined_again(tmp_path):
    calls = []

    def mine():
        calls.append(1)
        return {3: (5, 7)}

    for _ in range(2):
        assert Mined(tmp_path, {"recipe": "a"}).get(2, mine) == {3: (5, 7)}
    assert len(calls) == 1


def test_what_another_training_mined_is_not_read(tmp_path):
    Mined(tmp_path, {"recipe": "a"}).get(1, lambda: {0: (1,)})
    assert Mined(tmp_path, {"recipe": "b"}).get(1, lambda: {0: (2,)}) == {0: (2,)}


def test_a_damaged_file_is_mined_again(tmp_path):
    mined = Mined(tmp_path, {"recipe": "a"})
    mined.get(1, lambda: {0: (1,)})
    [file] = (tmp_path / "mined").glob("*.json")
    file.write_text("{", encoding="utf-8")
    assert mined.get(1, lambda: {0: (2,)}) == {0: (2,)}


def test_large_sources_are_narrowed_to_what_words_find_and_what_is_right():
    wide = RankingPairs((question("a", "ferry", {4}, range(6)),), TEXTS)
    [asked] = limit_candidates(wide, words, 2).questions
    assert asked.candidates == (0, 1, 4), "two that share the word, and the right one, which does not"
    assert limit_candidates(wide, words, 6) is wide


@pytest.mark.parametrize("count", [0, 1, 3])
def test_no_more_are_found_than_wanted(count):
    assert all(len(found) <= count for found in by_words(PAIRS, words, count).values())
