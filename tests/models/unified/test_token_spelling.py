"""Three ways to say the tokens of a grammar in a vocabulary."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from dragoman.core.errors import WeightsError
from dragoman.core.tokens import END_OF_EVIDENCE, EVALUATION, NULL, Grammar, Token
from dragoman.models.unified.token_spelling import Spelling, spell

GRAMMAR = Grammar(("REVIEWS", "FAQ"))


@dataclass
class Letters:
    """A vocabulary of single characters with some tokens in reserve."""

    reserved: tuple[int, ...] = ()
    size: int = 200
    width: int = 1

    def encode(self, text):
        return [ord(letter) % 128 for letter in text for _ in range(self.width)]


def test_new_rows_follow_the_base_and_a_further_source_comes_last():
    spelling = spell(GRAMMAR, "rows", Letters())
    assert [spelling.one(token) for token in GRAMMAR.tokens] == list(range(200, 200 + len(GRAMMAR.tokens)))
    wider = spell(Grammar(("REVIEWS", "FAQ", "MAPS")), "rows", Letters())
    assert all(wider.ids[token] == ids for token, ids in spelling.ids.items())


def test_reserved_tokens_take_all_where_they_last():
    spelling = spell(GRAMMAR, "reserved", Letters(reserved=tuple(range(150, 180))))
    assert len(set(spelling.ids.values())) == len(GRAMMAR.tokens)
    assert all(150 <= spelling.one(token) < 180 for token in GRAMMAR.tokens)


def test_where_few_are_reserved_similarities_are_single_characters():
    spelling = spell(GRAMMAR, "reserved", Letters(reserved=tuple(range(150, 158))))
    assert [spelling.one(token) for token in EVALUATION] == [*map(ord, "0123456789"), ord("T")]
    assert spelling.one(NULL) in range(150, 158)


def test_too_few_reserved_tokens_are_an_error_with_a_remedy():
    with pytest.raises(WeightsError, match="keeps 3 tokens in reserve, and 8 are needed"):
        spell(GRAMMAR, "reserved", Letters(reserved=(150, 151, 152)))


def test_plain_text_spells_indicators_in_brackets():
    spelling = spell(GRAMMAR, "text", Letters())
    assert spelling.ids[END_OF_EVIDENCE] == tuple(map(ord, "[EOE]"))
    assert spelling.ids[Token("acting", "FAQ")] == tuple(map(ord, "[FAQ]"))


def test_a_tokenizer_that_splits_a_similarity_is_refused():
    with pytest.raises(WeightsError, match="splits the similarity"):
        spell(GRAMMAR, "text", Letters(width=2))


def test_a_spelling_is_read_back_as_it_was():
    spelling = spell(GRAMMAR, "reserved", Letters(reserved=tuple(range(150, 158))))
    assert Spelling.from_json(spelling.to_json()) == spelling
    with pytest.raises(WeightsError, match="cannot be read"):
        Spelling.from_json({"way": "rows"})


def test_reserved_tokens_that_the_base_cannot_tell_apart_are_never_chosen_among():
    """As in SmolLM2, where most reserved rows are one and the same: sources become letters, indicators may be alike."""
    spelling = spell(GRAMMAR, "reserved", Letters(reserved=tuple(range(150, 164))), apart=(153, 155))
    said = [spelling.one(token) for token in GRAMMAR.acting]
    assert said == [ord("N"), ord("R"), ord("F")]
    assert [spelling.one(token) for token in GRAMMAR.indicators] == [153, 155, 150, 151, 152]


def test_letters_of_sources_are_free_ones_and_never_that_of_a_similarity():
    spelling = spell(Grammar(("TRIPS", "RRR", "NIL")), "reserved", Letters(reserved=tuple(range(150, 155))))
    letters = [chr(spelling.one(token)) for token in Grammar(("TRIPS", "RRR", "NIL")).acting]
    assert letters == ["N", "R", "A", "I"]
