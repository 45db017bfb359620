"""Features of the linear gate: terms by field, and numbers that describe the shape of the dialogue."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any, Literal, TypeAlias, get_args

from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.core.values import Context, Turn
from dragoman.text.analyse import words
from dragoman.text.claims import names
from dragoman.text.form import act_and_core

Field: TypeAlias = Literal["user", "agent", "earlier", "new", "resp"]
FIELDS: tuple[Field, ...] = get_args(Field)
DIALOGUE: tuple[Field, ...] = ("user", "agent", "earlier", "new")
"""Fields that exist before a reply is drafted."""
WINDOW = 13
"""Turns that are read: an agent keeps twelve by default, so a longer history is never seen in use."""
_LATEST = 6
_MOST_CHARACTERS = 2000
_DIGIT = re.compile(r"\d")
_MONEY = re.compile(r"[$€£¥￥元]")


@dataclass(frozen=True, slots=True)
class Features:
    """Feature options of a linear gate, stored with the part so that training and use agree.

    Fields: `user` is the user's last turn, `agent` the agent's last turn, `earlier` the `earlier` turns before them,
    `new` the words of the user's turn that no earlier turn contains, `resp` a reply drafted without retrieval, as in
    RAGate's [contx;resp]. Words are stemmed; Chinese is split into pairs of characters. Terms are word n-grams of up
    to `ngrams` words; the field `earlier` uses single words.
    """

    fields: tuple[Field, ...] = DIALOGUE
    earlier: int = 4
    ngrams: int = 2
    structure: bool = True
    language: str = "en"

    def __post_init__(self) -> None:
        for field in self.fields:
            if field not in FIELDS:
                raise UnknownNameError("field of a linear gate", field, FIELDS)
        if not self.fields and not self.structure:
            raise ConfigError("A linear gate reads nothing.", remedy="Give it fields, or structure = true.")
        if self.earlier < 0 or self.ngrams < 1:
            raise ConfigError(
                f"A linear gate cannot read {self.earlier} earlier turns and runs of {self.ngrams} words.",
                remedy="Set earlier to 0 or more and ngrams to 1 or more.",
            )

    @property
    def reads_reply(self) -> bool:
        return "resp" in self.fields

    def of(self, context: Context, reply: str = "") -> tuple[dict[Field, list[str]], dict[str, float]]:
        """Return the terms by field and the shape features by name; `reply` is the text of the field `resp`."""
        turns = [_short(turn) for turn in context.turns[-WINDOW:]]
        tokens = [words(turn.text, self.language) for turn in turns]
        user, history = (tokens[-1], tokens[:-1]) if turns else ((), [])
        place = next((i for i in reversed(range(len(history))) if turns[i].speaker == "agent"), None)
        earlier_words = set().union(*history)
        new = [token for token in user if token not in earlier_words]
        terms: dict[Field, list[str]] = {}
        for field in self.fields:
            match field:
                case "user":
                    terms[field] = runs(user, self.ngrams)
                case "agent":
                    terms[field] = runs(() if place is None else history[place], self.ngrams)
                case "earlier":
                    before = [each for i, each in enumerate(history) if i != place]
                    recent = before[-self.earlier :] if self.earlier else []
                    terms[field] = list(chain.from_iterable(recent))
                case "new":
                    terms[field] = runs(new, self.ngrams)
                case "resp":
                    terms[field] = runs(words(reply[:_MOST_CHARACTERS], self.language), self.ngrams)
        if not self.structure or not turns:
            return terms, {}
        shapes = shape(turns, tokens, self.language)
        if self.reads_reply:
            text = reply[:_MOST_CHARACTERS]
            earlier_words.update(user)
            shapes |= _turn("reply", text, words(text, self.language), earlier_words, self.language)
        return terms, {name: value for name, value in shapes.items() if value}

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"fields": list(self.fields)}

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> Features:
        return cls(**{**table, "fields": tuple(table["fields"])})


def _short(turn: Turn) -> Turn:
    return turn if len(turn.text) <= _MOST_CHARACTERS else Turn(turn.speaker, turn.text[:_MOST_CHARACTERS])


def runs(tokens: Sequence[str], longest: int) -> list[str]:
    """Return the n-grams of up to `longest` tokens; those of two and more include markers of start and end."""
    terms = list(tokens)
    if not terms:
        return terms
    edged = ["<", *tokens, ">"]
    for size in range(2, longest + 1):
        terms += map(" ".join, zip(*[edged[start:] for start in range(size)], strict=False))
    return terms


def shape(turns: Sequence[Turn], tokens: Sequence[Sequence[str]], language: str = "en") -> dict[str, float]:
    """Return features of a dialogue beyond its words: position, questions, lengths, words and names that are new."""
    shapes: dict[str, float] = {}
    position = sum(turn.speaker == "agent" for turn in turns)
    earlier_words = set().union(*tokens[:-2])
    shapes[f"position {min(position, _LATEST)}"] = 1.0
    shapes["long ago"] = math.log1p(sum(len(each) for each in tokens[:-2])) / 5
    if len(turns) > 1:
        if turns[-2].speaker == "agent":
            shapes |= _turn("agent", turns[-2].text, tokens[-2], earlier_words, language)
        shapes["user again"] = float(turns[-2].speaker == "user")
        earlier_words.update(tokens[-2])
    user = set(tokens[-1])
    new = len(user - earlier_words)
    shapes["new words"] = math.log1p(new) / 3
    shapes["new share"] = new / max(1, len(user))
    shapes[f"user {act_and_core(turns[-1].text)[0]}"] = 1.0
    return shapes | _turn("user", turns[-1].text, tokens[-1], earlier_words, language)


def _turn(who: str, text: str, tokens: Sequence[str], earlier_words: set[str], language: str) -> dict[str, float]:
    """Return the shape features of one turn."""
    questions, entities = text.count("?") + text.count("？"), names(text)
    first = [name for name in entities if not earlier_words.issuperset(words(name, language))]
    return {
        f"{who} words": math.log1p(len(tokens)) / 3,
        f"{who} asks": float(questions > 0),
        f"{who} asks twice": float(questions > 1),
        f"{who} ends asking": float(text.rstrip().endswith(("?", "？"))),
        f"{who} number": float(_DIGIT.search(text) is not None),
        f"{who} money": float(_MONEY.search(text) is not None),
        f"{who} names": math.log1p(len(entities)),
        f"{who} name": float(bool(entities)),
        f"{who} new names": math.log1p(len(first)),
        f"{who} new name": float(bool(first)),
    }
