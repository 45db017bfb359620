"""What a linear gate reads of a turn: words by the field they stand in, and the shape of the dialogue."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any, Literal, TypeAlias, get_args

from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.core.values import Context, Turn
from dragoman.text.claims import names
from dragoman.text.form import act_and_core
from dragoman.text.words import words

Field: TypeAlias = Literal["user", "agent", "earlier", "new", "resp"]
FIELDS: tuple[Field, ...] = get_args(Field)
DIALOGUE: tuple[Field, ...] = ("user", "agent", "earlier", "new")
"""What is there before anybody replies."""
WINDOW = 13
"""An agent remembers twelve turns by default: in use, a position further on is not to be told."""
_LATEST = 6
_MOST_CHARACTERS = 2000
_DIGIT = re.compile(r"\d")
_MONEY = re.compile(r"[$€£¥￥元]")


@dataclass(frozen=True, slots=True)
class Features:
    """Which words count, and whether shape does. The same in training and in use: it is stored with the part.

    `user` is the user's last turn, `agent` the agent's last one, `earlier` the `earlier` turns before them, `new` the
    words of the user's turn that nobody has said before: where a dialogue takes up something; `resp` a reply that was
    drafted without looking anything up, as in RAGate's [contx;resp]. Words are stemmed;
    Chinese is read by pairs of characters. `ngrams` is the longest run of words that counts as a term of its own; of
    earlier turns single words count.
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
        """A turn's terms by field, and its shape by name; `reply` is what `resp` reads."""
        said = [_short(turn) for turn in context.turns[-WINDOW:]]
        tokens = [words(turn.text, self.language) for turn in said]
        user, history = (tokens[-1], tokens[:-1]) if said else ((), [])
        place = next((i for i in reversed(range(len(history))) if said[i].speaker == "agent"), None)
        known = set().union(*history)
        new = [token for token in user if token not in known]
        terms: dict[Field, list[str]] = {}
        for field in self.fields:
            match field:
                case "user":
                    terms[field] = runs(user, self.ngrams)
                case "agent":
                    terms[field] = runs(() if place is None else history[place], self.ngrams)
                case "earlier":
                    before = [each for i, each in enumerate(history) if i != place]
                    kept = before[-self.earlier :] if self.earlier else []
                    terms[field] = list(chain.from_iterable(kept))
                case "new":
                    terms[field] = runs(new, self.ngrams)
                case "resp":
                    terms[field] = runs(words(reply[:_MOST_CHARACTERS], self.language), self.ngrams)
        if not self.structure or not said:
            return terms, {}
        shapes = shape(said, tokens, self.language)
        if self.reads_reply:
            text = reply[:_MOST_CHARACTERS]
            known.update(user)
            shapes |= _turn("reply", text, words(text, self.language), known, self.language)
        return terms, {name: value for name, value in shapes.items() if value}

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"fields": list(self.fields)}

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> Features:
        return cls(**{**table, "fields": tuple(table["fields"])})


def _short(turn: Turn) -> Turn:
    return turn if len(turn.text) <= _MOST_CHARACTERS else Turn(turn.speaker, turn.text[:_MOST_CHARACTERS])


def runs(tokens: Sequence[str], longest: int) -> list[str]:
    """The tokens, and their runs of up to `longest`; those of two and more see where the text begins and ends."""
    found = list(tokens)
    if not found:
        return found
    edged = ["<", *tokens, ">"]
    for size in range(2, longest + 1):
        found += map(" ".join, zip(*[edged[start:] for start in range(size)], strict=False))
    return found


def shape(said: Sequence[Turn], tokens: Sequence[Sequence[str]], language: str = "en") -> dict[str, float]:
    """A dialogue without its words: where it stands, who asked, how long turns are, what is mentioned first here."""
    found: dict[str, float] = {}
    position = sum(turn.speaker == "agent" for turn in said)
    known = set().union(*tokens[:-2])
    found[f"position {min(position, _LATEST)}"] = 1.0
    found["long ago"] = math.log1p(sum(len(each) for each in tokens[:-2])) / 5
    if len(said) > 1:
        if said[-2].speaker == "agent":
            found |= _turn("agent", said[-2].text, tokens[-2], known, language)
        found["user again"] = float(said[-2].speaker == "user")
        known.update(tokens[-2])
    user = set(tokens[-1])
    new = len(user - known)
    found["new words"] = math.log1p(new) / 3
    found["new share"] = new / max(1, len(user))
    found[f"user {act_and_core(said[-1].text)[0]}"] = 1.0
    return found | _turn("user", said[-1].text, tokens[-1], known, language)


def _turn(who: str, text: str, tokens: Sequence[str], known: set[str], language: str) -> dict[str, float]:
    """The shape of one turn; `known` is what was said before it."""
    asked, named = text.count("?") + text.count("？"), names(text)
    first = [name for name in named if not known.issuperset(words(name, language))]
    return {
        f"{who} words": math.log1p(len(tokens)) / 3,
        f"{who} asks": float(asked > 0),
        f"{who} asks twice": float(asked > 1),
        f"{who} ends asking": float(text.rstrip().endswith(("?", "？"))),
        f"{who} number": float(_DIGIT.search(text) is not None),
        f"{who} money": float(_MONEY.search(text) is not None),
        f"{who} names": math.log1p(len(named)),
        f"{who} name": float(bool(named)),
        f"{who} new names": math.log1p(len(first)),
        f"{who} new name": float(bool(first)),
    }
