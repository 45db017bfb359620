"""Passages on the page: rows as tables, quoted words marked, nothing of a document as markup."""

from __future__ import annotations

import re
from html import unescape

from hypothesis import given
from hypothesis import strategies as st

from dragoman.server.page.passage_html import passage_html

ROWS = "Prices:\n\n- What: Massage; Adults: 65 CHF\n- What: Ball; Adults: 9 CHF; Children: 7 CHF\n\nWithout tax."
texts = st.text(alphabet=st.sampled_from("a:; -\n<&x"), max_size=40)


def test_rows_below_each_other_are_a_table():
    assert passage_html(ROWS) == (
        'Prices:<div class="wide"><table class="rows">'
        "<tr><th scope='col'>What</th><th scope='col'>Adults</th><th scope='col'>Children</th></tr>"
        "<tr><td>Massage</td><td>65 CHF</td><td></td></tr>"
        "<tr><td>Ball</td><td>9 CHF</td><td>7 CHF</td></tr></table></div>Without tax."
    )


def test_a_single_row_lists_its_names_and_values_with_what_is_quoted():
    text = "Room: Gym; Full day: CHF 220"
    assert passage_html(text, [(6, len(text))]) == (
        "<table class=\"rows one\"><tr><th scope='row'>Room</th><td><mark>Gym</mark></td></tr>"
        "<tr><th scope='row'>Full day</th><td><mark>CHF 220</mark></td></tr></table>"
    )


def test_sentences_with_colons_stay_sentences():
    for text in ("- Monday: 8:00 to 19:00", "Note: bring a towel; it is wet.", "One; two: three; four", "a; b"):
        assert "<table" not in passage_html(text)


def test_documents_are_never_markup():
    shown = passage_html('<b>: <script>; "x": <img src=x>\n<i>', [(0, 3)])
    assert not re.search(r"<(?!/?(?:table|tr|th|td|mark|div)\b)", shown)


@given(text=texts, place=st.integers(0, 40), length=st.integers(1, 9))
def test_no_character_of_a_text_without_rows_is_lost(text, place, length):
    shown = passage_html(text, [(place, place + length)] if place + length <= len(text) else ())
    if "<table" not in shown:
        assert unescape(re.sub(r"</?mark>", "", shown)) == text
