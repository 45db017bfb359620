"""Rules as programs: the demand of a rule, and the verdict for a value.

Every label comes from here, never from the wording.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeAlias

from houses.grammar import words

Verdict: TypeAlias = Literal["yes", "no", "unknown", "none"]
Value: TypeAlias = int | float | str

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


@dataclass(frozen=True, slots=True)
class HouseFact:
    """Fact about a person: attribute and value; `negated`: the person does not have it."""

    attribute: str
    value: Value
    negated: bool = False
    exempt: bool = False


@dataclass(frozen=True, slots=True)
class HouseRule:
    """Rule of a house about one thing."""

    name: str
    thing: str
    low: float = 0
    high: float = 0
    values: tuple[str, ...] = ()
    tags: frozenset[str] = frozenset()

    @property
    def table(self) -> Mapping[str, Any]:
        """The rule's entry in the vocabulary."""
        table: Mapping[str, Any] = words("rules")[self.name]
        return table

    @property
    def attribute(self) -> str:
        return str(self.table["attribute"])

    def verdict(self, fact: HouseFact) -> Verdict:
        """Return the rule's verdict on whether somebody may (for duties: must)."""
        if fact.attribute != self.attribute:
            return "unknown"
        return _SHAPES[self.table["shape"]](self, fact)


def _number(fact: HouseFact) -> float:
    return float(fact.value)


def _verdict(allowed: bool) -> Verdict:
    return "yes" if allowed else "no"


def _any_of(rule: HouseRule, fact: HouseFact) -> Verdict:
    if fact.negated:  # lacking one thing says nothing where another would do
        return "no" if rule.values == (fact.value,) else "unknown"
    return _verdict(str(fact.value) in rule.values)


def _none_of(rule: HouseRule, fact: HouseFact) -> Verdict:
    """Return the verdict if no listed value matches: open lists leave it unknown."""
    return "no" if str(fact.value) in rule.values else "unknown"


def _ban(rule: HouseRule, fact: HouseFact) -> Verdict:
    if fact.exempt:
        return "yes"
    return "no" if str(fact.value) in rule.values else "unknown"


def _contains(rule: HouseRule, fact: HouseFact) -> Verdict:
    avoided = set(words("world")["diets"][str(fact.value)]["avoids"])
    return _verdict(not avoided & rule.tags)


def _reach(rule: HouseRule, fact: HouseFact) -> Verdict:
    stopped = set(words("world")["mobility"][str(fact.value)]["stopped"])
    if rule.tags & {"step_free"}:
        return "yes"
    return "no" if stopped & rule.tags else "unknown"


def _clock(rule: HouseRule, fact: HouseFact) -> Verdict:
    return _verdict(_number(fact) <= rule.high)


def _closed_days(rule: HouseRule, fact: HouseFact) -> Verdict:
    return _verdict(str(fact.value) not in rule.values)


def _season(rule: HouseRule, fact: HouseFact) -> Verdict:
    return _verdict(rule.low <= MONTHS.index(str(fact.value)) <= rule.high)


_SHAPES = {
    "at_least": lambda rule, fact: _verdict(_number(fact) >= rule.low),
    "at_most": lambda rule, fact: _verdict(_number(fact) <= rule.high),
    "between": lambda rule, fact: _verdict(rule.low <= _number(fact) <= rule.high),
    "free_under": lambda rule, fact: _verdict(_number(fact) >= rule.low),  # whether they must pay
    "price": lambda rule, fact: _verdict(_number(fact) >= rule.low),  # whether their money is enough
    "clock": _clock,
    "closed_days": _closed_days,
    "season": _season,
    "any_of": _any_of,
    "any_of_status": _any_of,
    "equal": _any_of,
    "none_of": _none_of,
    "ban": _ban,
    "contains": _contains,
    "reach": _reach,
}


@cache
def ingredient_tags() -> Mapping[str, frozenset[str]]:
    """Return the tags of each ingredient."""
    tags_by_name: dict[str, set[str]] = {}
    for tag, names in words("world")["ingredients"].items():
        for name in names:
            tags_by_name.setdefault(name, set()).add(tag)
    for entry in words("world")["counts_as"]["also"]:
        name, _, tag = entry.partition(":")
        tags_by_name[name].add(tag)
    return {name: frozenset(tags) for name, tags in tags_by_name.items()}
