from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from dragoman.core.errors import InputError
from dragoman.evaluate.judging.agreement import cohen_kappa, fleiss_kappa, interval, percentage_agreement

tables = st.integers(2, 5).flatmap(
    lambda raters: st.lists(
        st.lists(st.integers(1, 3), min_size=raters, max_size=raters), min_size=2, max_size=12
    ).filter(lambda rows: len({answer for row in rows for answer in row}) > 1)
)


def test_fleiss_kappa_by_hand():
    # three annotators, four items: 111, 110, 100, 000. Pairs agreeing: 3 + 1 + 1 + 3 of 12, P = 2/3.
    # Ones are 6 of 12, so Pe = 1/4 + 1/4 = 1/2 and kappa = (2/3 - 1/2) / (1/2) = 1/3
    ratings = [[1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert percentage_agreement(ratings) == pytest.approx(2 / 3)
    assert fleiss_kappa(ratings) == pytest.approx(1 / 3)


def test_cohen_kappa_by_hand():
    # they agree on three of four; the first says yes in 2/4, the second in 3/4: Pe = 6/16 + 2/16 = 1/2
    assert cohen_kappa([1, 1, 0, 0], [1, 1, 1, 0]) == pytest.approx((3 / 4 - 1 / 2) / (1 / 2))


@given(tables)
def test_fleiss_kappa_is_that_of_statsmodels(ratings):
    library = pytest.importorskip("statsmodels.stats.inter_rater", reason="statsmodels is not installed")
    counts, _ = library.aggregate_raters(np.array(ratings))
    assert fleiss_kappa(ratings) == pytest.approx(library.fleiss_kappa(counts, method="fleiss"))


@given(tables)
def test_cohen_kappa_is_that_of_scikit_learn(ratings):
    one, two = [row[0] for row in ratings], [row[1] for row in ratings]
    if len({*one, *two}) > 1:
        assert cohen_kappa(one, two) == pytest.approx(cohen_kappa_score(one, two))


@given(tables)
def test_kappa_is_never_above_one_and_is_one_where_all_agree(ratings):
    assert fleiss_kappa(ratings) <= 1
    unanimous = [[row[0]] * len(row) for row in ratings]
    if len({row[0] for row in ratings}) > 1:
        assert fleiss_kappa(unanimous) == pytest.approx(1)
        assert percentage_agreement(unanimous) == 1


@given(tables, st.randoms())
def test_the_order_of_annotators_does_not_matter_to_fleiss(ratings, random):
    mixed = [random.sample(row, len(row)) for row in ratings]
    assert fleiss_kappa(mixed) == pytest.approx(fleiss_kappa(ratings))


def test_where_all_gave_one_answer_kappa_is_not_defined():
    assert math.isnan(fleiss_kappa([[1, 1], [1, 1]]))
    assert math.isnan(cohen_kappa([1, 1], [1, 1]))
    assert percentage_agreement([[1, 1], [1, 1]]) == 1


def test_nobody_to_agree_with():
    assert math.isnan(fleiss_kappa([[1], [0]]))
    assert math.isnan(fleiss_kappa([]))
    assert math.isnan(percentage_agreement([]))
    assert math.isnan(cohen_kappa([], []))


def test_items_judged_by_different_numbers_are_refused():
    with pytest.raises(InputError, match="1 to 2 annotators"):
        fleiss_kappa([[1, 1], [0]])
    with pytest.raises(InputError):
        cohen_kappa([1], [1, 0])


def test_the_interval_of_a_mean_holds_it_and_is_the_same_each_time():
    numbers = [0.0] * 30 + [1.0] * 70
    low, high = interval(numbers)
    assert (low, high) == interval(numbers)
    # the normal interval is .7 -+ 1.96 * sqrt(.21 / 100)
    assert low == pytest.approx(0.61, abs=0.02)
    assert high == pytest.approx(0.79, abs=0.02)
    assert interval([2.0, 2.0]) == (2.0, 2.0)
    assert all(math.isnan(bound) for bound in interval([]))
