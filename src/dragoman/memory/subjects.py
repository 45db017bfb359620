"""Subjects of English clauses: the user, and the user's people, animals and things."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from dragoman.memory.patterns import VERBS, words
from dragoman.text import lazy_re as re

USER = "user"
_SPACED = re.compile(r" (?=[,;:)])|(?<=\() ")
_ENDS = frozenset(
    "in on at to for with from by of who which that until till about as than or and but so because if when where near "
    "around into onto after before without during since next this today tomorrow instead please too , ; : ( ) although "
    "though while plus - – —".split()
)
"""Words that end a noun phrase."""
_ADVERBS = frozenset(
    "also now currently actually really still just recently both then already only usually often always mostly even "
    "certainly definitely probably sometimes generally normally all there too never not".split()
)
_NO_NAMES = frozenset(
    "alone ok okay welcome old older young too either eligible safe big small tall short blind deaf pregnant vegan "
    "vegetarian disabled diabetic ill bed car seat food ticket card pass price menu lead leash room toy bag class "
    "course group school party age name birthday who which do does want wants think gets still ever yet today "
    "tomorrow am enough less more half any some his her their mine yours along here there over back home".split()
)
_NOUNS_TOO = frozenset(("work", "love", "name", "call", "plan", "book"))
_LONGEST = 6


@dataclass(frozen=True, slots=True)
class Subject:
    """Whom a clause is about.

    `key` is "user", a name or a noun ("Leo", "dog"), `phrase` says it in the user's words ("My son Leo"), `role` is
    what it is to the user ("son").
    """

    key: str
    phrase: str
    role: str = ""
    plural: bool = False

    @property
    def kind(self) -> str:
        """`user`, `we`, `person`, `pet`, `thing`, or `matter` for what has no properties of its own."""
        if self.key == USER:
            return "we" if self.phrase == "We" else "user"
        if {self.role, self.role.removesuffix("s")} & words("pets"):
            return "pet"
        if self.role in words("roles") | words("plural_roles") | {"person"}:
            return "person"
        return "thing" if self.role.rpartition(" ")[2] in words("things") else "matter"


I = Subject(USER, "I")  # noqa: E741 - the pronoun
WE = Subject(USER, "We", plural=True)


def noun_phrase(tokens: Sequence[str], start: int) -> tuple[Subject | None, int]:
    """The subject that "my ..." at `start` names, and where it ends: "my two kids", "our dog Bruno"."""
    end = start + 1
    while end < len(tokens) and end - start <= _LONGEST:
        low = tokens[end].lower()
        if low in _ENDS or low in _ADVERBS:
            break
        if end > start + 1 and low in VERBS and low not in _NOUNS_TOO:
            break
        end += 1
    inner = list(tokens[start + 1 : end])
    if not inner:
        return None, end
    roles = words("roles") | words("plural_roles") | words("pets")
    at = next((i for i, word in enumerate(inner) if word.lower() in roles), None)
    if at is None or any(word.endswith(("'s", "’s", "s'", "s’")) for word in inner):
        noun = text_of(inner)
        return Subject(noun.lower(), f"My {noun}", noun.lower()), end
    if at + 1 < len(inner) and inner[at + 1].lower() in roles:  # "guide dog"
        at += 1
    role = inner[at].lower()
    names = [word for word in inner[at + 1 :] if word[:1].isalpha()]
    real = list(takewhile(_can_be_name, names))
    if len(real) < len(names):  # "my daughter allowed on the slide", "my brother Dev along"
        names = real if real and real[0][:1].isupper() else []
        end = start + 2 + at + len(names)
    plural = role in words("plural_roles")
    more = _another_name(tokens, end) if names else ""
    if more:
        names += ["and", more]
        end += 2
        plural = True
    name = " ".join(word if word == "and" else word[:1].upper() + word[1:] for word in names)
    return Subject(name or role, f"My {text_of(inner[: at + 1])} {name}".strip(), role, plural), end


def possession(tokens: Sequence[str]) -> Subject | None:
    """Return the subject that "have a camper van" introduces for a later "it"; "a daughter called Mia" is Mia."""
    following = [*tokens[1:], ""]
    tokens = [
        token
        for token, after in zip(tokens, following, strict=True)
        if token.lower() not in ("called", "named") or not after[:1].isupper()
    ]
    for i, token in enumerate(tokens[:4]):
        low = token.lower()
        if low in ("a", "an", "one", "two", "three", "four", "five", "twins"):
            subject, _ = noun_phrase(["my", *tokens[i + (low != "twins") :]], 0)
            return subject if subject is not None and subject.kind != "matter" else None
    return None


def be(subject: Subject | None) -> str:
    """The form of "be" that goes with a subject."""
    if subject is None or (subject.key != USER and not subject.plural):
        return "is"
    return "am" if subject.phrase == "I" else "are"


def within(phrase: str) -> str:
    """A subject's phrase inside a sentence: "My son" is "my son"."""
    return phrase[:1].lower() + phrase[1:] if phrase.partition(" ")[0] in ("My", "Our", "We") else phrase


def text_of(tokens: Sequence[str]) -> str:
    """Tokens as text."""
    return _SPACED.sub("", " ".join(token for token in tokens if token))


def _can_be_name(word: str) -> bool:
    """Whether a word behind a role can be a name; many people write theirs without a capital."""
    if word[:1].isupper():
        return word.lower() not in words("not_names")
    return not (
        word.endswith(("ed", "ing", "ly", "able", "ful", "free", "less", "ion"))
        or word in VERBS
        or word in words("passing")
        or word in words("not_names")
        or word in words("not_things")
        or word in _NO_NAMES
    )


def _another_name(tokens: Sequence[str], end: int) -> str:
    """The name after "and": "my kids Ben and Ella"; nothing where another clause or phrase begins."""
    if end + 1 < len(tokens) and tokens[end].lower() == "and":
        name = tokens[end + 1]
        if name[:1].isupper() and name.lower() not in words("not_names"):
            return name
    return ""
