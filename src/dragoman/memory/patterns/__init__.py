"""What people say of themselves, as data: the rules of each language, and words around them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from dragoman.text.patterns import Lazy, read, union


@dataclass(frozen=True, slots=True)
class Rule:
    """An expression and the slot of the fact that it finds."""

    slot: str
    expression: str
    ended: bool = False

    @property
    def pattern(self) -> re.Pattern[str]:
        return _compiled(self.expression)


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    """Compiled when first used: a turn that states nothing needs no rule, and compiling all takes a while."""
    return re.compile(expression, re.IGNORECASE)


_LANGUAGES = read(__name__)
RULES = {
    language: tuple(Rule(rule["slot"], rule["pattern"], rule.get("ended", False)) for rule in content["rule"])
    for language, content in _LANGUAGES.items()
}


def around(shapes: Mapping[str, str]) -> Lazy:
    """The words of all languages that stand around facts, by name; a shape says where they stand, as in `^{}`."""

    def words(name: str) -> str:
        return union([text for content in _LANGUAGES.values() for text in content["around"].get(name, ())])

    return Lazy({name: shape.format(words(name)) for name, shape in shapes.items()})


def never(slot: str) -> frozenset[str]:
    """Values that a slot cannot have."""
    return frozenset(" ".join(_texts("never", slot)).split())


def like(slot: str) -> str:
    """The slot that one named by the user's own word is like: `dog` is like `pet`."""
    words = set(slot.replace("'s", "").split())
    for content in _LANGUAGES.values():
        for known, text in content["like"].items():
            if words & set(text.split()):
                return str(known)
    return slot


def hints(slot: str, language: str) -> str:
    """The words that a question about a slot would use; none where the fact itself names it."""
    base = slot.rstrip("!")
    table: dict[str, str] = _LANGUAGES[language]["hints"]
    return table.get(base) or table.get(like(base), "")


def _texts(table: str, key: str) -> list[Any]:
    return [content[table][key] for content in _LANGUAGES.values() if key in content[table]]
