"""Intervals and tests: scipy and statsmodels as references, coverage by simulation, awkward scores."""

import math
import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.effort import lines_of

from dragoman.core.errors import ConfigError, InputError
from dragoman.evaluate import significance
from dragoman.evaluate.contract import Scores, folded_scores, mean_scores, quotient
from dragoman.evaluate.significance import (
    Comparison,
    Draws,
    compare,
    holm,
    interval,
    mcnemar,
    paired,
    value,
    wilcoxon,
)

CHANCE = np.random.default_rng(7)
NUMBERS = CHANCE.normal(1.0, 2.0, 200)
ALONE = [str(i) for i in range(200)]


def test_draws_count_dialogues_not_turns():
    draws = Draws.of(["a", "a", "b", "c"], count=500, seed=1)
    weights = np.vstack(list(draws))
    assert weights.shape == (500, 4)
    assert (weights[:, 0] == weights[:, 1]).all()
    assert (weights[:, [0, 2, 3]].sum(axis=1) == 3).all()
    assert weights[:, [0, 2, 3]].mean() == pytest.approx(1.0)


def test_draws_are_the_same_for_the_same_seed_alone():
    first, again, other = (np.vstack(list(Draws.of(ALONE, count=50, seed=seed))) for seed in (3, 3, 4))
    assert (first == again).all()
    assert (first != other).any()


def test_large_sets_are_drawn_in_parts_and_never_kept(monkeypatch):
    whole = np.vstack(list(Draws.of(ALONE, count=40)))
    monkeypatch.setattr(significance, "_CELLS_AT_ONCE", 1500)
    monkeypatch.setattr(significance, "_CELLS_KEPT", 3000)
    draws = Draws.of(ALONE, count=40)
    parts = list(draws)
    assert [len(part) for part in parts] == [7, 7, 7, 7, 7, 5]
    assert (np.vstack(parts) == np.vstack(list(draws))).all()
    assert "_kept" not in vars(draws)
    assert (np.vstack(parts) == whole).all()


def test_small_sets_are_drawn_once_and_cannot_be_changed():
    draws = Draws.of(ALONE, count=10)
    weights = next(iter(draws))
    assert next(iter(draws)) is weights
    with pytest.raises(ValueError, match="read-only"):
        weights[0, 0] = 9


def test_interval_of_a_mean_agrees_with_scipy():
    found = interval(mean_scores(NUMBERS), Draws.of(ALONE, count=4000))
    reference = stats.bootstrap((NUMBERS,), np.mean, n_resamples=4000, method="percentile", rng=1)
    low, high = reference.confidence_interval
    tolerance = 0.15 * reference.standard_error
    assert found.value == pytest.approx(NUMBERS.mean())
    assert found.low == pytest.approx(low, abs=tolerance)
    assert found.high == pytest.approx(high, abs=tolerance)
    assert found.error == pytest.approx(reference.standard_error, rel=0.05)
    assert (found.n, found.undefined) == (200, 0)


def test_turns_of_one_dialogue_widen_the_interval():
    """Four equal turns a dialogue carry as much as one: the error is that of 50 dialogues, twice that of 200 turns."""
    repeated = mean_scores(np.repeat(NUMBERS[:50], 4))
    by_dialogue = interval(repeated, Draws.of(np.repeat(ALONE[:50], 4).tolist(), count=2000))
    by_turn = interval(repeated, Draws.of(ALONE, count=2000))
    assert by_dialogue.error == pytest.approx(interval(mean_scores(NUMBERS[:50]), Draws.of(ALONE[:50])).error, rel=0.1)
    assert by_dialogue.error == pytest.approx(2 * by_turn.error, rel=0.1)


def test_a_higher_level_gives_a_wider_interval():
    draws = Draws.of(ALONE)
    narrow, wide = (interval(mean_scores(NUMBERS), draws, level=level) for level in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.value < narrow.high < wide.high


def test_a_level_outside_the_unit_interval_is_refused():
    with pytest.raises(ConfigError, match="level 95"):
        interval(mean_scores(NUMBERS), Draws.of(ALONE), level=95)


def test_draws_with_nothing_to_count_are_left_out_and_counted():
    numbers = np.full(10, np.nan)
    numbers[:2] = 1.0, 3.0
    found = interval(mean_scores(numbers), Draws.of(ALONE[:10], count=1000))
    assert (found.value, found.n) == (2.0, 2)
    assert 0 < found.undefined < 300  # (8/10)^10 of them, about 107
    assert (found.low, found.high) == (1.0, 3.0)


def test_a_set_without_a_turn_that_counts_is_an_error_that_names_the_metric():
    nothing = mean_scores(np.full(3, np.nan))
    for call in (interval, lambda scores, draws, name: paired(scores, scores, draws, name=name)):
        with pytest.raises(InputError, match="plan F1 Both: none of the 3 turns counts"):
            call(nothing, Draws.of(["a", "b", "c"]), name="plan F1 Both")
    with pytest.raises(InputError, match="none of the 0 turns"):
        value(mean_scores(np.zeros(0)))


def test_a_metric_undefined_on_turns_that_count_is_a_hole_and_no_error():
    undefined = folded_scores(np.zeros((5, 2)), lambda sums: quotient(sums[:, 0], sums[:, 1]))
    draws = Draws.of(ALONE[:5], count=20)
    found = interval(undefined, draws)
    assert math.isnan(found.value)
    assert math.isnan(found.low)
    assert found.undefined == 20
    assert math.isnan(paired(undefined, mean_scores(np.ones(5)), draws).p)


def test_scores_of_other_turns_are_refused():
    with pytest.raises(InputError, match="Scores of 3 turns do not fit draws of 200"):
        interval(mean_scores(np.ones(3)), Draws.of(ALONE))


def test_the_paired_difference_of_a_system_with_itself_is_none():
    found = paired(mean_scores(NUMBERS), mean_scores(NUMBERS), Draws.of(ALONE))
    assert (found.difference, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)


def test_a_constant_gain_has_the_smallest_p_that_the_draws_can_show():
    found = paired(mean_scores(NUMBERS), mean_scores(NUMBERS + 0.1), Draws.of(ALONE, count=999))
    assert found.difference == pytest.approx(0.1)
    assert found.low == pytest.approx(0.1)
    assert found.p == pytest.approx(2 / 1000)


def test_paired_p_agrees_with_the_t_test_and_a_permutation_test_on_means():
    gains = CHANCE.normal(0.25, 1.5, 200)
    found = paired(mean_scores(NUMBERS), mean_scores(NUMBERS + gains), Draws.of(ALONE, count=5000))
    expected = stats.ttest_rel(NUMBERS + gains, NUMBERS).pvalue
    permuted = stats.permutation_test((gains,), np.mean, permutation_type="samples", n_resamples=5000, rng=2).pvalue
    assert found.p == pytest.approx(expected, abs=0.02)
    assert found.p == pytest.approx(permuted, abs=0.02)


def test_swapping_the_systems_turns_the_difference_and_keeps_p():
    a, b, draws = mean_scores(NUMBERS), mean_scores(NUMBERS[::-1].copy()), Draws.of(ALONE)
    one, other = paired(a, b, draws), paired(b, a, draws)
    assert one.p == other.p
    assert (one.difference, one.low) == (-other.difference, pytest.approx(-other.high))


def test_wilcoxon_equals_scipy_without_turns_that_only_one_speaks_of():
    a = NUMBERS.copy()
    b = a + CHANCE.normal(0.2, 1, 200)
    a[0], b[1] = np.nan, np.nan
    b[2] = a[2]
    found = wilcoxon(a, b)
    assert found.n == 197
    assert found.p == pytest.approx(stats.wilcoxon(a[3:], b[3:]).pvalue)


def test_wilcoxon_of_equal_turns_is_one_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert wilcoxon(NUMBERS, NUMBERS).p == 1.0
        assert wilcoxon(np.full(3, np.nan), np.ones(3)).p == 1.0
        assert wilcoxon(np.zeros(1), np.ones(1)).p == 1.0


def test_mcnemar_of_an_example_counted_by_hand():
    """Five turns to right, one to wrong: 2 (C(6,0) + C(6,1)) / 2^6 = 14/64."""
    a = np.array([0, 0, 0, 0, 0, 1, 1, 1, 0], float)
    b = np.array([1, 1, 1, 1, 1, 0, 1, 1, 0], float)
    found = mcnemar(a, b)
    assert found.p == pytest.approx(14 / 64)
    assert (found.n, found.statistic) == (6, 1.0)
    assert mcnemar(a, a).p == 1.0


@given(st.integers(0, 30), st.integers(0, 30))
def test_mcnemar_is_twice_the_smaller_tail_of_fair_coins(gained, lost):
    a = np.array([0.0] * gained + [1.0] * lost + [1.0])
    b = np.array([1.0] * gained + [0.0] * lost + [1.0])
    tail = sum(math.comb(gained + lost, i) for i in range(min(gained, lost) + 1)) / 2 ** (gained + lost)
    assert mcnemar(a, b).p == pytest.approx(min(1.0, 2 * tail))


@pytest.mark.slow  # statsmodels takes seconds to import
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_mcnemar_equals_statsmodels(pairs):
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    a, b = np.array(pairs, float).T
    table = [[sum((a == i) & (b == j)) for j in (0, 1)] for i in (0, 1)]
    assert mcnemar(a, b).p == pytest.approx(tables.mcnemar(table, exact=True).pvalue)


def test_mcnemar_refuses_values_that_are_no_decisions():
    with pytest.raises(InputError, match="0 and 1"):
        mcnemar(np.array([0.5]), np.array([1.0]))


def test_holm_of_an_example_counted_by_hand():
    """.01 x 4; .02 x 3; .03 x 2 is no less than it; .9."""
    assert holm([0.02, 0.9, 0.01, 0.03]) == pytest.approx([0.06, 0.9, 0.04, 0.06])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_is_the_closure_of_bonferroni(ps):
    """A hypothesis goes when every set of hypotheses that holds it goes by Bonferroni."""
    places = range(len(ps))
    sets = [chosen for size in places for chosen in combinations(places, size + 1)]
    by_set = {chosen: min(1.0, len(chosen) * min(ps[i] for i in chosen)) for chosen in sets}
    assert holm(ps) == pytest.approx([max(by_set[chosen] for chosen in sets if i in chosen) for i in places])


@pytest.mark.slow
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_equals_statsmodels(ps):
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    assert holm(ps) == pytest.approx(multitest.multipletests(ps, method="holm")[1].tolist())


def test_holm_keeps_holes_and_does_not_count_them():
    adjusted = holm([0.01, float("nan"), 0.04])
    assert adjusted[0] == pytest.approx(0.02)
    assert math.isnan(adjusted[1])
    assert adjusted[2] == pytest.approx(0.04)
    assert holm([]) == []


def test_compare_picks_the_tests_that_apply():
    draws = Draws.of(ALONE, count=200)
    right, better = (CHANCE.random((2, 200)) < [[0.5], [0.7]]).astype(float)
    decided = compare(mean_scores(right), mean_scores(better), draws)
    assert decided.tests.keys() == {"paired bootstrap", "mcnemar"}
    graded = compare(mean_scores(NUMBERS), mean_scores(NUMBERS + 1), draws)
    assert graded.tests.keys() == {"paired bootstrap", "wilcoxon"}
    whole = Scores([True] * 200, lambda weights: weights @ NUMBERS)
    assert compare(whole, whole, draws).tests == {"paired bootstrap": 1.0}
    assert isinstance(decided, Comparison)
    assert decided.p == decided.paired.p


def test_the_test_over_turns_may_be_chosen_for_a_whole_column():
    """A system whose values happen to be 0 and 1 is compared as the others of its column are."""
    draws = Draws.of(ALONE, count=200)
    right, better = (CHANCE.random((2, 200)) < [[0.5], [0.7]]).astype(float)
    graded = compare(mean_scores(right), mean_scores(better), draws, decisions=False)
    assert graded.tests.keys() == {"paired bootstrap", "wilcoxon"}
    assert graded.tests["wilcoxon"] == wilcoxon(right, better).p


def test_one_dialogue_says_nothing_about_others():
    scores, better = mean_scores(np.array([0.0, 1.0, np.nan])), mean_scores(np.array([1.0, 1.0, np.nan]))
    draws = Draws.of(["a", "a", "b"], count=1000)  # the turn of b does not count
    found, difference = interval(scores, draws), paired(scores, better, draws)
    assert found.value == 0.5
    assert all(math.isnan(number) for number in (found.low, found.high, found.error))
    assert (difference.difference, difference.p) == (0.5, 1.0)
    assert all(math.isnan(number) for number in (difference.low, difference.high, difference.error))


@pytest.mark.parametrize("dialogues", [2, 3, 6, 9])
def test_p_is_never_less_than_a_sign_test_could_find_over_so_few_dialogues(dialogues):
    """Every dialogue gains: its sign was as likely the other one, 2 / 2^n."""
    gains = np.linspace(0.1, 0.5, dialogues)
    draws = Draws.of(ALONE[:dialogues], count=2000)
    found = paired(mean_scores(np.zeros(dialogues)), mean_scores(gains), draws)
    expected = stats.permutation_test((gains,), np.sum, permutation_type="samples").pvalue
    assert found.p == pytest.approx(max(expected, 2 / 2001))


@pytest.mark.slow
def test_intervals_cover_the_truth_about_as_often_as_they_say():
    """40 dialogues of 1 to 6 turns that share an effect; by dialogue about 95 %, by turn far fewer."""
    chance = np.random.default_rng(11)
    by_dialogue = by_turn = 0
    runs = 300
    for run in range(runs):
        sizes = chance.integers(1, 7, 40)
        numbers = np.repeat(chance.normal(0, 1, 40), sizes) + chance.normal(0, 0.3, sizes.sum())
        names = np.repeat(np.arange(40), sizes).astype(str).tolist()
        scores = mean_scores(numbers)
        one = interval(scores, Draws.of(names, count=400, seed=run))
        other = interval(scores, Draws.of([str(i) for i in range(len(names))], count=400, seed=run))
        by_dialogue += one.low <= 0 <= one.high
        by_turn += other.low <= 0 <= other.high
    assert 0.90 <= by_dialogue / runs <= 0.98
    assert by_turn / runs < 0.85


def test_ten_thousand_turns_are_drawn_and_folded_and_none_is_gone_through_one_by_one():
    names = [str(i // 5) for i in range(10_000)]
    counts = (CHANCE.random((10_000, 4)) < 0.3).astype(float)
    scores = folded_scores(counts, lambda sums: quotient(2 * sums[:, 0], sums.sum(axis=1)))
    draws = Draws.of(names)
    list(draws)
    assert lines_of(lambda: interval(scores, draws)) < 500_000
