"""How the tokens of a grammar are said in a vocabulary: as new rows, as tokens kept in reserve, or as plain text."""

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
    """What a spelling needs to know of a tokenizer."""

    @property
    def size(self) -> int:
        """The rows of the embedding that the base has; new ones follow."""
        ...

    @property
    def reserved(self) -> Sequence[int]:
        """Tokens that no text becomes and that the base has no use for, in order."""
        ...

    def encode(self, text: str) -> list[int]:
        """The ids of plain text: what spells a control token is text too."""
        ...


@dataclass(frozen=True, slots=True)
class Spelling:
    """The ids of each token of a grammar."""

    way: Way
    ids: Mapping[Token, tuple[int, ...]]

    def one(self, token: Token) -> int:
        """The single id of a token that is chosen among others."""
        (found,) = self.ids[token]
        return found

    def to_json(self) -> dict[str, Any]:
        return {"way": self.way, "ids": [[token.kind, token.name, list(ids)] for token, ids in self.ids.items()]}

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> Spelling:
        try:
            return cls(table["way"], {Token(kind, name): tuple(map(int, ids)) for kind, name, ids in table["ids"]})
        except (KeyError, TypeError, ValueError) as error:
            raise WeightsError(f"A spelling of tokens cannot be read: {error!r}.", remedy="Train again.") from error


def spell(grammar: Grammar, way: Way, vocabulary: TokenVocabulary, *, apart: Sequence[int] | None = None) -> Spelling:
    """The spelling of all tokens of a grammar in one of the three ways.

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
    said = _tenths(grammar, vocabulary)
    if len(differing) < len(others) and len(reserved) >= len(grammar.indicators):
        others = grammar.indicators
        reserved = [*differing, *(spare for spare in reserved if spare not in differing)]
        said |= _letters(grammar, vocabulary)
    if len(reserved) < len(others):
        raise WeightsError(
            f"The base keeps {len(reserved)} tokens in reserve, and {len(others)} are needed for "
            f"{len(grammar.sources)} sources.",
            remedy='Set model.tokens = "rows" or "text".',
        )
    named = {token: (spare,) for token, spare in zip(others, reserved, strict=False)}
    return _checked(Spelling(way, said | named), grammar)


def _tenths(grammar: Grammar, vocabulary: TokenVocabulary) -> dict[Token, tuple[int, ...]]:
    return {token: tuple(vocabulary.encode(said)) for token, said in zip(grammar.evaluation, _TENTHS, strict=False)}


def _letters(grammar: Grammar, vocabulary: TokenVocabulary) -> dict[Token, tuple[int, ...]]:
    """A letter for each acting token: the first of its name that is free, else of the alphabet."""
    free = dict.fromkeys(letter for letter in ascii_uppercase + ascii_lowercase if letter not in _TENTHS)
    found: dict[Token, tuple[int, ...]] = {}
    for token in grammar.acting:
        letter = next((one for one in (*token.name, *free) if one in free), None)
        if letter is None:
            raise WeightsError(
                f"There are more sources than letters: {len(grammar.sources)}.", remedy='Set model.tokens = "rows".'
            )
        del free[letter]
        found[token] = tuple(vocabulary.encode(letter))
    return found


def _plain(grammar: Grammar, vocabulary: TokenVocabulary) -> dict[Token, tuple[int, ...]]:
    return {token: tuple(vocabulary.encode(str(token))) for token in (*grammar.indicators, *grammar.acting)}


def _checked(spelling: Spelling, grammar: Grammar) -> Spelling:
    """Refuse a vocabulary in which a similarity takes several tokens, or two tokens are spelt alike."""
    chosen = grammar.evaluation if spelling.way == "text" else (*grammar.evaluation, *grammar.acting)
    for token in chosen:
        if len(spelling.ids[token]) != 1:
            raise WeightsError(
                f"The tokenizer splits the {_KINDS[token.kind]} {token} into {len(spelling.ids[token])} tokens.",
                remedy='Set model.tokens = "rows".',
            )
    if len(set(spelling.ids.values())) < len(spelling.ids) or not all(spelling.ids.values()):
        raise WeightsError("The tokenizer spells two special tokens alike.", remedy='Set model.tokens = "rows".')
    return spelling
