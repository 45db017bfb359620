"""Labels without a trained model: rounding, hard labels, TF-IDF and BM25, each with an example by hand."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import InputError, ModelError
from dragoman.train.relevance.candidate_pools import turn_to_label
from dragoman.train.relevance.methods import TENTHS, HardLabels, LexicalLabels, shares, tenth


@pytest.fixture
def toys(load_beside):
    return load_beside("relevance_toys")


@pytest.mark.parametrize(
    ("relevance", "label"),
    [
        *[(0.0, 0.0), (0.04, 0.0), (0.05, 0.1), (0.149, 0.1), (0.15, 0.2), (0.25, 0.3), (0.5, 0.5), (0.949, 0.9)],
        *[(0.95, 1.0), (1.0, 1.0), (1.0000001, 1.0), (-0.0000001, 0.0)],
    ],
)
def test_rounding_by_hand_half_goes_up(relevance, label):
    assert tenth(relevance) == label


@given(st.floats(0, 1))
def test_a_label_is_the_nearest_of_eleven(relevance):
    label = tenth(relevance)
    assert label in TENTHS
    assert abs(label - relevance) <= min(abs(other - relevance) for other in TENTHS) + 1e-12
    assert f"{label}" == f"{label:.1f}", "it is written with one digit"


@given(st.floats(0, 1), st.floats(0, 1))
def test_rounding_keeps_the_order(one, other):
    assert tenth(min(one, other)) <= tenth(max(one, other))


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -0.1, 1.1])
def test_what_is_no_relevance_is_refused(wrong):
    with pytest.raises(ModelError, match="not between 0 and 1"):
        tenth(wrong)


def test_hard_labels_are_the_evidence(toys):
    persona, documents = HardLabels().judge(turn_to_label(toys.turn(), "plan").pools)
    assert (persona, documents) == ([1.0, 0.0], [0.0, 1.0, 0.0])


def test_hard_labels_need_evidence(toys):
    with pytest.raises(InputError, match=r"d0#1.*does not say"):
        HardLabels().judge(turn_to_label(toys.turn(evidence=None), "plan").pools)


def test_tfidf_by_hand(toys):
    """Question "grow tea"; documents of 4 tokens, "tea" in two of three, "sea" in one, the dot in all.

    idf of a token in n of 3 rows: 1 + ln(4 / (1 + n)), of one in none: 1 + ln 4.
    """
    turn = toys.turn(text="grow tea")
    (documents,) = LexicalLabels("tfidf", language="en", query="last").judge([turn_to_label(turn, "plan").pools[1]])
    once, twice, all_, never = (1 + math.log(4 / (1 + n)) for n in (1, 2, 3, 0))
    # "tea is a drink ." : tea and is are in two rows, a and drink in one, the dot in all three
    first = twice * twice / (math.hypot(twice, twice, once, once, all_) * math.hypot(never, twice))
    second = twice * twice / (math.hypot(twice, once, once, once, all_) * math.hypot(never, twice))
    assert documents == pytest.approx([first, second, 0.0])


def test_bm25_is_the_share_of_the_best_by_hand():
    assert shares([2.0, 1.0, 0.0, -1.0]) == [1.0, 0.5, 0.0, 0.0]
    assert shares([0.0, -1.0]) == [0.0, 0.0]
    assert shares([]) == []


@given(st.lists(st.floats(-1e6, 1e6)))
def test_shares_are_relevances_and_keep_the_order(scores):
    found = shares(scores)
    assert all(0 <= share <= 1 for share in found)
    order = sorted(range(len(scores)), key=lambda place: scores[place])
    assert all(found[low] <= found[high] for low, high in pairwise(order))


def test_bm25_finds_what_shares_rare_words(toys):
    turn = toys.turn(text="Which hills does it grow on?")
    _, documents = LexicalLabels("bm25", language="en").judge(turn_to_label(turn, "plan").pools)
    assert documents == [0.0, 1.0, 0.0]


def test_chinese_is_cut_into_words():
    assert LexicalLabels("bm25", language="zh-CN").about["cut"] == "jieba"
    assert LexicalLabels("bm25", language="en").about["cut"] == "words"


class TestPools:
    def test_the_sources_of_the_plan_or_all(self, toys):
        assert [pool.source.name for pool in turn_to_label(toys.turn(plan=("PERSONA",)), "plan").pools] == ["PERSONA"]
        assert [pool.source.name for pool in turn_to_label(toys.turn(plan=()), "all").pools] == ["PERSONA", "DOCUMENTS"]
        assert turn_to_label(toys.turn(plan=()), "plan") is None

    def test_a_dependent_source_is_given_the_right_parent(self, toys):
        persona, documents = turn_to_label(toys.turn(), "plan").pools
        assert [piece.id for piece in documents.given] == ["tea"]
        assert persona.given == ()

    def test_a_parent_is_given_also_where_it_is_not_evidence_itself(self, toys):
        documents = turn_to_label(toys.turn(evidence=("sea-1",)), "plan").pools[1]
        assert [piece.id for piece in documents.given] == ["sea"]

    def test_the_hash_hangs_on_dialogue_candidates_plan_and_evidence(self, toys):
        same = turn_to_label(toys.turn(), "plan").sha256
        assert turn_to_label(toys.turn(number=3), "plan").sha256 == same, "not on the name of the turn"
        others = [toys.turn(text="Else?"), toys.turn(evidence=("tea",)), toys.turn(plan=("PERSONA",))]
        assert len({same, *(turn_to_label(other, "plan").sha256 for other in others)}) == 4
        assert (
            turn_to_label(toys.turn(plan=("PERSONA",)), "all").sha256
            != turn_to_label(toys.turn(plan=("PERSONA",)), "plan").sha256
        )
