"""Names are found as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.datasets.loaders.mentions import Mentions

NAMES = {
    "h1": "THE GREY HERON HOTEL",
    "r1": "LANTERN AND OAR",
    "r2": "LANTERN",
    "h2": "ROSA'S BED AND BREAKFAST",
    "r3": "ASK RESTAURANT",
    "r4": "BOB",
}
FIND = Mentions(NAMES).find


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Is the grey heron hotel quiet?", ("h1",)),
        ("Grey Heron, please", ("h1",)),
        ("the Lantern & Oar?", ("r1",)),
        ("a table at LANTERN.", ("r2",)),
        ("at Rosas bed and breakfast", ("h2",)),
        ("at Rosa’s", ("h2",)),
        ("the Ask Restaurant", ("r3",)),
        ("let me ask about bobbins", ()),
        ("", ()),
    ],
)
def test_examples(text, found):
    assert FIND([text]) == found


def test_mentions_come_in_their_order_and_once():
    assert FIND(["Bob likes Lantern.", "The Lantern is not the Grey Heron, Bob."]) == ("r4", "r2", "h1")


def test_a_name_is_not_found_across_two_turns():
    assert FIND(["grey", "heron"]) == ()


@given(
    st.sampled_from(sorted(NAMES)), st.text("abc .,!", max_size=10), st.sampled_from([str.title, str.lower, str.upper])
)
def test_a_name_in_full_is_always_found(key, around, cased):
    assert key in FIND([f"{around} {cased(NAMES[key])} {around}"])
