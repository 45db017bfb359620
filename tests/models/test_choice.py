from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import InputError
from dragoman.models.choice import END, check_options, ended, normalise, walk


def test_log_probabilities_become_their_shares():
    assert normalise({"a": math.log(0.2), "b": math.log(0.6)}) == pytest.approx({"a": 0.25, "b": 0.75})


def test_an_impossible_option_has_no_share():
    assert normalise({"a": -3.0, "b": -math.inf}) == {"a": 1.0, "b": 0.0}


def test_where_nothing_is_known_all_are_equal():
    assert normalise({"a": -math.inf, "b": -math.inf}) == {"a": 0.5, "b": 0.5}


def test_very_low_log_probabilities_do_not_vanish():
    assert normalise({"a": -2000.0, "b": -2000.0 + math.log(3)}) == pytest.approx({"a": 0.25, "b": 0.75})


@given(st.dictionaries(st.text(max_size=3), st.floats(-1e6, 1e6), min_size=1, max_size=8))
def test_shares_are_probabilities_in_the_order_of_the_logits(logits):
    shares = normalise(logits)
    assert math.isclose(sum(shares.values()), 1.0)
    best = max(logits, key=lambda key: logits[key])
    assert shares[best] == max(shares.values())


def test_a_sequence_that_another_continues_is_closed():
    assert ended({"a": (1,), "ab": (1, 2), "c": (3,)}) == {"a": (1, END), "ab": (1, 2), "c": (3,)}


def test_walk_asks_only_where_sequences_part():
    asked = []

    def logprobs(prefix, tokens):
        asked.append((prefix, tuple(tokens)))
        return {4: math.log(0.3), 5: math.log(0.1)}

    found = walk({"x": (1, 2, 4), "y": (1, 2, 5, 6)}, logprobs)
    assert asked == [((1, 2), (4, 5))]
    assert found == pytest.approx({"x": 0.75, "y": 0.25})


def test_walk_multiplies_along_shared_beginnings():
    table = {(): {1: 0.5, 2: 0.5}, (1,): {3: 0.1, 4: 0.3}, (1, 4): {END: 0.2, 5: 0.2}}

    def logprobs(prefix, tokens):
        return {token: math.log(table[prefix][token]) for token in tokens}

    found = walk({"a": (1, 3), "b": (1, 4), "c": (1, 4, 5), "d": (2,)}, logprobs)
    assert found == pytest.approx({"a": 0.125, "b": 0.1875, "c": 0.1875, "d": 0.5})


def test_walk_gives_nothing_to_a_token_that_is_not_told_of():
    assert walk({"a": (1,), "b": (2,)}, lambda prefix, tokens: {1: -1.0}) == {"a": 1.0, "b": 0.0}


sequences = st.lists(
    st.lists(st.integers(0, 2), min_size=1, max_size=4).map(tuple), min_size=1, max_size=8, unique=True
)


@given(sequences, st.randoms(use_true_random=False))
def test_walk_sums_to_one_for_any_set_of_sequences(tokens, random):
    found = walk({str(t): t for t in tokens}, lambda prefix, among: {t: random.uniform(-9, 0) for t in among})
    assert set(found) == {str(t) for t in tokens}
    assert math.isclose(sum(found.values()), 1.0)
    assert all(share > 0 for share in found.values())


@pytest.mark.parametrize("options", [(), ("a", "a"), ("a", " ")])
def test_options_that_cannot_be_told_apart_are_refused(options):
    with pytest.raises(InputError):
        check_options(options)
