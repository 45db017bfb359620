from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.effort import lines_of

from dragoman.core.errors import ConfigError
from dragoman.core.examples import Example
from dragoman.core.trace import Note, Refinement, Reply, Retrieval, Trace
from dragoman.core.values import NULL_PLAN, Context, Draft, Evidence, Passage, Usage, Verdict
from dragoman.evaluate.contract import Judged
from dragoman.evaluate.metrics.cost import Cost, Latency, quantiles, seconds, usage_of

FOUND = Evidence(Passage("p", "docs", "text"), 1.0)
TRACE = Trace(
    (
        Note("gate", "g", 0.5, Verdict(True, 1.0)),
        Note("retriever", "r", 0.25, Retrieval(("docs",), (FOUND, FOUND))),
        Note("retriever", "r", 0.25, Retrieval(("docs",), (FOUND,))),
        Note("reader", "w", 1.0, Draft("a", usage=Usage(10, 4, 1))),
        Note("refiner", "f", 1.0, Refinement((), (), (), Draft("b", usage=Usage(12, 6, 1)))),
    )
)


def judged(trace, **spent):
    return Judged(Example("e", Context.of("hi"), ()), Reply("x", Verdict(False, 0.0), NULL_PLAN, (), trace), **spent)


def took(number):
    return judged(Trace((Note("reader", "w", number, Draft("a")),)))


def once(scores):
    return scores.values(np.ones((1, len(scores.counted))))[0]


def test_seconds_are_those_of_all_roles_or_of_one():
    assert seconds(TRACE) == 3.0
    assert seconds(TRACE, "retriever") == 0.5
    assert once(Latency(role="gate").score([judged(TRACE), judged(Trace())])) == 0.25


def test_seconds_differ_from_run_to_run():
    assert not Latency().about.repeatable
    assert Cost().about.repeatable


def test_half_of_the_turns_are_answered_within_the_median():
    turns = [took(number) for number in (4.0, 1.0, 3.0, 2.0)]
    assert once(Latency(statistic="p50").score(turns)) == 2.0
    assert once(Latency(statistic="p95").score(turns)) == 4.0
    assert Latency(statistic="p95").score(turns).per_turn.tolist() == [4, 1, 3, 2]


@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=12),
    st.sampled_from([0.5, 0.9, 0.95]),
    st.integers(0, 99),
)
def test_quantiles_are_numpys_of_the_repeated_numbers(numbers, share, seed):
    weights = np.random.default_rng(seed).integers(0, 4, (70, len(numbers))).astype(float)
    found = quantiles(np.array(numbers), weights, share)
    for row, value in zip(weights.astype(int), found, strict=True):
        repeated = np.repeat(numbers, row)
        if len(repeated):
            assert value == np.quantile(repeated, share, method="inverted_cdf")
        else:
            assert math.isnan(value)


@pytest.mark.parametrize(
    ("of", "expected"),
    [("calls", 2), ("prompt_tokens", 22), ("completion_tokens", 10), ("retrievals", 2), ("passages", 3)],
)
def test_costs_are_read_from_the_trace(of, expected):
    scores = Cost(of=of).score([judged(TRACE)])
    assert once(scores) == expected
    assert scores.details == {"counted": "trace"}


def test_what_a_meter_counted_comes_before_the_trace():
    scores = Cost(of="calls").score([judged(TRACE, usage=Usage(1, 2, 7), encoded=5)])
    assert once(scores) == 7
    assert scores.details == {"counted": "meter"}
    assert once(Cost(of="encoded").score([judged(TRACE, encoded=5)])) == 5


def test_texts_encoded_are_unknown_without_a_meter():
    assert not any(Cost(of="encoded").score([judged(TRACE)]).counted)


@pytest.mark.parametrize(
    "note",
    [
        Note("gate", "gate.tuned.v1", 0.5, Verdict(True, 1.0)),
        Note("planner", "planner.acting.v1", 0.5, NULL_PLAN),
        Note("retriever", "retriever.evaluating.v1", 0.5, Retrieval(("docs",), ())),
    ],
)
def test_calls_are_not_told_where_a_model_of_its_own_reports_none(note):
    turns = [judged(Trace((note,)), usage=Usage(), encoded=2), judged(Trace(), usage=Usage(), encoded=2)]
    assert not any(Cost(of="calls").score(turns).counted)
    assert not any(Cost(of="completion_tokens").score(turns).counted)
    assert once(Cost(of="encoded").score(turns)) == 2


def test_drafts_of_a_model_of_its_own_are_counted():
    read = Trace((Note("reader", "reader.unified.v1", 0.5, Draft("a", usage=Usage(3, 4, 1))),))
    assert once(Cost(of="calls").score([judged(read, usage=Usage(3, 4, 1))])) == 1


def test_usage_of_a_turn_without_drafts_is_nothing():
    assert usage_of(Trace()) == Usage()


@pytest.mark.parametrize(
    ("metric", "options"), [(Latency, {"statistic": "p42"}), (Latency, {"role": "cook"}), (Cost, {"of": "money"})]
)
def test_wrong_options_are_refused(metric, options):
    with pytest.raises(ConfigError):
        metric(**options)


def test_a_thousand_draws_of_ten_thousand_turns_go_through_no_turn_one_by_one():
    scores = Latency(statistic="p95").score([took(n / 7) for n in range(10_000)])
    weights = np.ones((1000, 10_000))
    assert len(scores.values(weights)) == 1000
    assert lines_of(lambda: scores.values(weights)) < 500_000
