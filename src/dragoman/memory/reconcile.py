"""Reconcile a new fact with an old one: it repeats it, replaces it, or both hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Generic, TypeAlias, TypeVar

from dragoman.core.values import Fact, Passage
from dragoman.memory.dating import times_of
from dragoman.memory.facts import ends, holds_many
from dragoman.memory.people import is_same, people_of
from dragoman.memory.roles import canonical
from dragoman.text import lazy_re as re

T = TypeVar("T")
_Group: TypeAlias = tuple[str, bool, bool]
_MARKS = ((False, False), (False, True), (True, False), (True, True))
_OPPOSITE = {"likes": "dislikes", "dislikes": "likes", "diet": "avoids"}
_EXCLUSIVE = frozenset(("vegetarian", "vegan", "pescatarian", "pescetarian", "meat", "everything", "fish"))
"""Diets of which one holds at a time; somebody may be vegan and gluten-free."""
_ANYTHING = frozenset(("any", "anything"))
_NO = re.compile(r"^no |^not ", re.IGNORECASE)
_NOT = re.compile(r" not(?= )", re.IGNORECASE)
_BY_NOW = re.compile(r" (?:now|yet|already|any more|anymore)$", re.IGNORECASE)
_NO_LETTERS = re.compile(r"[\W_]+")
_TO = re.compile(
    r"\bto (?P<place>[A-ZÀ-Þ][\w’'-]+(?: [A-ZÀ-Þ][\w’'-]+)?)|(?:去|飞往?|前往)(?P<zh>[^，。了的去来]{2,6})"
)
_COMES = re.compile(r"\b(?:arriv|com(?:e|es|ing)\b)|[来到]", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:an?|the|my|our|one|any) ", re.IGNORECASE)


def fact_of(passage: Passage) -> Fact:
    """The fact that a stored row holds; rows of earlier versions have neither subject nor type."""
    meta = passage.meta
    return Fact(
        passage.text,
        meta.get("slot", ""),
        meta.get("value", ""),
        meta.get("said", ""),
        meta.get("subject") or _owner(meta.get("slot", "")),
        meta.get("type", "text"),
        meta.get("role", ""),
        *times_of(meta),
    )


def repeats(fact: Fact, old: Fact) -> bool:
    """Whether a fact repeats an old one."""
    same = old.slot == fact.slot and _plain(old.value or old.text) == _plain(fact.value)
    return same and not _goes_elsewhere(fact, old)


def replaces(fact: Fact, old: Fact, people: Mapping[str, str] | None = None) -> bool:
    """Whether a new fact makes an old one untrue: same subject, same relation, another value."""
    relation, had = fact.relation.rstrip("!"), old.relation
    is_correction = bool(fact.corrects) and fact.corrects == old.text
    is_related = had.rstrip("!") == relation or had == _OPPOSITE.get(relation)
    if is_correction or not is_related:  # most pairs end here, without comparing values
        return is_correction
    # An import compares thousands of facts, so costly comparisons come last.
    is_other = fact.subject != old.subject and not is_same(
        fact, old, people_of((old, fact)) if people is None else people
    )
    if is_other or _goes_elsewhere(fact, old):
        return False
    if had in (_OPPOSITE.get(relation), f"{relation}!") and _overlaps(fact.value, old.value):
        return True
    if relation == had.rstrip("!") and _is_denied(fact) != _is_denied(old):
        return _bare(fact.value) == _bare(old.value)  # "I have no car", "I have a car"
    if holds_many(fact) and not (relation == had == "diet" and _kind(fact.value) and _kind(old.value)):
        return ends(fact) and had == relation and _overlaps(fact.value, old.value)
    return bool(relation) and had.rstrip("!") == relation


def settled(facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """Drop ends of facts that a new value in the same turn implies: "He isn't 12 any more, he's 13"."""
    stated = {(fact.subject, fact.relation) for fact in facts if not holds_many(fact)}
    return tuple(fact for fact in facts if not ends(fact) or (fact.subject, fact.relation.rstrip("!")) not in stated)


class KnownFacts(Generic[T]):
    """Facts with a row each, oldest first: finds what a new fact repeats or replaces without comparing it with all."""

    def __init__(self, known: Iterable[tuple[Fact, T]] = ()) -> None:
        self._numbers = count()
        self._by_value: dict[tuple[str, str, str], dict[int, T]] = {}
        self._groups: dict[_Group, dict[int, tuple[Fact, T]]] = {}
        for fact, row in known:
            self.add(fact, row)

    def __len__(self) -> int:
        return sum(map(len, self._groups.values()))

    def add(self, fact: Fact, row: T) -> None:
        """Add a fact as the newest."""
        number = next(self._numbers)
        self._by_value.setdefault(_value_key(fact), {})[number] = row
        self._groups.setdefault(_group(fact), {})[number] = (fact, row)

    def repeated(self, fact: Fact) -> T | None:
        """The oldest row that says the same as a fact."""
        rows = self._by_value.get((fact.slot, _plain(fact.value), _destination(fact)), {})
        return next(iter(rows.values()), None)

    def replaced(self, fact: Fact, people: Mapping[str, str] | None = None) -> list[tuple[int, T]]:
        """Return the rows that a fact makes untrue, oldest first, with their numbers for `drop`."""
        relation, _, negated = _group(fact)
        groups = {(name, *marks) for name in (relation, _OPPOSITE.get(relation, relation)) for marks in _MARKS}
        if holds_many(fact) and not ends(fact) and relation != "diet" and not fact.corrects:
            groups.discard((relation, False, negated))  # one may like tea and like coffee
        rows = sorted((number, *row) for group in groups for number, row in self._groups.get(group, {}).items())
        return [(number, row) for number, old, row in rows if replaces(fact, old, people)]

    def drop(self, numbers: Iterable[int]) -> None:
        """Drop the rows of these numbers."""
        for number in numbers:
            group = next(rows for rows in self._groups.values() if number in rows)
            old, _ = group.pop(number)
            del self._by_value[_value_key(old)][number]


def _group(fact: Fact) -> _Group:
    """Return the group in which facts may replace each other: relation, whether it ends, whether it is negated."""
    relation = fact.relation
    return relation.rstrip("!"), relation.endswith("!"), _is_denied(fact)


def _is_denied(fact: Fact) -> bool:
    """Whether a fact says that something is not so: "no car", or a whole sentence with "not"."""
    return _NO.match(fact.value) is not None or (fact.relation == "about" and _NOT.search(fact.value) is not None)


def _value_key(fact: Fact) -> tuple[str, str, str]:
    return fact.slot, _plain(fact.value or fact.text), _destination(fact)


def _destination(fact: Fact) -> str:
    """Return the destination of a journey that a fact states: "I am flying to Rome on Friday"."""
    match = _TO.search(fact.text) if fact.slot.endswith("arrival") else None
    return (match["place"] or match["zh"]).casefold() if match else ""


def _goes_elsewhere(fact: Fact, old: Fact) -> bool:
    """Whether a fact is about a journey to another place than an older one, so that both may be true."""
    place, before = _destination(fact), _destination(old)
    return place != before and (bool(place) or _COMES.search(fact.text) is not None)


def with_known_names(fact: Fact, people: Mapping[str, str]) -> Fact:
    """A fact about "my son" as one about Leo, where Leo is the only son."""
    if fact.subject != fact.role or not fact.role:
        return fact
    named = [name for name, role in people.items() if canonical(role) == canonical(fact.role)]
    if len(named) != 1 or fact.relation in ("name", "名字"):
        return fact
    slot = f"{named[0]}'s {fact.relation}"
    return replace(fact, slot=slot, subject=named[0])


def older_than(id: str, live: Sequence[tuple[Fact, Passage]]) -> Sequence[tuple[Fact, Passage]]:
    """Return current rows before one, so that two processes that learn at once do not replace each other's facts."""
    for i, (_, passage) in enumerate(live):
        if passage.id == id:
            return live[:i]
    return ()  # a newer one has replaced it already


def _owner(slot: str) -> str:
    for mark in ("'s ", "的"):
        owner, separator, _ = slot.partition(mark)
        if separator:
            return owner
    return "user"


def _kind(diet: str) -> bool:
    return any(word in _EXCLUSIVE for word in diet.casefold().split())


def _bare(value: str) -> str:
    return _plain(_ARTICLE.sub("", _NO.sub("", _NOT.sub("", _BY_NOW.sub("", value)))))


def _overlaps(new: str, old: str) -> bool:
    first, second = _plain(_ARTICLE.sub("", new)), _plain(_ARTICLE.sub("", old))
    if first in _ANYTHING or second in _ANYTHING:
        return True
    return bool(first and second) and (first in second or second in first)


def _plain(text: str) -> str:
    return _NO_LETTERS.sub("", text.casefold())
