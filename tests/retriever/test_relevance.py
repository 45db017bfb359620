"""The features by hand, and the model's bounds."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.retriever.relevance import CARRIED, Calibration, Terms, calibration_of, idf, measure

TOKENS = st.lists(st.sampled_from(["ferri", "cost", "9:30", "酒店", "tea", "zebra"]), max_size=6)


def test_coverage_is_the_share_of_idf_that_a_passage_holds():
    terms = Terms.of(["ferri", "cost"], [], 10, {"ferri": 1, "cost": 5})
    rare, common = idf(10, 1), idf(10, 5)
    assert measure(terms, ["ferri"])["coverage"] == pytest.approx(rare / (rare + common))
    assert measure(terms, ["ferri", "cost", "tea"])["coverage"] == pytest.approx(1.0)
    assert measure(terms, ["tea"])["coverage"] == 0.0


def test_a_carried_word_counts_less_and_an_unknown_one_not_at_all():
    terms = Terms.of(["cost"], ["ferri", "zebra"], 10, {"cost": 2, "ferri": 2, "zebra": 0})
    assert measure(terms, ["ferri"])["coverage"] == pytest.approx(CARRIED / (1 + CARRIED))


def test_unseen_is_the_share_of_the_question_that_the_source_lacks():
    terms = Terms.of(["cost", "zebra"], [], 10, {"cost": 5, "zebra": 0})
    assert terms.unseen == pytest.approx(idf(10, 0) / (idf(10, 0) + idf(10, 5)))


def test_sums_are_taken_in_the_order_of_the_query():
    """Sums round by their order: that of a set of words is another in every process."""
    frequencies = {f"word{n}": n % 5 for n in range(60)}
    for size in range(20, 60):
        own = list(frequencies)[:size]
        weights = [idf(1000, frequencies[token]) for token in own]
        missing = [weight for token, weight in zip(own, weights, strict=True) if not frequencies[token]]
        assert Terms.of([*own, *own], [], 1000, frequencies).unseen == sum(missing) / sum(weights)


@pytest.mark.parametrize(("held", "value"), [(["9:30"], 0.5), (["10:30"], -0.5)])
def test_numbers_must_agree(held, value):
    assert measure(Terms.of(["9:30"], [], 3, {}), held)["numbers"] == value


def test_a_question_without_numbers_says_nothing_about_them():
    assert measure(Terms.of(["ferri"], [], 3, {}), ["9:30"])["numbers"] == 0.0


def test_han_characters_are_compared_one_by_one():
    terms = Terms.of(["酒店", "店位"], [], 3, {})
    assert measure(terms, ["酒店"])["characters"] == pytest.approx(2 / 3)
    assert "characters" not in measure(Terms.of(["ferri"], [], 3, {}), ["酒店"])


def test_probability_is_the_logistic_function():
    calibration = Calibration(-1.0, {"coverage": 2.0})
    assert calibration.probability({"coverage": 0.5}) == pytest.approx(0.5)
    assert calibration.probability({"coverage": 1.0}) == pytest.approx(1 / (1 + math.exp(-1)))


@pytest.mark.parametrize("odds", [-1e4, 1e4])
def test_extreme_odds_do_not_overflow(odds):
    assert Calibration(odds, {}).probability({}) in (0.0, 1.0)


@given(own=TOKENS, carried=TOKENS, held=TOKENS, rows=st.integers(0, 50), cosine=st.none() | st.floats(-1, 1))
def test_features_and_relevance_stay_in_bounds(own, carried, held, rows, cosine):
    frequencies = {token: min(rows, i) for i, token in enumerate((*own, *carried))}
    features = measure(Terms.of(own, carried, rows, frequencies), held, cosine)
    assert all(-1.0 <= value <= 1.0 + 1e-9 for value in features.values())
    for chinese in (True, False):
        calibration = calibration_of(chinese=chinese, semantic=cosine is not None)
        assert 0.0 <= calibration.probability(features) <= 1.0


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_a_nearer_passage_is_never_less_relevant(one, other):
    low, high = sorted((one, other))
    calibration = calibration_of(chinese=False, semantic=True)
    assert calibration.probability({"cosine": low}) <= calibration.probability({"cosine": high})
