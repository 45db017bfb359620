"""Orders as a tree of tokens: the walk's probabilities, common beginnings read once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import InputError
from dragoman.models.choice import walk
from dragoman.models.unified.order_tree import order_tree
from dragoman.models.unified.token_tree import Segment

S, N, P, D, E = 1, 2, 3, 4, 5
ORDERS = {"": (S, N, E), "P": (S, P, E), "P>D": (S, P, D, E)}


def test_only_what_stands_before_a_choice_is_read():
    tree = order_tree(ORDERS)
    assert tree.segments == (Segment((S,)), Segment((P,), 0))
    assert [fork.tokens for fork in tree.forks] == [(N, P), (E, D)]


def test_probabilities_by_hand():
    tree = order_tree(ORDERS)
    # ln 3: three times as probable
    assert tree.probabilities([{N: 0.0, P: 1.0986123}, {E: 0.0, D: 1.0986123}]) == pytest.approx(
        {"": 0.25, "P": 0.75 * 0.25, "P>D": 0.75 * 0.75}
    )


def test_segments_are_planted_on_what_they_see():
    assert order_tree(ORDERS).planted(0, 4, (1, 2, 3)) == (Segment((S,), 0, (1, 2, 3)), Segment((P,), 4))


def test_one_order_is_certain_and_none_is_refused():
    assert order_tree({"P": (S, P, E)}).probabilities(()) == {"P": 1.0}
    with pytest.raises(InputError, match="no order"):
        order_tree({})


@pytest.mark.parametrize("other", [(S, P, E), (S, P)])
def test_orders_that_cannot_be_told_apart_are_refused(other):
    with pytest.raises(InputError):
        order_tree({"P": (S, P, E), "Q": other})


@given(st.sets(st.lists(st.integers(2, 6), min_size=1, max_size=4).map(tuple), min_size=1, max_size=12), st.integers())
def test_probabilities_are_those_of_the_walk(bodies, seed):
    sequences = {str(body): (S, *body, 0) for body in bodies}  # 0 ends each, so that none begins another

    def logit(prefix, token):
        return (hash((prefix, token, seed)) % 1000) / 250

    tree = order_tree(sequences)
    paths = {}
    for i, segment in enumerate(tree.segments):
        paths[i] = (*(paths[segment.parent] if segment.parent is not None else ()), *segment.tokens)
    told = [{token: logit(paths[fork.segment], token) for token in fork.tokens} for fork in tree.forks]
    reference = walk(sequences, lambda prefix, among: {token: logit(prefix, token) for token in among})
    assert tree.probabilities(told) == pytest.approx(reference)
