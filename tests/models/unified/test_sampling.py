"""Drawing tokens: by hand, from the nucleus alone, and each row by numbers of its own."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import InputError
from dragoman.core.tokens import WrittenSequence
from dragoman.core.values import Context
from dragoman.models.unified.model import Writing
from dragoman.models.unified.sampling import drawn, next_tokens, nucleus, number

LOGITS = st.lists(st.floats(-20, 20, width=32), min_size=2, max_size=12)


def writing(temperature=0.0, seed=0):
    return Writing(Context.of("Hi."), WrittenSequence(), temperature=temperature, seed=seed)


def test_nucleus_by_hand():
    chances = torch.tensor([[0.1, 0.5, 0.05, 0.35], [0.2, 0.3, 0.3, 0.2]], dtype=torch.float64)
    # 0.5 + 0.35 = 0.85 is less than 0.9, with 0.1 it is enough; of the second row all are needed
    assert nucleus(chances, 0.9).tolist() == [[0.1, 0.5, 0.0, 0.35], [0.2, 0.3, 0.3, 0.2]]
    assert nucleus(chances, 0.5).tolist() == [[0.0, 0.5, 0.0, 0.0], [0.0, 0.3, 0.3, 0.0]]


@pytest.mark.parametrize(("told", "token"), [(0.0, 1), (0.24, 1), (0.25, 3), (0.99, 3)])
def test_drawn_by_hand(told, token):
    """Sums are 0, 0.2, 0.2, 0.8: a quarter of them is 0.2."""
    chances = torch.tensor([[0.0, 0.2, 0.0, 0.6]], dtype=torch.float64)
    assert drawn(chances, torch.tensor([told], dtype=torch.float64)).tolist() == [token]


def test_sum_that_goes_wrong_never_draws_what_has_no_chance():
    chances = torch.tensor([[0.5, 0.5, 0.0]], dtype=torch.float64)
    assert drawn(chances, torch.tensor([1.0], dtype=torch.float64)).tolist() == [0]


@given(LOGITS, st.integers(0, 2**31 - 1), st.integers(0, 127))
def test_near_zero_the_most_probable_token_is_drawn(logits, seed, step):
    told = torch.tensor([logits])
    (first, other) = told.topk(2).values[0].tolist()
    temperature = max(first - other, 1e-300) / 1000  # of two that are the same either may be drawn
    found = next_tokens(told, [writing(temperature, seed)], step)
    assert told[0, found] == first


@given(st.lists(LOGITS.map(lambda one: (one * 6)[:12]), min_size=1, max_size=4), st.integers(0, 9), st.data())
def test_each_row_is_drawn_as_it_is_alone_and_from_what_may_be_said(logits, step, data):
    told = torch.tensor(logits)
    told[:, 3] = -torch.inf
    asked = [writing(data.draw(st.sampled_from([0.0, 0.7, 2.0])), data.draw(st.integers(0, 99))) for _ in logits]
    together = next_tokens(told.clone(), asked, step).tolist()
    assert together == [int(next_tokens(told[i : i + 1], asked[i : i + 1], step)) for i in range(len(asked))]
    assert 3 not in together
    greedy = [i for i, one in enumerate(asked) if not one.temperature]
    assert [together[i] for i in greedy] == told.argmax(-1)[greedy].tolist()


def test_draws_are_as_frequent_as_the_temperature_makes_them():
    """Chances 0.5, 0.3, 0.2 at temperature 0.5 are their squares: 25, 9 and 4 of 38; the nucleus keeps all."""
    told = torch.tensor([[0.5, 0.3, 0.2]]).log().expand(2000, 3)
    seen = next_tokens(told, [writing(0.5, seed) for seed in range(2000)], 4)
    assert (seen.bincount(minlength=3) / 2000).tolist() == pytest.approx([25 / 38, 9 / 38, 4 / 38], abs=0.03)


@given(st.integers(0, 2**31 - 1), st.integers(0, 127))
def test_numbers_repeat_themselves_below_one(seed, step):
    assert 0 <= number(seed, step) < 1
    assert number(seed, step) == number(seed, step) != number(seed, step + 1)


@pytest.mark.parametrize(
    ("temperature", "seed"), [(-1.0, 0), (float("nan"), 0), (float("inf"), 0), (1.0, -1), (1.0, 2**31)]
)
def test_what_cannot_be_drawn_is_refused(temperature, seed):
    with pytest.raises(InputError, match="cannot be drawn"):
        writing(temperature, seed)
