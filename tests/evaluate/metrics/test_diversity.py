from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import ConfigError
from dragoman.core.examples import Example
from dragoman.core.trace import Reply, Trace
from dragoman.core.values import NULL_PLAN, Context, Verdict
from dragoman.evaluate.contract import Judged
from dragoman.evaluate.metrics.diversity import Distinct, Empty, Length, Repeated, distinct, repeated

replies_of = st.lists(st.lists(st.sampled_from("abcd"), max_size=6).map(" ".join), min_size=1, max_size=8)


def judged(text, asked="hi"):
    return Judged(Example("e", Context.of(asked), ()), Reply(text, Verdict(False, 0.0), NULL_PLAN, (), Trace()))


def score(metric, replies):
    return metric.score([judged(reply) for reply in replies])


def once(scores):
    return scores.values(np.ones((1, len(scores.counted))))[0]


def test_distinct_of_a_worked_example():
    # "a b a", "b a": words a b a b a, two kinds of five; pairs ab ba ba, two kinds of three
    assert distinct(["a b a", "b a"], n=1) == 2 / 5
    assert distinct(["a b a", "b a"], n=2) == 2 / 3
    assert once(score(Distinct(n=2), ["a b a", "b a"])) == 2 / 3


@given(replies_of, st.integers(1, 3), st.integers(0, 99))
def test_distinct_of_a_draw_is_that_of_the_turns_in_it_each_once(replies, n, seed):
    weights = np.random.default_rng(seed).integers(0, 3, (1, len(replies))).astype(float)
    chosen = [reply for reply, weight in zip(replies, weights[0], strict=True) if weight > 0]
    grams = [tuple(r.split()[i : i + n]) for r in chosen for i in range(len(r.split()) - n + 1)]
    value = score(Distinct(n=n), replies).values(weights)[0]
    if grams:
        assert value == len(set(grams)) / len(grams)
    else:
        assert math.isnan(value)


@given(replies_of)
def test_saying_everything_twice_halves_it(replies):
    value = distinct(replies)
    if not math.isnan(value):
        assert distinct(replies * 2) == pytest.approx(value / 2)


def test_chinese_is_counted_by_characters():
    assert distinct(["你好你好"]) == 0.5
    assert Distinct().score([judged("你好你好", asked="你好")]).details == {"tokens": "char"}


def test_length_is_the_mean_number_of_words():
    scores = score(Length(), ["a b c", ""])
    assert once(scores) == 1.5
    assert scores.per_turn.tolist() == [3, 0]


def test_replies_of_white_space_are_empty():
    assert once(score(Empty(), ["a", " \n", ""])) == pytest.approx(2 / 3)


@given(replies_of, st.integers(0, 99))
def test_the_most_frequent_reply_is_that_of_the_draw(replies, seed):
    weights = np.random.default_rng(seed).integers(0, 3, (70, len(replies))).astype(float)
    values = score(Repeated(), replies).values(weights)
    for row, value in zip(weights.astype(int), values, strict=True):
        counts = Counter(r.strip() for r, times in zip(replies, row, strict=True) for _ in range(times))
        if counts:
            assert value == pytest.approx(max(counts.values()) / sum(counts.values()))
        else:
            assert math.isnan(value)


def test_what_is_said_most_is_told():
    scores = score(Repeated(), ["I do not know.", "Yes.", "I do not know. "])
    assert once(scores) == repeated(["I do not know.", "Yes.", "I do not know. "]) == pytest.approx(2 / 3)
    assert scores.details == {"reply": "I do not know.", "times": 2}


def test_no_turns_give_no_value():
    for metric in (Distinct(), Length(), Empty(), Repeated()):
        assert math.isnan(metric.score([]).values(np.ones((1, 0)))[0])
    assert math.isnan(distinct([]))
    assert math.isnan(repeated([]))


def test_a_wrong_n_is_refused():
    with pytest.raises(ConfigError):
        Distinct(n=0)
