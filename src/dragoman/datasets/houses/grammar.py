"""Wordings with choices and slots, which of them dev keeps to itself, and the grammar of persons."""

from __future__ import annotations

import random
import re
import tomllib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal, TypeAlias

Side: TypeAlias = Literal["train", "dev"]

_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_SLOT = re.compile(r"\{(\w+)\}")
_VERB = re.compile(r"((?<![\w'])[\w']{1,40}+(?: not| to)?+)\{~\}")
_DEV_SHARE = 5
"""One wording of so many, by its own hash, appears in dev alone."""
_THIRD = {
    "don't": "doesn't",
    "do not": "does not",
    "haven't": "hasn't",
    "have not": "has not",
    "have": "has",
    "has": "has",
    "study": "studies",
    "teach": "teaches",
    "try to": "tries to",
    "go": "goes",
}


@cache
def words(name: str) -> dict[str, Any]:
    """One of the vocabulary files."""
    return tomllib.loads((resources.files(__package__) / "words" / f"{name}.toml").read_text(encoding="utf-8"))


def wordings(listed: Sequence[str], side: Side) -> list[str]:
    """The wordings of a list that a side may use: those of dev are never seen in training."""
    dev = [text for text in listed if is_dev(text)] or list(listed[-1:])
    if len(dev) == len(listed):  # so short a list that nothing would be left to train on
        dev = dev[1:] or dev
    if side == "dev" or len(listed) == 1:
        return dev
    return [text for text in listed if text not in dev]


def is_dev(text: str) -> bool:
    """Whether a wording belongs to dev; by its content, so that a new neighbour changes nothing."""
    return zlib.crc32(text.encode()) % _DEV_SHARE == 0


@dataclass(frozen=True, slots=True)
class Person:
    """Whom a fact or a question is about. `name` is empty for the user."""

    name: str = ""
    relation: str = ""
    is_child: bool = False

    @property
    def is_user(self) -> bool:
        return not self.name

    def in_fact(self, rng: random.Random) -> dict[str, str]:
        """The words for this person in a statement of the user's."""
        if self.is_user:
            return {"I": "I", "am": rng.choice(["am", "am", "'m"]), "have": "have", "s": "", "es": "", "me": "me"} | {
                "my": "my",
                "me_self": "myself",
            }
        named = rng.choice([f"my {self.relation} {self.name}", f"{self.name}, my {self.relation},", self.name])
        return {"I": named, "am": "is", "have": "has", "s": "s", "es": "es", "me": self.name} | {
            "my": f"{self.name}'s",
            "me_self": self.name,
        }

    def in_question(self, rng: random.Random, *, known_as: str = "") -> dict[str, str]:
        """The words for this person in a question; by relation only where the fact, `known_as`, says it."""
        if self.is_user:
            return {"I": "I", "Am": "Am", "am": "am", "Do": "Do", "do": "do", "Have": "Have", "have": "have"} | {
                "me": "me",
                "my": "my",
                "s": "",
                "es": "",
            }
        named = self.name
        if f"my {self.relation}" in known_as and rng.random() < 0.4:
            named = f"my {self.relation}"
        return {"I": named, "Am": "Is", "am": "is", "Do": "Does", "do": "does", "Have": "Has", "have": "has"} | {
            "me": named,
            "my": f"{named}'s",
            "s": "s",
            "es": "es",
        }

    def in_claim(self) -> dict[str, str]:
        """The words for this person in a reply to the user."""
        if self.is_user:
            return {"You": "You", "you": "you", "your": "your", "Your": "Your", "are": "are", "do": "do"} | {
                "have": "have",
                "s": "",
                "ies": "y",
            }
        return {"You": self.name, "you": self.name, "your": f"{self.name}'s", "Your": f"{self.name}'s"} | {
            "are": "is",
            "do": "does",
            "have": "has",
            "s": "s",
            "ies": "ies",
        }


USER = Person()


def fill(template: str, slots: Mapping[str, str], rng: random.Random, *, third: bool = False) -> str:
    """A wording with its choices made and its slots filled, tidied: one space, no space before a mark."""
    while choice := _CHOICE.search(template):
        template = template[: choice.start()] + rng.choice(choice.group(1).split("|")) + template[choice.end() :]
    template = _VERB.sub(lambda match: _conjugated(match.group(1), third), template)
    filled = _SLOT.sub(lambda match: slots.get(match.group(1), match.group(0)), template)
    filled = filled.replace(" 'm ", "'m ").replace("{~}", "")
    filled = re.sub(r"\s+", " ", filled).strip()
    return re.sub(r" ([?.,!])", r"\1", filled)


def sentence(text: str) -> str:
    """A text with a capital at its start."""
    return text[:1].upper() + text[1:]


def listed(items: Sequence[str], rng: random.Random, *, joint: str = "and") -> str:
    """Items as people list them."""
    if len(items) == 1:
        return items[0]
    separator = rng.choice([", ", ", ", "; "]) if len(items) > 2 else ", "
    return f"{separator.join(items[:-1])} {joint} {items[-1]}"


def _conjugated(verb: str, third: bool) -> str:
    if not third:
        return "have" if verb == "has" else verb
    return _THIRD.get(verb, verb)
