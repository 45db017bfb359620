"""Grammar of the generator: kinds of places with their facts, facts about users, and small talk."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.datasets.toy.dice import Dice

_RANGE = re.compile(r"(\d+)\.\.(\d+)")
_START = re.compile(r"(?:^|[.!?] )[a-z]")

Pair = tuple[str, str]
"""User turn and reply."""


@dataclass(frozen=True, slots=True)
class ToyValue:
    """Value of a slot: in the wording of a document, and in speech."""

    formal: str = ""
    casual: str = ""


@dataclass(frozen=True, slots=True)
class Saying:
    """One kind of fact with its wordings: as document, question and statement."""

    says: tuple[str, ...]
    asks: tuple[str, ...]
    hints: tuple[str, ...]
    tells: tuple[str, ...]
    then: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    joint: tuple[str, ...] = ()
    both: tuple[str, ...] = ()

    def value(self, dice: Dice) -> ToyValue:
        if not self.values:
            return ToyValue()
        drawn = dice.pick(self.values)
        if span := _RANGE.fullmatch(drawn):
            low, high = int(span[1]), int(span[2])
            drawn = str(low + dice.below(high - low + 1))
        formal, _, casual = drawn.partition("|")
        return ToyValue(formal, casual or formal)


@dataclass(frozen=True, slots=True)
class PlaceKind:
    """Kind of place, such as a station: eight names, three persona statements, five facts."""

    domain: str
    names: tuple[str, ...]
    there: str
    personas: tuple[Saying, ...]
    topics: tuple[Saying, ...]


@dataclass(frozen=True, slots=True)
class Talk:
    """Turns without retrieval, and the two kinds of noise: evading and volunteering."""

    hello: tuple[Pair, ...]
    close: tuple[Pair, ...]
    any: tuple[Pair, ...]
    react: tuple[Pair, ...]
    again: tuple[Pair, ...]
    check: tuple[Pair, ...]
    domain: Mapping[str, tuple[Pair, ...]]
    evade: tuple[str, ...]
    volunteer: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToyGrammar:
    """Grammar of one language."""

    kinds: tuple[PlaceKind, ...]
    user: tuple[Saying, ...]
    talk: Talk
    descriptions: Mapping[str, str]

    @property
    def domains(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(kind.domain for kind in self.kinds))


def read_grammar(folder: Path) -> ToyGrammar:
    """Read the grammar of a language from its folder."""
    topics, talk = _toml(folder / "topics.toml"), _toml(folder / "talk.toml")
    small = talk["small"]
    return ToyGrammar(
        tuple(
            PlaceKind(
                kind["domain"],
                tuple(kind["names"]),
                kind["there"],
                tuple(map(_saying, kind["persona"])),
                tuple(map(_saying, kind["topic"])),
            )
            for kind in topics["kind"]
        ),
        tuple(map(_saying, talk["user"])),
        Talk(
            **{name: _pairs(talk["open"][name]) for name in ("hello", "close")},
            **{name: _pairs(small[name]) for name in ("any", "react", "again", "check")},
            domain={name: _pairs(pairs) for name, pairs in small["domain"].items()},
            evade=tuple(small["evade"]),
            volunteer=tuple(small["volunteer"]),
        ),
        talk["sources"],
    )


def descriptions(folder: Path) -> Mapping[str, str]:
    """Return the descriptions of the sources in the language of the folder."""
    texts: Mapping[str, str] = _toml(folder / "talk.toml")["sources"]
    return texts


def fill(template: str, value: ToyValue, **parts: str) -> str:
    """Fill the slots of a sentence and capitalise its start."""
    text = template.format(v=value.formal, w=value.casual, **parts)
    return _START.sub(lambda start: start[0].upper(), text)


def clause(sentence: str) -> str:
    """Return a sentence as a clause of another one."""
    return sentence.rstrip(".。")


def _toml(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


def _pairs(rows: list[list[str]]) -> tuple[Pair, ...]:
    return tuple((user, reply) for user, reply in rows)


def _saying(table: dict[str, Any]) -> Saying:
    says = table["says"]
    texts = {name: tuple(listed) for name, listed in table.items() if name != "says"}
    return Saying(says=(says,) if isinstance(says, str) else tuple(says), **texts)
