"""Whom "she" means in a question about the user's people: "How old was she before?" after a turn about Mila."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dragoman.core.values import Fact, Turn
from dragoman.memory.patterns import words
from dragoman.memory.people import people_in, people_of
from dragoman.memory.roles import fits
from dragoman.text import lazy_re as re

_PRONOUN = re.compile(r"\b(?P<who>she|he|him|her|his)\b(?P<noun>(?= [a-z]))?", re.IGNORECASE)
_NAMED = re.compile(r"\bmy (?!own\b)[a-z]|(?<=[a-z] )(?!I\b|I['’])[A-ZÀ-Þ][a-z]")
_AFTER_OBJECT = re.compile(
    r" (?:before|now|then|again|and|or|to|in|on|at|with|for|the|a|an|any|if|when|yet"
    r"|is|was|does|can|like|eat|live|work)\b"
)
_RECENT = 6
_LONGEST = 160


def with_names(text: str, history: Sequence[Turn], known: Iterable[Fact]) -> str:
    """A short question with the person's name, or "my mother", in place of its pronouns; as it is where that is open.

    Meant is whoever of the user's people was named last in the latest turns and fits the pronoun.
    """
    if len(text) > _LONGEST or _NAMED.search(text):
        return text
    found = _PRONOUN.search(text)
    if found is None:
        return text
    pronoun = {"him": "he", "his": "he", "her": "she"}.get(found["who"].lower(), found["who"].lower())
    people = {
        name: role
        for name, role in (people_in(history) | people_of(known)).items()
        if role and role not in words("plural_roles") and fits(role, pronoun)
    }
    name = _last_named(people, history)
    if not name:
        return text
    called = name if name != people[name] else f"my {name}"
    return _PRONOUN.sub(lambda each: called + ("'s" if _owns(each, text) else ""), text)


def _owns(pronoun: re.Match[str], text: str) -> bool:
    """Whether a pronoun says whose something is: "her job", and not "tell her now"."""
    form = pronoun["who"].lower()
    return form == "his" or (
        form == "her" and pronoun["noun"] is not None and not _AFTER_OBJECT.match(text, pronoun.end())
    )


def _last_named(people: Mapping[str, str], history: Sequence[Turn]) -> str:
    """Who of the people was named last; nobody, where none was lately."""
    for turn in reversed(history[-_RECENT:]):
        at = {name: _place(turn.text, name, role) for name, role in people.items()}
        name = max(at, key=lambda each: at[each], default="")
        if name and at[name] >= 0:
            return name
    return ""


def _place(text: str, name: str, role: str) -> int:
    """Where a text names somebody last, by name or, without one, as the user's mother; -1 where it does not."""
    called = re.escape(name) if name != role else rf"(?:my|our|your) {re.escape(role)}"
    return max((found.start() for found in re.finditer(rf"\b{called}\b", text, re.IGNORECASE)), default=-1)
