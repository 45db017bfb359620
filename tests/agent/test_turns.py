"""What people type, made fit for a turn."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.agent.turns import clean
from dragoman.core.errors import InputError


@pytest.mark.parametrize("text", ["", " ", "\n\t \r\n", "\x00\x07", "\ufeff"])
def test_a_turn_without_words_is_refused_with_a_remedy(text):
    with pytest.raises(InputError, match=r"empty.*Say something") as caught:
        clean(text)
    assert caught.value.remedy


def test_a_turn_that_is_too_long_says_its_length_and_the_limit():
    with pytest.raises(InputError, match=r"1,000,000 characters; at most 32,000"):
        clean("x" * 1_000_000)
    assert clean("x" * 32_000) == "x" * 32_000
    with pytest.raises(InputError, match=r"6 characters; at most 5"):
        clean("sixsix", most=5)


def test_control_characters_are_removed_and_lines_kept():
    assert clean("a\x00b\x1bc\r\nd\te\x7f") == "abc\nd\te"


@pytest.mark.parametrize("code", ["\x1b[31m", "\x1b[1;2H", "\x1b]0;title\x07", "\x1b]8;;a\x1b\\", "\x1bM"])
def test_terminal_codes_go_as_a_whole(code):
    assert clean(f"red{code} now") == "red now"


def test_bytes_that_are_not_utf8_are_replaced():
    text = b"caf\xe9 now".decode("utf-8", "surrogateescape")
    assert clean(text) == "caf\ufffd now"


def test_emoji_and_their_joiners_are_kept():
    assert clean(" 👩‍👩‍👧 🙂 ") == "👩‍👩‍👧 🙂"


@given(st.text(st.characters(exclude_categories=()), max_size=200))
def test_whatever_is_typed_is_refused_or_can_be_encoded(text):
    try:
        kept = clean(text)
    except InputError:
        return
    assert kept.encode("utf-8").decode("utf-8").strip() == kept != ""
    assert clean(kept) == kept
