"""The grammar of a unified model: worked sequences, and formatting and parsing as inverse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import ConfigError, InputError
from dragoman.core.tokens import (
    AND,
    CHECK,
    END_OF_EVIDENCE,
    END_OF_MIDDLE,
    END_OF_SOURCES,
    EVALUATION,
    EVIDENCE,
    MIDDLE,
    NULL,
    SOURCE,
    Grammar,
    Shown,
    Token,
    WrittenSequence,
    similarity,
    tenths,
)

pytestmark = pytest.mark.trust

NAMES = ("PERSONA", "DOCUMENTS", "EOS")  # a source may be called as an indicator is
PERSONA, DOCUMENTS = Token("acting", "PERSONA"), Token("acting", "DOCUMENTS")
texts = st.text(max_size=12) | st.sampled_from(["[EOE]", "[PERSONA]", "[SOURCE] [NULL] [EOS]", "1.0", "", "，"])


@st.composite
def grammars(draw):
    return Grammar(NAMES[: draw(st.integers(1, 3))], draw(st.sampled_from(["unims", "safari"])))


@st.composite
def sequences(draw):
    grammar = draw(grammars())
    plan = tuple(draw(st.permutations(grammar.sources))[: draw(st.integers(0, len(grammar.sources)))])
    similarities = st.integers(0, 10) if grammar.style == "unims" else st.none()
    shown = st.builds(Shown, st.sampled_from(grammar.sources), texts, similarities)
    return grammar, WrittenSequence(plan, tuple(draw(st.lists(shown, max_size=4))), draw(texts))


def test_a_unims_sequence_by_hand():
    written = WrittenSequence(
        ("PERSONA", "DOCUMENTS"),
        (Shown("PERSONA", "I live in Rome.", 10), Shown("DOCUMENTS", "Rome is old.", 3)),
        "Old.",
    )
    pieces = (SOURCE, PERSONA, DOCUMENTS, END_OF_SOURCES)
    pieces += (EVIDENCE, PERSONA, "I live in Rome.", END_OF_EVIDENCE, EVALUATION[10])
    pieces += (EVIDENCE, DOCUMENTS, "Rome is old.", END_OF_EVIDENCE, EVALUATION[3], "Old.")
    assert Grammar(NAMES).format(written) == pieces
    assert Grammar(NAMES).parse(pieces) == written


def test_a_safari_sequence_by_hand():
    grammar = Grammar(("PERSONA", "DOCUMENTS"), "safari")
    written = WrittenSequence(("PERSONA",), (Shown("PERSONA", "a"), Shown("PERSONA", "b")), "c")
    pieces = (SOURCE, PERSONA, END_OF_SOURCES, MIDDLE, PERSONA, "a", AND, PERSONA, "b", END_OF_MIDDLE, "c")
    assert grammar.format(written) == pieces
    assert grammar.format(WrittenSequence((), (), "hi")) == (SOURCE, NULL, END_OF_SOURCES, "hi")


@given(sequences())
def test_parsing_undoes_formatting(drawn):
    grammar, written = drawn
    assert grammar.parse(grammar.format(written)) == written


@given(sequences(), st.data())
def test_a_sequence_that_lost_or_doubled_a_token_is_refused_or_means_something_else(drawn, data):
    grammar, written = drawn
    pieces = list(grammar.format(written))
    places = [place for place, piece in enumerate(pieces) if isinstance(piece, Token)]
    place = data.draw(st.sampled_from(places))
    spoilt = pieces[:place] + (pieces[place + 1 :] if data.draw(st.booleans()) else pieces[place:][:1] + pieces[place:])
    try:
        assert grammar.parse(spoilt) != written
    except InputError as error:
        assert "piece" in str(error)


@given(grammars())
def test_tokens_are_told_apart_and_a_further_source_leaves_them_where_they_are(grammar):
    assert len(set(grammar.tokens)) == len(grammar.tokens)
    wider = Grammar((*grammar.sources, "MORE"), grammar.style)
    assert wider.tokens[: len(grammar.tokens)] == grammar.tokens


def test_safari_judges_nothing_and_has_no_check():
    tokens = Grammar(("A",), "safari").tokens
    assert CHECK not in tokens and not set(EVALUATION) & set(tokens)


@pytest.mark.parametrize(
    ("value", "expected"), [(0.0, 0), (0.049, 0), (0.05, 1), (0.35, 4), (0.949, 9), (1.0, 10), (2, 10)]
)
def test_similarity_in_tenths_by_hand(value, expected):
    assert tenths(value) == expected
    assert similarity(tenths(value)).name == f"{expected / 10:.1f}"


@pytest.mark.parametrize("sources", [(), ("A", "A"), ("A", "NULL")])
def test_sources_that_tokens_cannot_tell_apart_are_refused(sources):
    with pytest.raises(ConfigError):
        Grammar(sources)


def test_an_unknown_source_and_an_impossible_similarity_are_refused():
    with pytest.raises(InputError, match="LORE"):
        Grammar(NAMES).plan(("LORE",))
    for wrong in (None, 11, -1):
        with pytest.raises(InputError, match="tenths"):
            similarity(wrong)
