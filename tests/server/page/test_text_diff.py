"""Quotations found in passages, and texts compared word by word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.effort import lines_of

from dragoman.server.page.text_diff import DiffSpan, QuoteSpan, _longest, cut, difference, quoted_spans

PASSAGE = "The Cliff Path runs for 7 kilometres. It is marked with red stones. In fog nobody should walk it alone."
texts = st.text(alphabet=st.sampled_from("ab c.d\n <>&狗走。!"), max_size=60)


def test_difference_of_a_text_that_was_changed_in_the_middle():
    assert difference("Dogs pay half.", "Dogs travel free.") == (
        DiffSpan("same", "Dogs "),
        DiffSpan("gone", "pay"),
        DiffSpan("new", "travel"),
        DiffSpan("same", " "),
        DiffSpan("gone", "half"),
        DiffSpan("new", "free"),
        DiffSpan("same", "."),
    )


def test_difference_of_chinese_is_by_character():
    assert difference("九点开门", "十点开门") == (
        DiffSpan("gone", "九"),
        DiffSpan("new", "十"),
        DiffSpan("same", "点开门"),
    )


@given(texts, texts)
def test_difference_holds_both_texts(before, after):
    pieces = difference(before, after)
    assert "".join(piece.text for piece in pieces if piece.kind != "new") == before
    assert "".join(piece.text for piece in pieces if piece.kind != "gone") == after
    assert all(piece.text for piece in pieces)


def test_a_quoted_sentence_is_found_with_its_stop():
    ((start, end),) = quoted_spans(PASSAGE, "The cliff path runs for 7 kilometres (Walks › The Cliff Path)")
    assert PASSAGE[start:end] == "The Cliff Path runs for 7 kilometres."


def test_a_few_words_in_common_are_no_quotation():
    assert quoted_spans(PASSAGE, "It is raining, and the path runs on.") == ()


def test_lines_that_begin_alike_are_told_apart():
    passage = "- Ticket: Gull Holm, adult; 34 francs\n- Ticket: Gull Holm, child; 17 francs"
    spans = quoted_spans(passage, "Ticket: Gull Holm, child; 17 francs")
    assert [passage[start:end] for start, end in spans] == ["Ticket: Gull Holm, child; 17 francs"]


def test_a_row_that_is_alike_in_part_is_not_quoted():
    passage = "- Saturday; Opens: 9:00; Closes: 22:00\n- Sunday; Opens: 9:00; Closes: 21:00"
    spans = quoted_spans(passage, "Sunday: Opens 9:00, Closes 21:00 (Opening hours)")
    assert [passage[start:end] for start, end in spans] == ["Sunday; Opens: 9:00; Closes: 21:00"]


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9)), max_size=12))
def test_runs_within_longer_ones_are_left_out_and_no_others(starts):
    runs = [((start, start + size), (place, place)) for place, (start, size) in enumerate(starts)]
    left = [
        span
        for words, span in runs
        if not any(other[0] <= words[0] and words[1] <= other[1] and other != words for other, _ in runs)
    ]
    assert sorted(_longest(runs)) == left


def test_a_chinese_sentence_is_found():
    passage = "茶馆每天早上九点开门，晚上十点关门。除夕休息。"
    spans = quoted_spans(passage, "茶馆每天早上九点开门，晚上十点关门。（营业时间）")
    assert [passage[start:end] for start, end in spans] == ["茶馆每天早上九点开门，晚上十点关门。"]


@given(texts, texts)
def test_spans_are_in_order_and_apart_and_cut_to_the_whole_passage(passage, reply):
    spans = quoted_spans(passage, reply)
    places = [place for span in spans for place in span]
    assert places == sorted(places)
    assert all(0 <= start < end <= len(passage) for start, end in spans)
    cuts = cut(passage, spans)
    assert "".join(piece.text for piece in cuts) == passage
    assert [piece.text for piece in cuts if piece.quoted] == [passage[start:end] for start, end in spans]


def test_a_passage_without_spans_is_one_piece():
    assert cut("all of it", ()) == (QuoteSpan("all of it", False),)


@pytest.mark.trust
@pytest.mark.parametrize(
    ("one", "other"), [("a b ", "a c "), ("a a b ", "a a c "), ("a\n", "a "), ("a b c ", "c b a ")]
)
def test_texts_that_repeat_themselves_are_compared_in_little_time(one, other):
    before, after, pieces = one * 800, other * 800, []
    steps = lines_of(lambda: pieces.extend(difference(before, after))) + lines_of(lambda: quoted_spans(before, after))
    assert steps < 20_000_000  # thousands of millions, where every word is compared with every other
    assert "".join(piece.text for piece in pieces if piece.kind != "new") == before
    assert "".join(piece.text for piece in pieces if piece.kind != "gone") == after
