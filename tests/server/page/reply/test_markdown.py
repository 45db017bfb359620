"""Replies as HTML: readable, and harmless whatever stands in them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.effort import lines_of

from dragoman.core.values import Evidence, Passage
from dragoman.server.page.reply.citations import citations, used_facts
from dragoman.server.page.reply.markdown import markdown_html
from dragoman.server.page.texts import words
from dragoman.server.page.turn_view import Card

WORDS = words("en")
TAGS = re.compile(r"</?([a-z0-9]+)")
ALLOWED = set(
    "p br em strong s code pre ul ol li blockquote h1 h2 h3 h4 h5 h6 hr a div span".split()
    + "table thead tbody tr th td button".split()
)


def html(text, cited=()):
    return markdown_html(text, cited, words=WORDS)


def card(text, *, source="DOCUMENTS", quoted=True, fate="kept"):
    return Card(Evidence(Passage(text, source, text), 0.9), fate, quoted)


def test_tables_lists_and_code_are_shown_as_such():
    shown = html("| a | b |\n|---|---|\n| 1 | 2 |\n\n- one\n- two\n\n```py\nx < 1\n```")
    assert "<table>" in shown and shown.count("<li>") == 2
    assert "<code>x &lt; 1\n</code>" in shown and "copy-code" in shown


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        '<img src=x onerror="alert(1)">',
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](data:text/html;base64,xx)",
        "![x](https://elsewhere.example/p.png)",
        '[x](https://a.example "onmouseover=alert(1)")',
        "```<script>\nalert(1)\n```",
        '<https://a.example/"onclick=alert(1)>',
        "| <b onclick=x>a |\n|---|\n| <script>x</script> |",
    ],
)
def test_markup_and_scripts_stay_text(text):
    shown = html(text)
    assert set(TAGS.findall(shown)) <= ALLOWED
    assert not re.search(r"<[^>]*\son\w+=", shown.replace("&quot;", ""))
    assert "javascript:" not in re.sub(r">[^<]*<", "><", shown).lower() and "<img" not in shown


@given(st.text(alphabet="<>\"'`*_[](){}#|\\!&;:/ \nabjs\ue0001\ue001-=", max_size=60))
def test_no_text_makes_a_tag_of_its_own(text):
    assert set(TAGS.findall(html(text))) <= ALLOWED


def test_a_citation_stands_behind_the_words_that_it_supports():
    text = "A day ticket costs 6 francs. Dogs travel free on deck. Ask the captain."
    cards = [card("Dogs travel free on deck."), card("Prices: A day ticket costs 6 francs. Children are free.")]
    found = citations(text, cards)
    assert [(one.number, text[: one.place][-6:]) for one in found] == [(1, "rancs."), (2, " deck.")]
    shown = html(text, found)
    assert '<span class="held">francs.<button type="button" class="cite" data-cite="1"' in shown, (
        "no line ends between them"
    )


def test_a_passage_without_words_in_common_is_cited_at_the_end_and_facts_not_at_all():
    cards = [
        card("Quite other words stand here."),
        card("I am vegetarian.", source="MEMORY"),
        card("Unused words here.", quoted=False),
    ]
    (one,) = citations("No, sorry.", cards, private={"MEMORY"})
    assert (one.number, one.place) == (1, len("No, sorry."))
    assert used_facts(cards, {"MEMORY"}) == ("I am vegetarian.",)


PRICES = Card(
    Evidence(Passage("Prices: 6 francs.", "DOCUMENTS", "A ticket is 6 francs.", title="Prices"), 0.9), "kept", True
)


@pytest.mark.parametrize("brackets", [" ({})", "（{}）"])
def test_the_place_that_a_reply_names_in_brackets_is_set_back(brackets):
    text = "A ticket is 6 francs." + brackets.format("Prices")
    shown = html(text, citations(text, [PRICES]))
    assert f'<span class="cited-place">{brackets.format("Prices").strip()}</span>' in shown
    assert "cited-place" not in html(text), "where nothing cites it, it may be part of the answer"


def test_a_place_inside_a_tag_stays_as_it_is():
    text = 'A ticket is 6 francs. [x](https://a.example "(Prices)")'
    shown = html(text, citations(text, [PRICES]))
    assert 'title="(Prices)"' in shown and "cited-place" not in shown


REPEATED = [
    *"[ ]( ![ ![[]( [[a] *a **a_ a* `a <a & # > - 1. |a \\ ~~ &# *_".split(),
    "#\n",
    "a\n\n",
    "- a\n",
    "[a]: x\n",
]
USUAL = "## Steps\n\n" + "1. Take the **ferry** to the *pier*, see [times](https://example.org).\n" * 150
TABLES = ["|" + "a|" * 300 + "\n|" + "-|" * 300 + "\n" + "a\n" * 700, "|a|\n|-|\n" + "|b\n" * 900]


@pytest.mark.trust
@pytest.mark.parametrize("size", [1_900, 90_000])
def test_no_text_takes_long_to_parse(size):
    """The page is written on the event loop, and chats hold whatever a client sent as an earlier reply."""
    usual = lines_of(lambda: html(USUAL))
    texts = [*((unit * size)[:size] for unit in REPEATED), *TABLES]
    times = {text[:8]: lines_of(lambda text=text: html(text)) / usual for text in texts}
    assert max(times.values()) < 10, times  # five at most; hundreds without the limit


def test_long_replies_with_usual_markup_are_shown_with_it():
    assert html(USUAL).count("<strong>") == 150
