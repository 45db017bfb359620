"""Pages and texts made to take for ever: what they cost grows with their size, or they are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from dragoman.core.errors import InputError
from dragoman.sources.formats import effort
from dragoman.sources.formats.html import read as read_html
from dragoman.sources.formats.markdown import read as read_markdown
from dragoman.sources.formats.markdown import untagged

pytestmark = pytest.mark.trust

NESTED = {
    "blocks": "<div>a",
    "inline": "<b>a",
    "lists": "<ul><li>a",
    "definitions": "<dl><dd>a",
    "tables": "<table><tr><td>a",
    "links": "<a><div>x",
    "pictures": "<svg>",
    "hidden starts": "<svg><style><div></style>",
    "hidden ends": "<div><svg><![CDATA[</svg></div>]]>",
    "hidden scripts": "<div><script><!--<script></script></div></script>",
}


@pytest.mark.parametrize("piece", NESTED.values(), ids=NESTED)
def test_a_page_that_nests_without_end_is_refused_before_it_is_parsed(piece, monkeypatch):
    monkeypatch.setattr("selectolax.lexbor.LexborHTMLParser", None)
    with pytest.raises(InputError, match="without end"):
        read_html(f"<p>start{piece * 30_000}".encode(), "a.html")


@pytest.mark.parametrize("page", ["<p {}>x", "<html {}>x"])
def test_a_tag_with_attributes_without_end_is_refused(page):
    with pytest.raises(InputError, match="attributes"):
        read_html(page.format(" ".join(f"a{i}" for i in range(30_000))).encode(), "a.html")


@pytest.mark.parametrize(
    "piece",
    [
        "<p>one",
        "<li>one",
        "<tr><td>one<td>two",
        "<div><p><b>one</b></div>",
        "<dt>one<dd>two",
        "<svg><title>Icon</title><path/></svg><p>one</p>",
        "<script>var page = '<div><div>'</script><p>one",
        "<!-- <div> --><p>one</p>",
        '<p title="<div>">one</p>',
        "<br><img><p>one</p>",
    ],
)
def test_long_pages_that_do_not_nest_are_read(piece):
    estimate = effort._Estimate(f"<table>{piece * 2000}")
    assert not estimate.run() and estimate.deepest <= 8


def test_lines_of_a_list_do_not_grow_with_every_level():
    document = read_html(("<ul><li>a" * 1000).encode(), "a.html")
    assert max(len(block.text) for section in document.sections for block in section.blocks) < 60


_NAMES = "div p b a ul li table tr td svg title style script textarea select template form desc iframe g".split()
_PIECES = [f"<{name}>" for name in _NAMES] + [f"</{name}>" for name in _NAMES]
_PIECES += [
    "x",
    "<path/>",
    "<div/>",
    "<!--",
    "-->",
    "<!-->",
    "<![CDATA[",
    "]]>",
    "<!",
    ">",
    '"',
    "='",
    '<a "',
    '<a x="',
    "</",
    "<?",
]


@given(st.lists(st.sampled_from(_PIECES), max_size=60).map("".join))
def test_depth_is_never_estimated_too_low(page):
    """Beyond the root, body and head, a table cell brings at most the row and the part of the table it needs."""
    estimate = effort._Estimate(page)
    estimate.run()
    deepest, waiting = 0, [(LexborHTMLParser(page).root, 0)]
    while waiting:
        node, depth = waiting.pop()
        deepest = max(deepest, depth)
        waiting.extend((child, depth + 1) for child in node.iter())
    assert deepest <= 3 * estimate.deepest + 5


@pytest.mark.parametrize("piece", ["<", "<script ", "<!--", "<style>", "<!-- >"])
def test_unclosed_html_in_markdown_is_looked_through_once(piece, monkeypatch):
    """Counted: an end that is not there is looked for once, not once for every beginning."""
    looked = []
    from dragoman.sources.formats import markdown

    class Counting(markdown._Ends):
        def of(self, what, place):
            is_new = what not in self._missing
            end = super().of(what, place)
            if is_new:
                looked.append(end)
            return end

    monkeypatch.setattr(markdown, "_Ends", Counting)
    page = "<div>\n" + piece * 2000
    read_markdown(b"a\n\n" + page.encode(), "a.md")
    assert 1 <= looked.count(-1) <= 2


def test_markdown_that_would_take_many_minutes_is_refused(monkeypatch):
    with pytest.raises(InputError, match="Split it"):
        read_markdown(b"a " * (2 * 2**20 + 1), "a.md")
    monkeypatch.setattr("dragoman.sources.formats.markdown.MOST_BYTES", 3)
    assert read_markdown(b"abc", "a.md").sections


def test_html_in_markdown_loses_its_tags_and_keeps_its_words():
    page = "a<b>c</b><!-- no --><script>no()</script>d<STYLE>no</style >e < f"
    assert untagged(page).split() == ["a", "c", "d", "e", "<", "f"]
