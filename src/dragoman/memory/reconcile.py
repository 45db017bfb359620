"""What a new fact does to an old one: repeats it, replaces it, or holds beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dragoman.core.values import Fact, Passage
from dragoman.memory.dating import times_of
from dragoman.memory.facts import ends, holds_many
from dragoman.memory.people import is_same, people_of
from dragoman.memory.roles import canonical
from dragoman.text import lazy_re as re

_OPPOSITE = {"likes": "dislikes", "dislikes": "likes", "diet": "avoids"}
_EXCLUSIVE = frozenset(("vegetarian", "vegan", "pescatarian", "pescetarian", "meat", "everything", "fish"))
"""Diets of which one holds at a time; somebody may be vegan and gluten-free."""
_ANYTHING = frozenset(("any", "anything"))
_NO = re.compile(r"^no |^not ", re.IGNORECASE)
_NO_LETTERS = re.compile(r"[\W_]+")
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
    """Whether a fact says again what is known."""
    return old.slot == fact.slot and _plain(old.value or old.text) == _plain(fact.value)


def replaces(fact: Fact, old: Fact, people: Mapping[str, str] | None = None) -> bool:
    """Whether a new fact makes an old one untrue: of the same subject, about the same, with another value."""
    relation, had = fact.relation.rstrip("!"), old.relation
    if had.rstrip("!") != relation and had != _OPPOSITE.get(relation):  # most pairs, told apart without any comparison
        return False
    if not is_same(fact, old, dict(people) if people is not None else people_of((old, fact))):
        return False
    same_value = _overlaps(fact.value, old.value)
    if had in (_OPPOSITE.get(relation), f"{relation}!") and same_value:
        return True
    if relation == had.rstrip("!") and bool(_NO.match(fact.value)) != bool(_NO.match(old.value)):
        return _bare(fact.value) == _bare(old.value)  # "I have no car", "I have a car"
    if holds_many(fact) and not (relation == had == "diet" and _kind(fact.value) and _kind(old.value)):
        return ends(fact) and had == relation and same_value
    return bool(relation) and had.rstrip("!") == relation


def with_known_names(fact: Fact, people: Mapping[str, str]) -> Fact:
    """A fact about "my son" as one about Leo, where Leo is the only son."""
    if fact.subject != fact.role or not fact.role:
        return fact
    named = [name for name, role in people.items() if canonical(role) == canonical(fact.role)]
    if len(named) != 1 or fact.relation in ("name", "名字"):
        return fact
    slot = f"{named[0]}'s {fact.relation}"
    return replace(fact, slot=slot, subject=named[0])


def older_than(id: str, live: Sequence[Passage]) -> Sequence[Passage]:
    """The live rows before one: two processes that learn at once must not replace each other's facts."""
    for i, passage in enumerate(live):
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
    return _plain(_ARTICLE.sub("", _NO.sub("", value)))


def _overlaps(new: str, old: str) -> bool:
    first, second = _plain(_ARTICLE.sub("", new)), _plain(_ARTICLE.sub("", old))
    if first in _ANYTHING or second in _ANYTHING:
        return True
    return bool(first and second) and (first in second or second in first)


def _plain(text: str) -> str:
    return _NO_LETTERS.sub("", text.casefold())
