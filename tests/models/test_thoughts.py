from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.models.thoughts import ThoughtFilter, without_thoughts

REPLIES = [
    ("<think>So it is nine.</think>\n\nAt nine.", "At nine."),
    ("<THINK>a</THINK>At nine.", "At nine."),
    ("[THINK]a[/THINK]At nine.", "At nine."),
    ("◁think▷嗯◁/think▷At nine.", "At nine."),
    ("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>At nine.", "At nine."),
    ("<|channel|>analysis<|message|>hm<|start|>assistant<|channel|>final<|message|>At nine.<|return|>", "At nine."),
    ("<|channel>thought\nhm<channel|>At nine.", "At nine."),
    ("At <think>is it?</think>nine.", "At nine."),
    ("I think so. 1 < 2 and [a] stays.", "I think so. 1 < 2 and [a] stays."),
    ("<think>never ends", ""),
    ("", ""),
]


@pytest.mark.parametrize(("text", "shown"), REPLIES)
def test_thoughts_are_left_out(text, shown):
    assert without_thoughts(text)[0] == shown


@pytest.mark.parametrize(("text", "shown"), REPLIES)
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_a_stream_shows_the_same_as_the_whole(text, shown, size):
    taken = ThoughtFilter()
    pieces = [taken.feed(text[i : i + size]) for i in range(0, len(text), size)]
    assert "".join(pieces) + taken.close() == shown


def test_thoughts_that_the_prompt_opened_end_at_the_closing_mark():
    assert without_thoughts("So it is nine.</think>\n\nAt nine.") == ("At nine.", len("So it is nine."))
    taken = ThoughtFilter(inside=True)
    assert [taken.feed(piece) for piece in ("So it", " is</th", "ink>\nAt", " nine.")] == ["", "", "At", " nine."]
    assert taken.was_unopened


def test_a_reply_without_thoughts_is_shown_even_where_some_were_expected():
    taken = ThoughtFilter(inside=True)
    assert taken.feed("At nine.") + taken.close() == "At nine."
    taken = ThoughtFilter(inside=True)
    assert taken.feed("<think>hm</think>At nine.") + taken.close() == "At nine."


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<th<|end|>ink>hm</think>At nine.", "At nine."),
        ("<th<think>hm</think>ink>hm</think>At nine.", "At nine."),
        ("<th<th<|end|>ink>hm</think>ink>hm</think>At nine.", "At nine."),
        ("<th<|end|>is> stays", "<this> stays"),
        ("1 <<|end|> 2", "1 < 2"),
        ("<th<think>never ends", "<th"),
    ],
)
@pytest.mark.parametrize("size", [1, 100])
def test_halves_of_a_mark_around_another_mark_are_a_mark(text, shown, size):
    taken = ThoughtFilter()
    pieces = [taken.feed(text[i : i + size]) for i in range(0, len(text), size)]
    assert "".join(pieces) + taken.close() == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<think>never ends", ""),
        (" [THINK]hm[/THINK]At nine.", "At nine."),
        ("<th is no mark", "<th is no mark"),
        ("嗯</THINK>At nine.", "At nine."),
    ],
)
@pytest.mark.parametrize("size", [1, 100])
def test_the_size_of_pieces_does_not_matter_in_assumed_thoughts(text, shown, size):
    taken = ThoughtFilter(inside=True)
    pieces = [taken.feed(text[i : i + size]) for i in range(0, len(text), size)]
    assert "".join(pieces) + taken.close() == shown


PIECES = [
    "<think>",
    "</think>",
    "<",
    "th",
    "[THINK]",
    "a ",
    "nine",
    "<|end|>",
    "ink>",
    " ",
    "狗",
    "</THINK>",
    "[/",
    "<|r",
]


@given(st.lists(st.sampled_from(PIECES)), st.booleans())
def test_pieces_never_change_what_is_shown(pieces, inside):
    text = "".join(pieces)
    one, many = ThoughtFilter(inside=inside), ThoughtFilter(inside=inside)
    whole = one.feed(text) + one.close()
    assert "".join(map(many.feed, text)) + many.close() == whole
    assert (many.thoughts, many.was_unopened) == (one.thoughts, one.was_unopened)
    assert inside or "<think>" not in whole
