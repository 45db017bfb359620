"""The people and animals of a user and their roles: Leo is the son, Bruno the dog."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dragoman.core.values import Fact, Turn
from dragoman.memory.patterns import words
from dragoman.memory.roles import canonical, singular
from dragoman.memory.subjects import USER, noun_phrase
from dragoman.text import lazy_re as re
from dragoman.text.ask_back import question_back
from dragoman.text.spelling import spelt

_TOKEN = re.compile(r"[,;:()?!]|[^\s,;:().?!]+")
_RECENT, _LONGEST = 6, 600
_ASKED_NAME = re.compile(r"(?:How \w+ (?:is|does)|Is|Does|Has|Can|Will) (?P<name>[A-ZÀ-Þ][\w'’-]+)")
_CALLED = re.compile(
    r"(?<![A-Za-z-])(?P<role>[A-Za-z-]{1,30}+)(?:,| called| named)(?:,)? "
    r"(?P<names>[A-ZÀ-Þ][\w'’-]*+(?:(?:, | and )[A-ZÀ-Þ][\w'’-]*+)*)"
)
_OWN = re.compile(r"\b(?:my|our)\b", re.IGNORECASE)
_CHINESE = re.compile(
    rf"我(?:的|家的?)?(?P<role>{'|'.join(sorted(words('roles_zh') | words('pets_zh'), key=len, reverse=True))})"
)


def people_of(facts: Iterable[Fact]) -> dict[str, str]:
    """Return the people and animals that facts name, with their role for the user; "" if unknown."""
    people: dict[str, str] = {}
    for fact in facts:
        if fact.subject != USER:
            if fact.subject != fact.role:
                people[fact.subject] = fact.role or people.get(fact.subject, "")
            if fact.relation in ("name", "名字"):
                for name in re.split(r",\s*|(?<!\s)\s++and\s+", fact.value):
                    people.setdefault(name, fact.subject)
        if fact.subject == USER and fact.relation in ("pet", "family", "companion", "household"):
            people.update(_called(fact.value))
        people.update({name: role for name, role in _mentioned(fact.text) if name not in people or not people[name]})
    return people


def with_kinds(question: str, facts: Iterable[Fact]) -> str:
    """Add to a question the kind of an animal named in it, since documents mention dogs, not Biscuit."""
    for name, kind in people_of(facts).items():
        if canonical(kind) in words("pets") and not re.search(rf"\b{re.escape(kind)}s?\b", question, re.IGNORECASE):
            question = re.sub(rf"(?<![\w'’-]){re.escape(name)}(?![\w-])", f"my {kind} {name}", question)
    return question


def people_in(turns: Sequence[Turn]) -> dict[str, str]:
    """Return the people and animals that a dialogue mentions, and the one whom the agent asked about last.

    A person without a name is called by their role: "my daughter" is `daughter`.
    """
    people: dict[str, str] = {}
    for turn in turns[-_RECENT:]:
        if turn.speaker == "user" and len(turn.text) <= _LONGEST:
            people.update(_mentioned(spelt(turn.text), unnamed=True))
    asked = _ASKED_NAME.match(question_back(turns[-1].text)) if turns and turns[-1].speaker == "agent" else None
    if asked and asked["name"].lower() not in words("not_names"):
        people.setdefault(asked["name"], "")
    return people


def is_same(fact: Fact, old: Fact, people: Mapping[str, str]) -> bool:
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
    """Return the names in "a dog called Rex" or "two cats, Ink and Blot"."""
    for match in _CALLED.finditer(value):
        role = match["role"].lower()
        role = role if role in words("roles") | words("pets") else singular(role)
        if role in words("roles") | words("pets"):
            for name in re.split(r",\s*|(?<!\s)\s++and\s+", match["names"]):
                yield name, role


def _mentioned(text: str, *, unnamed: bool = False) -> Iterable[tuple[str, str]]:
    if not _OWN.search(text):  # most texts, told apart without being split
        return
    tokens = _TOKEN.findall(text)
    for i, token in enumerate(tokens):
        if token.lower() in ("my", "our"):
            subject, _ = noun_phrase(tokens, i)
            if subject is None or subject.kind not in ("person", "pet"):
                continue
            if subject.key != subject.role and unnamed and not re.search(rf"\b{re.escape(subject.key)}\b", text):
                continue  # a word without a capital may be no name
            if subject.key != subject.role or (unnamed and not subject.plural):
                yield subject.key, subject.role
