"""Wordings with choices and slots, their split into train and dev, and the grammar of persons."""

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
_VERB = re.compile(r"((?<![\w'])[\w']{1,40}+(?>(?: not| to)?))\{~\}")
_DEV_SHARE = 5
"""One of this many wordings, by its hash, appears in dev only."""
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
    """Read a vocabulary file."""
    return tomllib.loads((resources.files(__package__) / "words" / f"{name}.toml").read_text(encoding="utf-8"))


def wordings(listed: Sequence[str], side: Side) -> list[str]:
    """Return the wordings of a list for one side; training never sees those of dev."""
    dev = [text for text in listed if is_dev(text)] or list(listed[-1:])
    if len(dev) == len(listed):  # so short a list that nothing would be left to train on
        dev = dev[1:] or dev
    if side == "dev" or len(listed) == 1:
        return dev
    return [text for text in listed if text not in dev]


def is_dev(text: str) -> bool:
    """Whether a wording belongs to dev, by its own hash, so that new wordings change no other."""
    return zlib.crc32(text.encode()) % _DEV_SHARE == 0


@dataclass(frozen=True, slots=True)
class Person:
    """Person that a fact or question is about; `name` is empty for the user."""

    name: str = ""
    relation: str = ""
    is_child: bool = False

    @property
    def is_user(self) -> bool:
        return not self.name

    def in_fact(self, rng: random.Random) -> dict[str, str]:
        """Return the words for this person in a statement of the user."""
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
        """Return the words for this person in a question; by relation only if the fact `known_as` states it."""
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
        """Return the words for this person in a reply to the user."""
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
    """Draw the choices of a wording, fill its slots, and tidy spaces."""
    while choice := _CHOICE.search(template):
        template = template[: choice.start()] + rng.choice(choice.group(1).split("|")) + template[choice.end() :]
    template = _VERB.sub(lambda match: _conjugated(match.group(1), third), template)
    filled = _SLOT.sub(lambda match: slots.get(match.group(1), match.group(0)), template)
    filled = filled.replace(" 'm ", "'m ").replace("{~}", "")
    filled = re.sub(r"\s+", " ", filled).strip()
    return re.sub(r" ([?.,!])", r"\1", filled)


def sentence(text: str) -> str:
    """Capitalise the start of a text."""
    return text[:1].upper() + text[1:]


def listed(items: Sequence[str], rng: random.Random, *, joint: str = "and") -> str:
    """Join items as a list in prose."""
    if len(items) == 1:
        return items[0]
    separator = rng.choice([", ", ", ", "; "]) if len(items) > 2 else ", "
    return f"{separator.join(items[:-1])} {joint} {items[-1]}"


def _conjugated(verb: str, third: bool) -> str:
    if not third:
        return "have" if verb == "has" else verb
    return _THIRD.get(verb, verb)
