"""Generated houses and their rows: questions about rules with the right fact, a wrong one and none."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from dragoman.datasets.pair_rows import Entailment, PairRow
from houses.draw import Draw, Stated
from houses.fares import fare_rows, feature_rows, liking_rows
from houses.grammar import Person, Side, fill, sentence, words
from houses.rules import HouseFact, HouseRule, Verdict

SET = "houses"
_PERSONAL = frozenset(
    "age height weight residence membership qualification language level interest income diet mobility health "
    "status".split()
)
"""Attributes that each person has separately."""
_ACCESS = frozenset(
    "age height weight health membership qualification level mobility language residence income".split()
)
_KIN = (
    _ACCESS | {"status", "nights", "interest"},
    frozenset({"arrival", "day", "stay", "nights"}),
    frozenset({"budget", "payment", "status", "membership", "age", "residence", "income"}),
    frozenset({"pet", "pet_weight"}),
    frozenset({"vehicle", "vehicle_height"}),
    frozenset({"mobility", "health"}),
)
"""Attributes that a question alone cannot tell apart: a refused "May I join?" may be about age or membership."""
_FREQUENT = ("diet", "mobility", "health", "age_range")
"""Attributes of which every house has rules if they apply: frequent in questions, and beyond comparison by code."""
_EXEMPTED = ("min_age", "max_age", "residence", "weekday", "group_max", "luggage", "vehicle", "max_weight")


@dataclass(frozen=True, slots=True)
class Line:
    """Sentence or table row of a house with its rule (None: a plain statement)."""

    text: str
    heading: str
    rule: HouseRule | None = None
    question: str = ""
    verdict: Verdict = "none"
    card: str = ""
    """Card whose holders are exempt from the rule, by the next sentence."""

    @property
    def shown(self) -> str:
        return f"{self.heading}: {self.text}" if self.heading else self.text


@dataclass(slots=True)
class House:
    """House with the lines of its pages."""

    kind: str
    name: str
    lines: list[Line] = field(default_factory=list)


def generate(side: Side, *, houses: int, seed: int = 1) -> Iterator[PairRow]:
    """Yield the rows of this many houses. Train and dev share neither kinds of houses nor wordings."""
    kinds = [kind for kind, table in words("houses").items() if bool(table.get("dev")) == (side == "dev")]
    previous: House | None = None
    for number in range(houses):
        draw = Draw(random.Random(f"{seed}/{side}/{number}"), side)
        house = build(draw, kinds[number % len(kinds)])
        for at, row in enumerate(_Asking(draw, house, previous).rows()):
            yield row if row.group else _grouped(row, f"{side}{number}/{at}")
        previous = house


def build(draw: Draw, kind: str) -> House:
    """Build a house of a kind: rules about its things, and plain sentences."""
    rng, table = draw.rng, words("houses")[kind]
    names = words("world")["names"]
    slots = {name: rng.choice(names[name]) for name in ("adj", "place", "noun")}
    house = House(kind, fill(rng.choice(table["names"]), slots, rng))
    things = {name: list(table.get(name, ())) for name in ("activity", "site", "item", "ride", "venue")}
    things["dish"] = rng.sample(words("world")["dishes"]["names"], 6) if table.get("dishes") else []
    rules = [(name, entry) for name, entry in words("rules").items() if any(things[about] for about in entry["about"])]
    chosen = rng.sample(rules, min(len(rules), rng.randint(9, 14)))
    chosen += [entry for entry in rules if entry[0] in _FREQUENT and entry not in chosen]
    for name, entry in chosen:
        about = rng.choice([about for about in entry["about"] if things[about]])
        for thing in rng.sample(things[about], min(len(things[about]), rng.choice((1, 2, 2, 3)))):
            rule = draw.rule(name, thing)
            house.lines.append(_worded(draw, rule, _heading(draw, house)))
    for entry in rng.sample(words("plain")["about"], 7):
        house.lines.append(_plain(draw, house, entry, things))
    rng.shuffle(house.lines)
    return house


def _worded(draw: Draw, rule: HouseRule, heading: str) -> Line:
    text, card = draw.line(rule), ""
    if not text.endswith((".", "!", "?")) and draw.rng.random() < 0.5 and "|" not in text:
        text += "."
    if rule.name == "pet_ban" and "dog" in rule.values and draw.rng.random() < 0.6:
        text = _joined(text, fill(draw.pick(rule.table["exception"]), {}, draw.rng))
        card = "guide dog"
    elif rule.name in _EXEMPTED and draw.rng.random() < 0.25:
        card = draw.rng.choice(draw.world("memberships"))
        text = _joined(text, sentence(fill(draw.pick(words("fares")["exception"]), {"card": card}, draw.rng)))
    return Line(text, heading, rule, card=card)


def _joined(first: str, second: str) -> str:
    return f"{first if first.endswith(('.', '!')) else first + '.'} {second}"


def _plain(draw: Draw, house: House, entry: dict[str, Any], things: dict[str, list[str]]) -> Line:
    rng, names = draw.rng, words("world")["names"]
    every = [thing for some in things.values() for thing in some]
    slots = {
        "house": house.name,
        "year": str(rng.randint(1780, 2020)),
        "street": f"{rng.randint(1, 90)} {rng.choice(names['noun'])} {rng.choice(('Street', 'Lane', 'Road'))}",
        "person": f"{rng.choice(names['first'])} {rng.choice(names['place']).split()[0]}",
        "hour": draw.clock(rng.randint(8, 11)),
        "hour2": draw.clock(rng.randint(8, 12)),
        "phone": f"0{rng.randint(200, 999)} {rng.randint(10000, 99999)}",
        "n": str(rng.randint(2, 90)),
        "k": str(rng.randint(2, 5)),
        "thing": rng.choice(every),
    }
    text = sentence(fill(draw.pick(entry["say"]), slots, rng))
    question = draw.question(draw.pick(entry["ask"]), slots)
    return Line(text, _heading(draw, house), None, question, entry.get("verdict", "none"))


def _heading(draw: Draw, house: House) -> str:
    page = str(draw.rng.choice(words("houses")[house.kind]["headings"]))
    mark = draw.rng.choice([" > ", " > ", " / ", ", "])
    return draw.rng.choice([house.name, page, f"{house.name}{mark}{page}", f"{house.name}{mark}{page}", ""])


@dataclass(slots=True)
class _Asking:
    """Generator of questions about every line of a house."""

    draw: Draw
    house: House
    other: House | None

    def rows(self) -> Iterator[PairRow]:
        for line in self.house.lines:
            if line.rule is None:
                yield from self._plain_rows(line)
            else:
                yield from self._rule_rows(line, line.rule)
        yield from fare_rows(self.draw, self.house.name, words("houses")[self.house.kind])
        yield from liking_rows(self.draw, self.house.name)
        yield from feature_rows(self.draw)

    def _rule_rows(self, line: Line, rule: HouseRule) -> Iterator[PairRow]:
        wanteds: tuple[Verdict, ...] = ("yes", "no")
        for wanted in wanteds:
            for light in (False, True):
                fact = self.draw.value(rule, wanted)
                if fact is not None:
                    yield from self._asked(line, rule, fact, light=light)
        if "plain" in rule.table:
            question = self.draw.question(self.draw.pick(rule.table["plain"]), {"thing": rule.thing})
            yield from self._self_contained(line, question, "none", "no fact")
        if "which" in rule.table:
            yield from self._which(line, rule)
        if line.card == "guide dog" and rule.attribute == "pet":
            yield from self._asked(line, rule, HouseFact("pet", "dog", exempt=True))

    def _asked(self, line: Line, rule: HouseRule, fact: HouseFact, *, light: bool = False) -> Iterator[PairRow]:
        """Yield the question with its fact; unless `light`, also near but wrong combinations."""
        draw, rng = self.draw, self.draw.rng
        person = draw.about(fact)
        stated = draw.state(fact, person)
        verdict, text = rule.verdict(fact), stated.text
        is_named_pet = "pet" in rule.attribute
        pet = (
            stated.pet
            if fact.exempt or rng.random() < 0.75
            else f"my {fact.value}"
            if fact.attribute == "pet"
            else "my dog"
        )
        is_stated = is_named_pet and fact.attribute == "pet" and pet != stated.pet  # the question says it all
        if line.card and line.card != "guide dog":
            verdict, text = self._with_card(line, rule, fact, stated, verdict)
            if verdict == "unknown":
                return
        elif rng.random() < 0.15:
            text = self._compound(text, draw.distractor({rule.attribute}).text)
        place = f" at {self.house.name}" if rng.random() < 0.2 else ""
        slots = person.in_question(rng, known_as=text) | {"thing": rule.thing + place, "pet": pet}
        question = draw.question(draw.pick(rule.table["ask"]), slots)
        kind = f"{rule.attribute}/{verdict}"
        yield self._row(question, text, line.shown, kind, 1, 0 if is_stated else 1, verdict)
        if light:
            yield from self._claims(line, rule, person, pet, text, "", verdict, is_stated)
            return
        alone: Verdict = verdict if is_stated else "unknown"
        yield self._row(question, "", line.shown, f"{rule.attribute}/{alone} without", 1, None, alone)
        wrong = draw.distractor({rule.attribute})
        yield self._row(question, wrong.text, line.shown, "wrong fact", 1, 0, alone)
        stranger = self._stranger(rule, fact, person)
        if stranger is not None:
            yield self._row(question, stranger.text, line.shown, "other person", 1, 0, "unknown")
            yield PairRow(SET, question, stranger.text, kind="other person", needs=0)
        for near in self._near(line, rule, 2):
            yield self._row(question, rng.choice([text, text, wrong.text]), near.shown, "near miss", 0, 0, "none")
        for near in self._near(line, rule, 1):
            yield self._row(question, "", near.shown, "near miss", 0, None, "none")
        yield PairRow(SET, question, text, kind=rule.attribute, needs=0 if is_stated else 1)
        for _ in range(2):
            yield PairRow(SET, question, draw.distractor(kin(rule.attribute)).text, kind="wrong fact", needs=0)
        yield from self._claims(line, rule, person, pet, text, wrong.text, verdict, is_stated)

    def _with_card(
        self, line: Line, rule: HouseRule, fact: HouseFact, stated: Stated, verdict: Verdict
    ) -> tuple[Verdict, str]:
        """Apply the exception: with the card the rule does not bind."""
        draw = self.draw
        has = draw.rng.random() < 0.6
        membership = draw.state(HouseFact("membership", line.card), stated.person).text
        if not has:
            words_of = stated.person.in_fact(draw.rng)
            membership = sentence(
                fill(
                    f"{{I}} [don't|do not]{{~}} have {line.card}.", words_of, draw.rng, third=not stated.person.is_user
                )
            )
        if verdict == "yes" and draw.rng.random() < 0.5:
            return verdict, stated.text  # passes in any case
        if rule.table["shape"] == "closed_days":  # an exemption of a person opens no closed door
            return "unknown", ""
        return "yes" if verdict == "yes" or has else "no", self._compound(stated.text, membership)

    def _compound(self, first: str, second: str) -> str:
        rng = self.draw.rng
        if rng.random() < 0.5:
            first, second = second, first
        joint = rng.choice(words("fares")["joints"])
        kept = second if joint.startswith(".") or second.startswith(("I ", "I'")) else second[:1].lower() + second[1:]
        return f"{first.rstrip('.')}{joint}{kept}"

    def _stranger(self, rule: HouseRule, fact: HouseFact, person: Person) -> Stated | None:
        """Return the same attribute of another person."""
        value = HouseFact(rule.attribute, self.draw.any_value(rule))
        if rule.attribute not in _PERSONAL:
            return None
        other = self.draw.about(value)
        if (other.is_user and person.is_user) or other.name == person.name:
            other = self.draw.person(child=other.is_child)
        return self.draw.state(value, other)

    def _which(self, line: Line, rule: HouseRule) -> Iterator[PairRow]:
        draw = self.draw
        wanteds: tuple[Verdict, ...] = ("yes", "no")
        for wanted in wanteds:
            fact = draw.value(rule, wanted)
            if fact is None:
                continue
            person = draw.about(fact)
            stated = draw.state(fact, person)
            words_of = person.in_question(draw.rng, known_as=stated.text)
            question = draw.question(draw.pick(rule.table["which"]), words_of)
            fits = int(wanted == "yes")
            yield self._row(question, stated.text, line.shown, f"which {rule.attribute}/{wanted}", fits, 1, "none")
            yield PairRow(SET, question, stated.text, kind=f"which {rule.attribute}", needs=1)
            yield PairRow(SET, question, draw.distractor({rule.attribute}).text, kind="wrong fact", needs=0)
            for near in self._near(line, rule, 1):
                if near.rule is None:
                    yield self._row(question, stated.text, near.shown, "near miss", 0, 0, "none")

    def _plain_rows(self, line: Line) -> Iterator[PairRow]:
        yield from self._self_contained(line, line.question, line.verdict, "no fact")

    def _self_contained(self, line: Line, question: str, verdict: Verdict, kind: str) -> Iterator[PairRow]:
        """Yield a question whose answer no user fact changes."""
        draw = self.draw
        yield self._row(question, "", line.shown, kind, 1, None, verdict)
        avoided = {line.rule.attribute} if line.rule else set()
        wrong = draw.distractor(avoided)
        yield self._row(question, wrong.text, line.shown, kind, 1, 0, verdict)
        yield PairRow(SET, question, wrong.text, kind=kind, needs=0)
        for near in draw.rng.sample(self.house.lines, 2):
            same = line.rule is not None and near.rule is not None and near.rule.thing == line.rule.thing
            if near is not line and not (same and near.rule.name == line.rule.name) and near.question != question:  # type: ignore[union-attr]
                yield self._row(question, draw.rng.choice(["", wrong.text]), near.shown, "near miss", 0, None, "none")

    def _near(self, line: Line, rule: HouseRule, count: int) -> list[Line]:
        """Yield lines that are close but irrelevant: another thing, another attribute, another house."""
        rng = self.draw.rng
        own = [
            near
            for near in self.house.lines
            if near is not line and (near.rule is None or near.rule.thing != rule.thing)
        ]
        same = [near for near in own if near.rule is not None and near.rule.attribute == rule.attribute]
        abroad = [
            near
            for near in (self.other.lines if self.other else ())
            if near.rule is None or near.rule.thing != rule.thing
        ]
        pools = [pool for pool in (same, same, own, own, abroad) if pool]
        return [rng.choice(rng.choice(pools)) for _ in range(count)] if pools else []

    def _claims(  # noqa: PLR0917 - what a claim is made of
        self,
        line: Line,
        rule: HouseRule,
        person: Person,
        pet: str,
        text: str,
        wrong: str,
        verdict: Verdict,
        is_stated: bool,
    ) -> Iterator[PairRow]:
        """Yield claims of a reply against the evidence with the fact, with a wrong fact, and with another line."""
        draw, rng = self.draw, self.draw.rng
        slots = person.in_claim() | {"thing": rule.thing, "pet": pet.replace("my ", "your ")}
        for side in ("yes", "no"):
            claim = sentence(fill(draw.pick(rule.table[side]), slots, rng))
            if rng.random() < 0.3:
                claim = f"{sentence(side)}{rng.choice([', ', ': ', '. '])}{claim}"
            truth: Entailment = "entailed" if side == verdict else "contradicted"
            evidence = (
                f"{line.shown} {_statement(text, rng)}"
                if rng.random() < 0.7
                else f"{_statement(text, rng)} {line.shown}"
            )
            yield PairRow(SET, evidence, claim, kind=f"claim {rule.attribute}", entails=truth)
            if rng.random() < 0.5 and not is_stated:
                unsupported = f"{line.shown} {_statement(wrong, rng)}" if wrong and rng.random() < 0.5 else line.shown
                yield PairRow(SET, unsupported, claim, kind="claim without its fact", entails="neutral")
            if rng.random() < 0.3:
                for near in self._near(line, rule, 1):
                    near_text = f"{near.shown} {_statement(text, rng)}"
                    yield PairRow(SET, near_text, claim, kind="claim of another line", entails="neutral")
        if rng.random() < 0.4:
            again = Draw(rng, draw.side).line(rule)
            if not line.card:
                yield PairRow(SET, line.shown, again, kind="same rule", entails="entailed")
            changed = draw.rule(rule.name, rule.thing)
            if changed != rule and not line.card and rule.table["shape"] not in ("none_of", "ban", "contains", "reach"):
                yield PairRow(SET, line.shown, draw.line(changed), kind="other limit", entails="contradicted")

    def _row(  # noqa: PLR0917 - a row's fields in their order
        self, question: str, fact: str, text: str, kind: str, answers: float, bears: float | None, verdict: Verdict
    ) -> PairRow:
        if self.draw.rng.random() < 0.2:  # a sentence comes with the one after it
            after = self.draw.rng.choice(self.house.lines)
            if after.rule is None and kind != "no fact" and answers:
                text = _joined(text, after.text)
        return PairRow(SET, question, text, fact, kind, answers=answers, bears=bears if fact else None, verdict=verdict)


def kin(attribute: str) -> set[str]:
    """Return the attributes that a question cannot tell from this one."""
    return {attribute}.union(*(group for group in _KIN if attribute in group))


def _statement(fact: str, rng: random.Random) -> str:
    """Return a fact as evidence text."""
    return rng.choice([fact, f"The user said: {fact}", f"You told me: {fact}"])


def _grouped(row: PairRow, group: str) -> PairRow:
    return replace(row, group=group)
