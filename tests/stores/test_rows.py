"""Passages as rows: what is quick says the same as what is plain."""

import json
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import InputError
from dragoman.core.values import Passage
from dragoman.stores.rows import COLUMNS, check_passages, digest, lines_of, to_cells
from dragoman.text.analyse import Analyser

texts = st.text(max_size=12)
passages = st.builds(
    Passage,
    id=texts.filter(bool),
    source=st.sampled_from(("DOCS", "PERSONA")),
    text=texts,
    title=texts,
    headings=st.lists(texts, max_size=2).map(tuple),
    parent=st.none() | texts,
    position=st.integers(-(2**63), 2**63 - 1),
    origin=texts,
    meta=st.dictionaries(texts, texts, max_size=2),
)


@given(passages)
def test_a_digest_is_that_of_the_cells_as_json_as_stores_have_always_kept_it(passage: Passage) -> None:
    cells = to_cells(passage)
    assert list(cells) == COLUMNS.split(", ")
    told = json.dumps(list(cells.values()), ensure_ascii=False, sort_keys=True)
    assert digest(passage) == blake2b(told.encode(), digest_size=16).digest()


@given(st.text(max_size=60))
def test_a_line_of_our_analyser_is_its_tokens_with_spaces_between(text: str) -> None:
    analyse = Analyser()
    assert lines_of(analyse)(text) == " ".join(analyse(text)) == lines_of(analyse.__call__)(text)


def test_tokens_of_another_analyser_that_hold_white_space_are_cut() -> None:
    assert lines_of(lambda text: [text, "", "two words"])("a\u3000b") == "a b two words"


@pytest.mark.parametrize(
    "bad",
    [
        Passage("", "DOCS", "text"),
        Passage("a\x00", "DOCS", "text"),
        Passage("a", "", "text"),
        Passage("a", "DOCS", "\ud800"),
        Passage("a", "DOCS", "text", title="\udfff"),
        Passage("a", "DOCS", "text", parent="\ud800"),
        Passage("a", "DOCS", "text", origin="\ud800"),
        Passage("a", "DOCS", "text", headings=("\ud800",)),
        Passage("a", "DOCS", "text", meta={"key": "\ud800"}),
        Passage("a", "DOCS", "text", position=2**63),
        Passage("good", "DOCS", "another text"),
    ],
)
def test_one_passage_that_cannot_be_stored_among_good_ones_is_refused(bad: Passage) -> None:
    with pytest.raises(InputError):
        check_passages([Passage("good", "DOCS", "text"), bad])


def test_the_same_passage_twice_is_no_conflict() -> None:
    check_passages([Passage("a", "DOCS", "text"), Passage("a", "DOCS", "text")])
