"""Resolve "she" in a question about the user's people: "How old was she before?" after a turn about Mila."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dragoman.core.values import Fact, Turn
from dragoman.memory.patterns import words
from dragoman.memory.people import people_in, people_of
from dragoman.memory.roles import fits
from dragoman.text import lazy_re as re

_PRONOUN = re.compile(r"\b(?P<who>she|he|him|her|his)\b(?P<noun>(?= [a-z]))?", re.IGNORECASE)
_NAMED = re.compile(r"\bmy (?!own\b)[a-z]|(?<=[a-z] )(?!I\b|I['’])[A-ZÀ-Þ][a-z]")
_OTHER_PRONOUN = {"he": frozenset({"she", "her"}), "she": frozenset({"he", "him", "his"})}
_AFTER_OBJECT = re.compile(
    r" (?:before|now|then|again|and|or|to|in|on|at|with|for|the|a|an|any|if|when|yet"
    r"|is|was|does|can|like|eat|live|work)\b"
)
_CHINESE = re.compile("[她他](?!们|人|的名字)")
_CHINESE_NAMED = re.compile("我的?[爸妈父母儿女丈老妻太哥姐弟妹爷奶外孙]")
_WOMEN = frozenset(
    "女儿 妈妈 妈 母亲 老妈 太太 老婆 妻子 姐姐 姐 妹妹 妹 奶奶 外婆 姥姥 姑姑 阿姨 女朋友 女友 孙女 外孙女".split()
)
_MEN = frozenset(
    "儿子 爸爸 爸 父亲 老爸 丈夫 老公 哥哥 哥 弟弟 弟 爷爷 外公 姥爷 叔叔 舅舅 男朋友 男友 孙子 外孙".split()
)
_RECENT = 12
_LONGEST = 160


def speaks_of_somebody(text: str) -> bool:
    """Whether a short text says "he" or "she" without naming the person."""
    return len(text) <= _LONGEST and not _NAMED.search(text) and _PRONOUN.search(text) is not None


def with_names(text: str, history: Sequence[Turn], facts: Iterable[Fact]) -> str:
    """Replace the pronouns of a short question by the person's name or "my mother"; unchanged if unclear.

    A pronoun refers to the last-named fitting person of the latest turns.
    """
    if len(text) > _LONGEST or _NAMED.search(text):
        return text
    if _CHINESE.search(text) and not _CHINESE_NAMED.search(text):
        return _chinese(text, history, facts)
    match = _PRONOUN.search(text)
    if match is None:
        return text
    pronoun = {"him": "he", "his": "he", "her": "she"}.get(match["who"].lower(), match["who"].lower())
    people = {
        name: role
        for name, role in (people_in(history) | people_of(facts)).items()
        if role and role not in words("plural_roles") and fits(role, pronoun)
    }
    people = {name: role for name, role in people.items() if not _is_other(name, role, pronoun, people, history)}
    name = _last_named(people, history)
    if not name:
        return text
    called = name if name != people[name] else f"my {name}"
    return _PRONOUN.sub(lambda each: called + ("'s" if _owns(each, text) else ""), text)


def _is_other(name: str, role: str, pronoun: str, people: Mapping[str, str], history: Sequence[Turn]) -> bool:
    """Whether the user has used the other pronoun for somebody: a dog is either "he" or "she"."""
    other = _OTHER_PRONOUN[pronoun]
    balance = 0
    for turn in history[-_RECENT:]:
        if turn.speaker != "user" or len(turn.text) > _LONGEST:
            continue
        if _place(turn.text, name, role) < 0:
            continue
        if any(_place(turn.text, each, kind) >= 0 for each, kind in people.items() if each != name):
            continue  # in a turn that names two, the pronoun may mean either
        used = {match["who"].lower() for match in _PRONOUN.finditer(turn.text)}
        balance += bool(used & other) - bool(used & _OTHER_PRONOUN["she" if pronoun == "he" else "he"])
    return balance > 0


def _chinese(text: str, history: Sequence[Turn], known: Iterable[Fact]) -> str:
    pronoun = _CHINESE.search(text)
    others = _MEN if pronoun is not None and pronoun[0] == "她" else _WOMEN
    facts = tuple(known)
    everyone = people_of(facts) | {fact.subject: fact.role for fact in facts if fact.role}
    people = {name: role for name, role in everyone.items() if role and not role.isascii() and role not in others}
    name = _last_named(people, history)
    return _CHINESE.sub(name if name != people[name] else f"我{name}", text) if name else text


def _owns(pronoun: re.Match[str], text: str) -> bool:
    """Whether a pronoun says whose something is: "her job", and not "tell her now"."""
    form = pronoun["who"].lower()
    return form == "his" or (
        form == "her" and pronoun["noun"] is not None and not _AFTER_OBJECT.match(text, pronoun.end())
    )


def _last_named(people: Mapping[str, str], history: Sequence[Turn]) -> str:
    """Return the last-named of some people; empty if none was named lately."""
    for turn in reversed(history[-_RECENT:]):
        at = {name: _place(turn.text, name, role) for name, role in people.items()}
        name = max(at, key=lambda each: at[each], default="")
        if name and at[name] >= 0:
            return name
    return ""


def _place(text: str, name: str, role: str) -> int:
    """Return the last position at which a text names somebody, by name or else by role; -1 if it does not."""
    if not name.isascii():
        return text.rfind(name if name != role else f"我{role}")
    called = re.escape(name) if name != role else rf"(?:my|our|your) {re.escape(role)}"
    return max((match.start() for match in re.finditer(rf"\b{called}\b", text, re.IGNORECASE)), default=-1)
