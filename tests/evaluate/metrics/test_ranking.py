"""Rankings of evidence: worked examples, the papers' rule of matching, scikit-learn and ranx as references."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from dragoman.core.errors import ConfigError, InputError
from dragoman.core.registry import metrics
from dragoman.core.values import Passage
from dragoman.evaluate.metrics import ranking
from dragoman.evaluate.metrics.ranking import HitRate, Recall, is_contained

flags = st.lists(st.booleans(), min_size=1, max_size=12)


def only(scores):
    return scores.values(np.ones((1, len(scores.counted))))[0]


def test_measures_of_a_ranking_counted_by_hand():
    """Right at places 2 and 4 of 4, three to find, k = 4."""
    right, total = [[False, True, False, True]], [3]
    assert ranking.hit(right, total, 4) == [1.0]
    assert ranking.hit(right, total, 1) == [0.0]
    assert ranking.recall(right, total, 4) == pytest.approx([2 / 3])
    assert ranking.precision(right, total, 4) == pytest.approx([2 / 4])
    assert ranking.reciprocal_rank(right, total, 4) == pytest.approx([1 / 2])
    dcg = 1 / math.log2(3) + 1 / math.log2(5)
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert ranking.ndcg(right, total, 4) == pytest.approx([dcg / ideal])


def test_a_ranking_shorter_than_k_leaves_places_empty():
    assert ranking.precision([[True]], [1], 5) == pytest.approx([0.2])
    assert ranking.ndcg([[True]], [1], 5) == pytest.approx([1.0])
    assert ranking.reciprocal_rank(np.zeros((1, 0), bool), [1], 5) == pytest.approx([0.0])


def test_a_turn_with_nothing_to_find_is_undefined():
    for measure in (ranking.hit, ranking.recall, ranking.precision, ranking.reciprocal_rank, ranking.ndcg):
        assert math.isnan(measure([[True, False]], [0], 2)[0])


@given(flags, st.integers(0, 5), st.integers(1, 15))
def test_measures_are_bounded_and_ordered(right, missed, k):
    total = sum(right) + missed
    values = {name: getattr(ranking, name)([right], [total], k)[0] for name in ("hit", "recall", "precision", "ndcg")}
    values["mrr"] = ranking.reciprocal_rank([right], [total], k)[0]
    if not total:
        assert all(math.isnan(value) for value in values.values())
        return
    assert all(0 <= value <= 1 + 1e-12 for value in values.values())
    assert values["recall"] <= values["hit"]
    assert values["precision"] <= values["hit"]
    assert values["mrr"] <= values["hit"]
    assert ranking.recall([right], [total], k + 1)[0] >= values["recall"]


@given(st.lists(st.booleans(), min_size=2, max_size=12), st.integers(1, 15))
def test_ndcg_equals_scikit_learn(right, k):
    if any(right):
        order = np.arange(len(right), 0, -1)
        expected = ndcg_score([np.array(right, int)], [order], k=k)
        assert ranking.ndcg([right], [sum(right)], k)[0] == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore")  # what numba has to say of ranx
def test_measures_equal_ranx():
    ranx = pytest.importorskip("ranx", reason="ranx is not installed: it needs numba")
    chance = np.random.default_rng(3)
    right = chance.random((60, 10)) < 0.25
    missed = chance.integers(1, 4, 60)
    total = right.sum(axis=1) + missed
    golds, runs = {}, {}
    for row in range(60):
        runs[f"q{row}"] = {f"d{place}": float(20 - place) for place in range(10)}
        golds[f"q{row}"] = {f"d{place}": 1 for place in np.flatnonzero(right[row])}
        golds[f"q{row}"] |= {f"m{i}": 1 for i in range(missed[row])}
    names = {
        "hit_rate": ranking.hit,
        "recall": ranking.recall,
        "precision": ranking.precision,
        "mrr": ranking.reciprocal_rank,
        "ndcg": ranking.ndcg,
    }
    for name, measure in names.items():
        for k in (1, 3, 10):
            expected = ranx.evaluate(ranx.Qrels(golds), ranx.Run(runs), f"{name}@{k}")
            assert measure(right, total, k).mean() == pytest.approx(expected), (name, k)


@pytest.fixture(scope="module")
def turn(judged, found):
    """Gold: persona p1, documents d1 and d2. First found: p2, p1, d1; after refinement: p1, d9."""
    candidates = [Passage(name, "PERSONA", f"persona {name}") for name in ("p1", "p2")]
    candidates += [Passage(name, "DOCUMENTS", f"document {name}") for name in ("d1", "d2", "d9")]
    return judged(
        gold=["p1", "d1", "d2"],
        candidates=candidates,
        retrieved=[found("p2"), found("p1"), found("d1", "DOCUMENTS")],
        evidence=[found("p1"), found("d9", "DOCUMENTS")],
    )


def test_a_source_is_ranked_by_itself(turn):
    assert only(HitRate(source="PERSONA").score([turn])) == 0.0
    assert only(HitRate(source="PERSONA", k=2).score([turn])) == 1.0
    assert only(HitRate(source="DOCUMENTS").score([turn])) == 1.0
    assert only(Recall(source="DOCUMENTS", k=5).score([turn])) == pytest.approx(1 / 2)
    assert only(Recall(k=5).score([turn])) == pytest.approx(2 / 3)


def test_the_first_retrieval_and_what_refinement_left_are_two_rankings(turn):
    assert only(HitRate(source="PERSONA", after="refinement").score([turn])) == 1.0
    assert only(HitRate(source="DOCUMENTS", after="refinement").score([turn])) == 0.0


def test_a_reply_without_retrievals_in_its_trace_is_taken_at_its_evidence(judged, found):
    assert only(HitRate().score([judged(gold=["a"], evidence=[found("a")])])) == 1.0


def test_a_turn_that_asked_nothing_found_nothing(judged):
    assert only(HitRate().score([judged(gold=["a"])])) == 0.0


def test_a_passage_found_twice_counts_once(judged, found):
    turn = judged(gold=["a", "b"], retrieved=[found("a"), found("a"), found("b")])
    assert only(metrics.factory("precision")(k=2).score([turn])) == 1.0


def test_turns_without_gold_evidence_of_the_source_are_not_counted(judged, found):
    passage = Passage("p1", "PERSONA", "x")
    turns = [judged(gold=["p1"], candidates=[passage], evidence=[found("p1")]), judged(gold=[]), judged()]
    assert HitRate().score(turns).counted == [True, False, False]
    assert HitRate(source="DOCUMENTS").score(turns).counted == [False, False, False]


def test_the_papers_rule_takes_a_text_contained_in_the_gold_texts_of_all_sources():
    golds = ["我 喜欢 喝茶", "茶馆在城东"]
    assert is_contained("喜欢喝 茶", golds)
    assert is_contained("茶馆在城东", golds)
    assert is_contained("喝茶，茶馆", golds)  # across the comma that joins them
    assert not is_contained("茶馆在城西", golds)
    assert not is_contained(" ", golds)


def test_matching_by_text_takes_a_copy_with_another_id(judged, found):
    passage = Passage("p1", "PERSONA", "I like tea.")
    turn = judged(gold=["p1"], candidates=[passage], retrieved=[found("copy", text="I like  tea."), found("p1")])
    assert only(HitRate(source="PERSONA").score([turn])) == 0.0
    assert only(HitRate(source="PERSONA", match="text").score([turn])) == 1.0


def test_texts_right_more_often_than_there_are_gold_ones_do_not_exceed_one(judged, found):
    passage = Passage("p1", "PERSONA", "I like tea.")
    copies = [found(str(i), text="tea") for i in range(4)]
    turn = judged(gold=["p1"], candidates=[passage], retrieved=copies)
    for name in ("recall", "ndcg", "mrr", "precision", "hit"):
        assert only(metrics.factory(name)(k=4, match="text").score([turn])) == 1.0


def test_gold_evidence_that_is_no_candidate_is_an_error_naming_the_turn(judged):
    with pytest.raises(InputError, match="Turn 't5': gold evidence 'lost'"):
        HitRate(source="PERSONA").score([judged(name="t5", gold=["lost"])])


def test_by_id_over_all_sources_gold_need_not_be_among_the_candidates(judged, found):
    assert only(HitRate().score([judged(gold=["far"], evidence=[found("far")])])) == 1.0


def test_options_are_checked_and_titles_say_what_was_measured():
    with pytest.raises(ConfigError, match="k is 0"):
        HitRate(k=0)
    with pytest.raises(ConfigError, match="Did you mean 'text'"):
        HitRate(match="texts")
    assert Recall(k=3, source="PERSONA").about.title == "recall@3 PERSONA"
    assert metrics.factory("accuracy-at-1")().about.title == "accuracy@1"
