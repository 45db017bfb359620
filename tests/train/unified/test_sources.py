"""The sources of unified training: all that turns name, with one meaning each, in the orders that their needs allow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dragoman.core.errors import TrainingError
from dragoman.core.examples import Example, Gold
from dragoman.core.values import Context, Source
from dragoman.train.unified.sources import orders_of, sources_of

TIMES, PRICES = Source("TIMES", "when boats leave"), Source("PRICES", "what boats cost", needs=("TIMES",))
TURN = Example("x", Context.of("when?"), (TIMES, PRICES), (), Gold())


def test_each_source_is_named_once_in_the_order_in_which_it_is_met():
    assert sources_of([replace(TURN, sources=(TIMES,)), TURN, replace(TURN, sources=(TIMES, PRICES))]) == (
        TIMES,
        PRICES,
    )


def test_turns_without_a_source_are_refused():
    with pytest.raises(TrainingError, match="name no source"):
        sources_of([replace(TURN, sources=())])


def test_one_source_with_two_needs_is_refused():
    other = replace(TURN, sources=(TIMES, replace(PRICES, needs=())))
    with pytest.raises(TrainingError, match="'PRICES' needs \\['TIMES'\\] in one set and \\[\\] in another"):
        sources_of([TURN, other])


def test_orders_have_what_a_source_needs_before_it():
    assert set(orders_of((TIMES, PRICES))) == {(), ("TIMES",), ("TIMES", "PRICES")}
