"""What people say of themselves, as data: relations and rules of each language, and the words around them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from dragoman.core.caches import text_cache
from dragoman.text.patterns import Lazy, read, union


@dataclass(frozen=True, slots=True)
class Rule:
    """An expression over a clause, and the slot of the fact that it finds."""

    slot: str
    expression: str
    ended: bool = False
    value: str = ""
    who: str = ""

    @property
    def pattern(self) -> re.Pattern[str]:
        return _compiled(self.expression)


@dataclass(frozen=True, slots=True)
class Relation:
    """An expression over the words after a verb, and the slot of the fact that it finds for a subject.

    `negated` is the slot of a negated clause, or "ends" where a negated clause ends an earlier fact.
    """

    verbs: frozenset[str]
    slot: str
    expression: str
    who: str = ""
    negated: str = ""
    value: str = ""
    also: bool = False

    @property
    def pattern(self) -> re.Pattern[str]:
        return _compiled(self.expression)


@dataclass(frozen=True, slots=True)
class Rewrite:
    """An expression over a sentence that leaves words out, and the full sentence that it stands for.

    `slots` are those of the facts that the full sentence may state.
    """

    expression: str
    sentence: str
    slots: frozenset[str]

    @property
    def pattern(self) -> re.Pattern[str]:
        return _compiled(self.expression)


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    """Compiled when first used: a turn that states nothing needs no rule, and compiling all takes a while."""
    return re.compile(expression, re.IGNORECASE)


_LANGUAGES = read(__name__)
RULES = {
    language: tuple(
        Rule(rule["slot"], rule["pattern"], rule.get("ended", False), rule.get("value", ""), rule.get("who", ""))
        for rule in content.get("rule", ())
    )
    for language, content in _LANGUAGES.items()
}


def _relations() -> dict[str, tuple[Relation, ...]]:
    by_verb: dict[str, list[Relation]] = {}
    for table in _LANGUAGES["en"]["relation"]:
        options = {key: table[key] for key in ("who", "negated", "value", "also") if key in table}
        relation = Relation(frozenset(table["verb"].split()), table["slot"], table["words"], **options)
        for verb in relation.verbs:
            by_verb.setdefault(verb, []).append(relation)
    return {verb: tuple(relations) for verb, relations in by_verb.items()}


RELATIONS = _relations()
"""Relations of English by verb, in the order in which they are tried."""

REWRITES: Mapping[str, tuple[Rewrite, ...]] = {
    kind: tuple(
        Rewrite(table["pattern"], table["sentence"], frozenset(table["slots"].split()))
        for table in _LANGUAGES["en"][kind]
    )
    for kind in ("elliptic", "embedded")
}
"""Rewrites of English sentences by kind, in the order in which they are tried."""

VERBS: Mapping[str, str] = {
    form: verb for verb, forms in _LANGUAGES["en"]["verbs"].items() for form in (verb, *forms.split())
}
"""The basic form of each form of a verb that English relations know."""


def around(shapes: Mapping[str, str]) -> Lazy:
    """The words of all languages that stand around facts, by name; a shape says where they stand, as in `^{}`."""

    def words(name: str) -> str:
        return union([text for content in _LANGUAGES.values() for text in content["around"].get(name, ())])

    return Lazy({name: shape.format(words(name)) for name, shape in shapes.items()})


@cache
def words(name: str) -> frozenset[str]:
    """A list of words over all languages."""
    return frozenset(" ".join(content.get("words", {}).get(name, "") for content in _LANGUAGES.values()).split())


def fragment(name: str, language: str = "en") -> str:
    """One fragment of a language's expressions."""
    return str(_LANGUAGES[language]["shared"][name])


def value_type(relation: str) -> str:
    """The type of the values of a relation: `age` for an age; `text` where it may be anything."""
    base = relation.rstrip("!")
    for content in _LANGUAGES.values():
        types = content.get("types", {})
        if base in types or base.split(" ")[0] in types:
            return str(types.get(base) or types[base.split(" ")[0]])
    return "text"


@text_cache(maxsize=1024)
def like(slot: str) -> str:
    """The slot that one named by the user's own word is like: `dog` is like `pet`."""
    words = set(slot.replace("'s", "").split())
    for content in _LANGUAGES.values():
        for likeness, text in content["like"].items():
            if words & set(text.split()):
                return str(likeness)
    return slot


def hints(slot: str, language: str, *, relation: str = "", role: str = "") -> str:
    """The words that a question about a slot would use; none where the fact itself names it.

    `relation` and `role` belong to a fact about somebody of the user's: how old is my son?
    """
    base = slot.rstrip("!")
    table: dict[str, str] = _LANGUAGES[language]["hints"]
    form = table.get(base) or table.get(like(base), "")
    theirs: str = _LANGUAGES[language].get("hints_others", {}).get(relation.rstrip("!"), "") if role else ""
    return ", ".join(filter(None, (theirs.format(role=role), form or table.get(like(role), ""))))
