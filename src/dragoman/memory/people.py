"""Who is who among the people and animals of a user: Leo is the son, Bruno the dog."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dragoman.core.values import Fact
from dragoman.memory.patterns import words
from dragoman.memory.roles import canonical
from dragoman.memory.subjects import USER, noun_phrase

_TOKEN = re.compile(r"[,;:()]|[^\s,;:().]+")
_CALLED = re.compile(
    r"(?P<role>[A-Za-z-]+)(?:,| called| named)(?:,)? "
    r"(?P<names>[A-ZÀ-Þ][\w'’-]*+(?:(?:, | and )[A-ZÀ-Þ][\w'’-]*+)*)"
)
_CHINESE = re.compile(
    rf"我(?:的|家的?)?(?P<role>{'|'.join(sorted(words('roles_zh') | words('pets_zh'), key=len, reverse=True))})"
)


def people_of(known: Iterable[Fact]) -> dict[str, str]:
    """The people and animals that facts name, with what they are to the user; "" where that is not known."""
    people: dict[str, str] = {}
    for fact in known:
        if fact.subject != USER:
            if fact.subject != fact.role:
                people[fact.subject] = fact.role or people.get(fact.subject, "")
            if fact.relation in ("name", "名字"):
                for name in re.split(r",\s*|(?<!\s)\s++and\s+", fact.value):
                    people.setdefault(name, fact.subject)
        if fact.subject == USER and fact.relation in ("pet", "family", "companion"):
            people.update(_called(fact.value))
        people.update({name: role for name, role in _mentioned(fact.text) if name not in people or not people[name]})
    return people


def is_same(fact: Fact, old: Fact, people: dict[str, str]) -> bool:
    """Whether two facts have the same subject: by name, or by a role that only one person has."""
    one, other = fact.subject.casefold(), old.subject.casefold()
    if one == other:
        return True
    roles = {name.casefold(): role for name, role in people.items()}
    role, old_role = canonical(fact.role or roles.get(one, "")), canonical(old.role or roles.get(other, ""))
    if USER in (one, other) or not role or role != old_role:
        return False
    unnamed = role in (canonical(one), canonical(other))
    named = {name for name, known in roles.items() if canonical(known) == role}
    return unnamed and len(named) <= 1


def _called(value: str) -> Iterable[tuple[str, str]]:
    """Who "a dog called Rex" or "two cats, Ink and Blot" names."""
    match = _CALLED.search(value)
    if match is None:
        return
    role = match["role"].lower()
    role = role if role in words("roles") | words("pets") else role.removesuffix("s")
    if role in words("roles") | words("pets"):
        for name in re.split(r",\s*|(?<!\s)\s++and\s+", match["names"]):
            yield name, role


def _mentioned(text: str) -> Iterable[tuple[str, str]]:
    tokens = _TOKEN.findall(text)
    for i, token in enumerate(tokens):
        if token.lower() in ("my", "our"):
            subject, _ = noun_phrase(tokens, i)
            if subject is not None and subject.kind in ("person", "pet") and subject.key != subject.role:
                yield subject.key, subject.role
