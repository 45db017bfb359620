"""A small taxonomy of everyday rules (food, diets, mobility, things, status), read from one TOML file a language."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from dragoman.text import lazy_re as re
from dragoman.text.language import Language


@dataclass(frozen=True, slots=True)
class Categories:
    """The taxonomy of one language. Words are singular and in lower case; patterns match plurals too."""

    food: dict[str, frozenset[str]]
    diets: dict[str, frozenset[str]]
    things: dict[str, frozenset[str]]
    statuses: dict[str, re.Pattern[str]]
    status_questions: dict[str, str]
    items: tuple[str, ...]
    aid: re.Pattern[str]
    barrier: re.Pattern[str]
    ease: re.Pattern[str]
    ask: dict[str, str]
    topics: tuple[frozenset[str], ...]
    weak: frozenset[str]
    food_words: re.Pattern[str]
    thing_words: re.Pattern[str]
    item_words: re.Pattern[str]

    def is_a(self, word: str, group: str) -> bool:
        """Whether a thing belongs to a group: a guide dog is a dog, a pet and an animal."""
        members = self.things.get(group, frozenset())
        return word == group or word in members or any(word in self.things.get(m, ()) for m in members if m != group)

    def thing_of(self, match: re.Match[str]) -> str:
        """The thing that a match of `thing_words` names: "puppies" is "puppy"."""
        word = match["word"].replace(" ", "-")
        return word if word in self.things or not word.endswith("ie") else f"{word[:-2]}y"

    def kinds_of_food(self, word: str) -> frozenset[str]:
        """The groups that an ingredient belongs to."""
        return frozenset(group for group, words in self.food.items() if word == group or word in words)


@cache
def categories(language: Language) -> Categories:
    """The taxonomy of a language."""
    source = files("dragoman.decision").joinpath("data", f"{language}.toml").read_text(encoding="utf-8")
    content = tomllib.loads(source)
    english = language == "en"
    food = _sets(content["food"])
    things = _sets(content["things"])
    edge = r"\b" if english else ""

    def pattern(words: str) -> re.Pattern[str]:
        return re.compile(rf"{edge}(?:{words}){edge}")

    def any_of(words: set[str] | tuple[str, ...]) -> re.Pattern[str]:
        forms = {*words, *(f"{word[:-1]}ie" for word in words if english and word.endswith("y"))}  # pupp(ies)
        joined = "|".join(re.escape(word).replace(r"\-", "[- ]") for word in sorted(forms, key=len, reverse=True))
        return re.compile(rf"\b(?P<word>{joined})(?:e?s)?\b" if english else rf"(?<!熊)(?P<word>{joined})")

    items = tuple(content["items"]["words"].split())
    return Categories(
        food=food,
        diets=_sets(content["diet"]),
        things=things,
        statuses={
            name: pattern("|".join(word.replace("-", " ") for word in table["words"].split()))
            for name, table in content["status"].items()
        },
        status_questions={name: table["ask"] for name, table in content["status"].items()},
        items=items,
        aid=pattern(content["mobility"]["aid"]),
        barrier=pattern(content["mobility"]["barrier"]),
        ease=pattern(content["mobility"]["ease"]),
        ask=content["ask"],
        topics=tuple(frozenset(group.split()) for group in content["topics"]["groups"]),
        weak=frozenset(content["topics"]["weak"].split()),
        food_words=any_of({*food, *(word for words in food.values() for word in words)}),
        thing_words=any_of({*things, *(word for words in things.values() for word in words)}),
        item_words=any_of(items),
    )


def _sets(table: dict[str, str]) -> dict[str, frozenset[str]]:
    return {name: frozenset(words.split()) for name, words in table.items()}
