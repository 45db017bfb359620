"""Random draws of rules, facts and sentences from the vocabulary, from one random stream."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from houses.grammar import USER, Person, Side, fill, listed, sentence, wordings, words
from houses.rules import DAYS, MONTHS, HouseFact, HouseRule, Value, Verdict, ingredient_tags

_CHILDS = {"age": 14, "height": 145, "weight": 42}
"""Below this value it is a child's."""


@dataclass(frozen=True, slots=True)
class Stated:
    """Fact with its wording."""

    fact: HouseFact
    person: Person
    text: str
    pet: str = ""


@dataclass(frozen=True, slots=True)
class Draw:
    """Random stream with the wordings of one side (train or dev)."""

    rng: random.Random
    side: Side

    def pick(self, listed: Sequence[str]) -> str:
        """Draw a wording of this side."""
        return self.rng.choice(wordings(listed, self.side))

    def world(self, name: str) -> list[str]:
        return list(words("world")[name]["names"])

    def person(self, *, child: bool | None = None) -> Person:
        """Draw a person other than the user."""
        young = self.rng.random() < 0.5 if child is None else child
        relations = words("world")["relations"]["child" if young else "adult"]
        return Person(self.rng.choice(words("world")["names"]["first"]), self.rng.choice(relations), young)

    def rule(self, name: str, thing: str) -> HouseRule:  # noqa: PLR0911 - one return a shape of rule
        """Draw a rule about a thing, with limits or lists."""
        rng, table = self.rng, words("rules")[name]
        shape = table["shape"]
        if "range" in table:
            step = table.get("step", 1)
            low = rng.randrange(table["range"][0], table["range"][1] + 1, step)
            if table.get("decimal"):
                return HouseRule(name, thing, high=low / 10)
            if shape == "clock":
                return HouseRule(name, thing, high=low + rng.choice([0, 0.25, 0.5, 0.75]))
            if shape == "between":
                return HouseRule(name, thing, low=low, high=low + rng.randint(2, 5))
            return HouseRule(name, thing, low=low, high=low)
        if shape == "contains":
            return self._dish(name, thing)
        if shape == "reach":
            tag = rng.choice(["steps", "steps", "ladder", "rough", "step_free", "step_free", "step_free"])
            return HouseRule(name, thing, values=(rng.choice(words("world")["obstacles"][tag]),), tags=frozenset({tag}))
        if shape == "season":
            low = rng.randint(0, 7)
            return HouseRule(name, thing, low=low, high=rng.randint(low + 2, 10 if low else 8))
        return HouseRule(
            name, thing, values=tuple(rng.sample(self.values(name), rng.choice(_COUNTS.get(name, (1, 1, 2)))))
        )

    def values(self, name: str) -> list[str]:  # noqa: PLR0911 - one return a list
        """Return the values that a rule's list is drawn from."""
        if name in ("animals", "pet_ban"):
            return list(words("world")["animals"])
        if name == "health":
            return list(words("world")["health"])
        if name == "status":
            return list(words("world")["statuses"])
        if name == "residence":
            return list(words("world")["names"]["place"])
        if name == "weekday":
            return list(DAYS)
        if name == "offer":
            kinds = ("instruments", "sports", "subjects")
            return self.world(kinds[self.rng.randrange(3)])
        return self.world(_WORLD[name])

    def _dish(self, name: str, thing: str) -> HouseRule:
        rng, tags = self.rng, ingredient_tags()
        count = rng.choice((2, 3, 3, 4))
        marked = [item for item, kinds in tags.items() if kinds != {"plain"}]
        plain = words("world")["ingredients"]["plain"]
        some = rng.choice((0, 1, 1, 1, 2))
        chosen = rng.sample(marked, min(some, count)) + rng.sample(plain, max(0, count - some))
        rng.shuffle(chosen)
        counted = frozenset(tag for item in chosen for tag in tags[item])
        return HouseRule(name, thing, values=tuple(chosen), tags=counted)

    def line(self, rule: HouseRule, wording: str = "") -> str:
        """Return the wording of a rule."""
        rng, table = self.rng, rule.table
        template = wording or self.pick(table["say"])
        slots = {
            "thing": self._described(rule.thing),
            "n": self._limit(rule, rule.low or rule.high),
            "m": self._limit(rule, rule.high),
        }
        if table["shape"] == "season":
            slots |= {"n": MONTHS[int(rule.low)], "m": MONTHS[int(rule.high)]}
        elif table["shape"] == "reach":
            slots["way"] = rule.values[0].replace("{n}", str(rng.randint(40, 180)))
        elif rule.values:
            joint = "or" if rule.name in ("membership", "qualification", "pet_ban", "payment") else "and"
            names = [self._listed_name(rule.name, value) for value in rule.values]
            slots |= {"list": listed(names, rng, joint=joint), "x": rule.values[0]}
            slots["List"] = slots["list"]
        return sentence(fill(template, slots, rng))

    def _described(self, thing: str) -> str:
        """Return a thing, sometimes with a description."""
        if self.rng.random() < 0.85:
            return thing
        more = fill(
            self.rng.choice(words("fares")["appositions"]), {"year": str(self.rng.randint(1850, 2019))}, self.rng
        )
        return f"{thing}{more}"

    def _limit(self, rule: HouseRule, number: float) -> str:
        if rule.table["shape"] == "clock":
            return self.clock(number)
        if rule.table.get("decimal"):
            return f"{number:.1f}"
        if rule.name in ("min_nights", "group_max", "group_book") and number <= 12 and self.rng.random() < 0.3:
            return _NUMBERS[int(number)]
        return f"{int(number)}"

    def clock(self, number: float) -> str:
        hour, minute = int(number), round(number % 1 * 60)
        forms = [f"{hour}:{minute:02d}", f"{hour}:{minute:02d}", f"{(hour - 1) % 12 + 1}:{minute:02d} pm"]
        return self.rng.choice(forms) if hour > 12 else f"{hour}:{minute:02d}"

    def _listed_name(self, name: str, value: str) -> str:
        world, rng = words("world"), self.rng
        if name == "health":
            return str(rng.choice(world["health"][value]["rule"]))
        if name == "status":
            return str(rng.choice(world["statuses"][value]["rule"]))
        if name in ("animals", "pet_ban"):
            return str(world["animals"][value][0])
        if name == "weekday":
            return rng.choice([value, f"{value}s"])
        if name == "vehicle":
            return f"{value}es" if value.endswith("s") else f"{value}s"
        return value

    def value(self, rule: HouseRule, wanted: Verdict) -> HouseFact | None:
        """Draw a fact for which the rule has the wanted verdict; None if none came up."""
        for _ in range(40):
            fact = HouseFact(rule.attribute, self.any_value(rule))
            if rule.name == "qualification" and self.rng.random() < 0.4:
                fact = HouseFact(rule.attribute, fact.value, negated=True)
            if rule.verdict(fact) == wanted:
                return fact
        return None

    def any_value(self, rule: HouseRule) -> Value:  # noqa: PLR0911 - one return a shape of rule
        """Draw a value of the rule's attribute, near its limits."""
        rng, shape = self.rng, rule.table["shape"]
        if shape == "clock":
            return float(rng.randint(int(rule.high) - 4, int(rule.high) + 2) + rng.choice([0, 0.25, 0.5, 0.75]))
        if rule.table.get("decimal"):
            return round(rule.high + rng.choice([-1, 1]) * rng.uniform(0.1, 1.0), 1)
        if "range" in rule.table:
            around, step = rule.low or rule.high, rule.table.get("step", 1)
            spread = max(2, int(around * rng.choice([0.3, 0.6, 1.5])))
            low = max(1, int(around) - spread)
            near = rng.randint(low, int(max(around, rule.high)) + spread)
            return near // step * step if step > 1 else near
        if shape == "contains":
            return str(rng.choice(list(words("world")["diets"])))
        if shape == "reach":
            return str(rng.choice(list(words("world")["mobility"])))
        if shape == "season":
            return rng.choice(MONTHS)
        return rng.choice([*rule.values, *self.values(rule.name)])

    def state(self, fact: HouseFact, person: Person = USER, *, pet: str = "") -> Stated:
        """Return a fact in the user's words."""
        rng = self.rng
        pet = pet or rng.choice(words("world")["names"]["pet"])
        template = self.pick(self._sayings(fact))
        third = not person.is_user
        value = self.clock(float(fact.value)) if fact.attribute == "arrival" else str(fact.value)
        bare = value.partition(" ")[2] if value.startswith(("a ", "an ")) else value
        day = rng.randint(1, 24)
        slots = person.in_fact(rng) | {
            "v": value,
            "w": bare,
            "v_less": str(int(fact.value) - 1) if fact.attribute == "group" else "",
            "petname": pet,
            "breed": rng.choice(words("world")["breeds"]["dog"]),
            "d": str(day),
            "d3": str(day + 3),
            "month": rng.choice(MONTHS),
            "subject": rng.choice(self.world("subjects")),
            "a": "an" if value[:1] in "aeiou" else "a",
        }
        text = fill(template, slots, rng, third=third)
        return Stated(fact, person, self._voice(text), pet)

    def state_text(self, template: str, person: Person) -> str:
        """Return a wording without an attribute in the user's words."""
        return self._voice(fill(template, person.in_fact(self.rng), self.rng, third=not person.is_user))

    def _sayings(self, fact: HouseFact) -> list[str]:
        table = _sayings_table(fact)
        if fact.exempt:
            return list(words("rules")["pet_ban"]["exempt"])
        return list(table["none"] if fact.negated else table["say"])

    def _voice(self, text: str) -> str:
        """Vary the spelling: careful or careless."""
        lead = self.rng.choice(words("fares")["lead"])
        kept = text if text.startswith(("I ", "I'")) or not lead else text[:1].lower() + text[1:]
        text = f"{lead}{kept}"
        chance = self.rng.random()
        if chance < 0.7:
            text = sentence(text)
            return text if text.endswith((".", "!", "?")) else f"{text}."
        return text.rstrip(".").lower() if chance < 0.85 else text

    def question(self, template: str, slots: dict[str, str]) -> str:
        """Return a question with phrases around it, sometimes without capitals or question mark."""
        rng, around = self.rng, words("fares")
        text = sentence(fill(template, slots, rng))
        opening, closing = rng.choice(around["openings"]), rng.choice(around["closings"])
        if opening and not text.startswith(("I ", "I'")):
            text = text[:1].lower() + text[1:]
        text = sentence(f"{opening}{text}{closing}")
        return text.rstrip("?").lower() if rng.random() < 0.1 else text

    def about(self, fact: HouseFact) -> Person:
        """Return the people that a fact with this value may be about."""
        table = _sayings_table(fact)
        if table.get("own") or fact.attribute in ("budget", "pet", "pet_weight"):
            return USER
        if fact.attribute in _CHILDS and float(fact.value) < _CHILDS[fact.attribute]:
            return self.person(child=True)
        if table.get("adults") or fact.attribute in ("status", "income", "qualification") or fact.attribute == "age":
            return USER if self.rng.random() < 0.65 else self.person(child=False)
        return USER if self.rng.random() < 0.65 else self.person()

    def distractor(self, avoided: set[str]) -> Stated:
        """Draw a fact about an attribute that is not avoided."""
        rng = self.rng
        if rng.random() < 0.3:
            return Stated(HouseFact("other", ""), USER, self._voice(self.pick(words("facts")["other"]["say"])))
        rules = words("rules")
        while True:
            name = rng.choice(list(rules))
            if rules[name]["attribute"] in avoided:
                continue
            fact = HouseFact(rules[name]["attribute"], self.any_value(self.rule(name, "")))
            return self.state(fact, self.about(fact))


def _sayings_table(fact: HouseFact) -> dict[str, Any]:
    world = {"diet": "diets", "mobility": "mobility", "health": "health", "status": "statuses"}
    if fact.attribute in world:
        sayings: dict[str, Any] = words("world")[world[fact.attribute]][str(fact.value)]
        return sayings
    table: dict[str, Any] = words("facts")[fact.attribute]
    return table


_WORLD = {
    "membership": "memberships",
    "qualification": "qualifications",
    "vehicle": "vehicles",
    "payment": "payments",
    "language": "languages",
    "level": "levels",
}
_COUNTS = {
    "residence": (1,),
    "level": (1,),
    "qualification": (1, 1, 2),
    "offer": (3, 4, 5),
    "health": (1, 2, 2, 3),
    "vehicle": (1, 2, 3),
    "language": (1, 1, 2, 3),
}
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
