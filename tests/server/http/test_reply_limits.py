"""Limits of a reply: the same cut however the text is streamed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.effort import lines_of

from dragoman.server.http.reply_limits import ReplyLimits, count_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("A day ticket", 3), ("extraordinary", 3), ("6 francs.", 3), ("1234", 2), ("日票六法郎", 5), ("a_b", 3)],
)
def test_tokens_are_counted_by_letters_digits_and_characters(text, tokens):
    assert count_tokens([text]) == tokens


@given(
    pieces=st.lists(st.text(alphabet="ab .1é日", max_size=5), max_size=8),
    tokens=st.one_of(st.none(), st.integers(1, 6)),
    stop=st.lists(st.text(alphabet="ab .", min_size=1, max_size=3), max_size=2),
)
def test_a_streamed_text_is_cut_as_a_whole_one(pieces, tokens, stop):
    streamed = ReplyLimits(max_tokens=tokens, stop=stop)
    sent = "".join([streamed.feed(piece) for piece in pieces] + [streamed.close()])
    whole = "".join(pieces)
    assert sent == ReplyLimits(max_tokens=tokens, stop=stop).cut(whole)
    assert whole.startswith(sent) and not any(text in sent for text in stop)
    assert tokens is None or count_tokens([sent]) <= tokens
    if tokens is None and not any(text in whole for text in stop):
        assert sent == whole


@pytest.mark.trust
def test_a_history_of_a_megabyte_is_counted_by_its_beginning():
    """It is counted on the event loop: letter by letter it took a third of a second."""
    messages = ["I like tea. " * 2500] * 35
    assert count_tokens(messages) == pytest.approx(35 * 2500 * 4, rel=0.01)
    assert lines_of(lambda: count_tokens(messages)) < 35 * 2500  # fewer than a line for each word
