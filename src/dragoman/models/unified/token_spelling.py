"""The ids of a grammar's special tokens in a vocabulary: new rows, reserved tokens, or plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase
from typing import Any, Literal, Protocol, TypeAlias

from dragoman.core.errors import WeightsError
from dragoman.core.tokens import STEPS, Grammar, Token

Way: TypeAlias = Literal["rows", "reserved", "text"]
_TENTHS = (*map(str, range(STEPS)), "T")
"""Evaluation tokens in plain text: one character each, T for ten tenths."""
_KINDS = {"evaluation": "similarity", "acting": "source", "indicator": "indicator"}


class TokenVocabulary(Protocol):
    """Protocol of a tokenizer for spelling."""

    @property
    def size(self) -> int:
        """The number of rows of the base's embedding; new ones follow."""
        ...

    @property
    def reserved(self) -> Sequence[int]:
        """Ids that no text is tokenised to and that the base does not use, in order."""
        ...

    def encode(self, text: str) -> list[int]:
        """The ids of plain text; the name of a control token is plain text too."""
        ...


@dataclass(frozen=True, slots=True)
class Spelling:
    """The ids of each token of a grammar."""

    way: Way
    ids: Mapping[Token, tuple[int, ...]]

    def one(self, token: Token) -> int:
        """The single id of a token that is chosen among others."""
        (single,) = self.ids[token]
        return single

    def to_json(self) -> dict[str, Any]:
        return {"way": self.way, "ids": [[token.kind, token.name, list(ids)] for token, ids in self.ids.items()]}

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> Spelling:
        try:
            return cls(table["way"], {Token(kind, name): tuple(map(int, ids)) for kind, name, ids in table["ids"]})
        except (KeyError, TypeError, ValueError) as error:
            raise WeightsError(f"A spelling of tokens cannot be read: {error!r}.", remedy="Train again.") from error


def spell(grammar: Grammar, way: Way, vocabulary: TokenVocabulary, *, apart: Sequence[int] | None = None) -> Spelling:
    """Spell all tokens of a grammar in one of the three ways.

    Reserved tokens may be too few: then similarities, which are only ever read at a place of their own, are said as
    single characters, and the others take the reserved ones. `apart` are those of the reserved tokens whose embeddings
    differ (None: all of them). What is chosen must differ: where they are too few, sources are said as letters too, and
    indicators, which stand where nothing else can, take whatever is reserved.
    """
    if way == "rows":
        return Spelling(way, {token: (vocabulary.size + i,) for i, token in enumerate(grammar.tokens)})
    if way == "text":
        return _checked(Spelling(way, _tenths(grammar, vocabulary) | _plain(grammar, vocabulary)), grammar)
    reserved = list(vocabulary.reserved)
    differing = reserved if apart is None else [spare for spare in reserved if spare in set(apart)]
    if len(differing) >= len(grammar.tokens):
        return Spelling(way, {token: (spare,) for token, spare in zip(grammar.tokens, differing, strict=False)})
    others: tuple[Token, ...] = (*grammar.indicators, *grammar.acting)
    ids = _tenths(grammar, vocabulary)
    if len(differing) < len(others) and len(reserved) >= len(grammar.indicators):
        others = grammar.indicators
        reserved = [*differing, *(spare for spare in reserved if spare not in differing)]
        ids |= _letters(grammar, vocabulary)
    if len(reserved) < len(others):
        raise WeightsError(
            f"The base keeps {len(reserved)} tokens in reserve, and {len(others)} are needed for "
            f"{len(grammar.sources)} sources.",
            remedy='Set model.tokens = "rows" or "text".',
        )
    reserved_ids = {token: (spare,) for token, spare in zip(others, reserved, strict=False)}
    return _checked(Spelling(way, ids | reserved_ids), grammar)


def _tenths(grammar: Grammar, vocabulary: TokenVocabulary) -> dict[Token, tuple[int, ...]]:
    return {
        token: tuple(vocabulary.encode(character))
        for token, character in zip(grammar.evaluation, _TENTHS, strict=False)
    }


def _letters(grammar: Grammar, vocabulary: TokenVocabulary) -> dict[Token, tuple[int, ...]]:
    """A letter for each acting token: the first free one of its name, else of the alphabet."""
    free = dict.fromkeys(letter for letter in ascii_uppercase + ascii_lowercase if letter not in _TENTHS)
    letters: dict[Token, tuple[int, ...]] = {}
    for token in grammar.acting:
        letter = next((one for one in (*token.name, *free) if one in free), None)
        if letter is None:
            raise WeightsError(
                f"There are more sources than letters: {len(grammar.sources)}.", remedy='Set model.tokens = "rows".'
            )
        del free[letter]
        letters[token] = tuple(vocabulary.encode(letter))
    return letters


def _plain(grammar: Grammar, vocabulary: TokenVocabulary) -> dict[Token, tuple[int, ...]]:
    return {token: tuple(vocabulary.encode(str(token))) for token in (*grammar.indicators, *grammar.acting)}


def _checked(spelling: Spelling, grammar: Grammar) -> Spelling:
    """Raise an error where a similarity takes several tokens, or two tokens have the same spelling."""
    tokens = grammar.evaluation if spelling.way == "text" else (*grammar.evaluation, *grammar.acting)
    for token in tokens:
        if len(spelling.ids[token]) != 1:
            raise WeightsError(
                f"The tokenizer splits the {_KINDS[token.kind]} {token} into {len(spelling.ids[token])} tokens.",
                remedy='Set model.tokens = "rows".',
            )
    if len(set(spelling.ids.values())) < len(spelling.ids) or not all(spelling.ids.values()):
        raise WeightsError("The tokenizer spells two special tokens alike.", remedy='Set model.tokens = "rows".')
    return spelling
