"""Prices by class of visitor, and suggestions by preference: questions whose answer is not yes or no."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dragoman.datasets.pair_rows import PairRow
from houses.draw import Draw
from houses.grammar import USER, fill, sentence, words
from houses.rules import HouseFact

_SET = "houses"
_ADULT, _SENIOR = 18, 65


def fare_class(fact: HouseFact, *, under: int, card: str, town: str, statuses: tuple[str, ...]) -> str:
    """Return the class of visitor that a fact implies; empty if none."""
    if fact.attribute == "age":
        age = float(fact.value)
        return "child" if age < under else "youth" if age < _ADULT else "adult" if age < _SENIOR else "senior"
    if fact.attribute == "membership":
        return "member" if fact.value == card else ""
    if fact.attribute == "residence":
        return "resident" if fact.value == town else ""
    return str(fact.value) if fact.attribute == "status" and fact.value in statuses else ""


def fare_rows(draw: Draw, house: str, table: dict[str, Any]) -> Iterator[PairRow]:
    """Yield price rows: the row of the fact's class answers, the others do not."""
    rng, fares, names = draw.rng, words("fares"), words("world")["names"]
    thing = rng.choice([*table["venue"], *table["activity"]])
    under, card, town = rng.randint(5, 15), rng.choice(draw.world("memberships")), rng.choice(names["place"])
    statuses = tuple(rng.sample(list(words("world")["statuses"]), 2))
    heading = rng.choice([f"{house} > Prices: ", "Prices: ", f"{house}: ", ""])
    classes = ["child", "youth", "adult", "senior", *rng.sample(["member", "resident", *statuses], 2)]
    prices = dict(zip(classes, rng.sample(range(2, 60), len(classes)), strict=True))
    lines: dict[str, str] = {}
    wording = draw.pick(fares["say"])
    for name in classes:
        listed = words("world")["statuses"][name]["rule"] if name in statuses else fares["classes"][name]["words"]
        named = fill(rng.choice(listed), {"n": str(under), "card": card, "town": town}, rng)
        slots = {"Class": sentence(named), "class": named, "p": str(prices[name]), "thing": thing}
        lines[name] = heading + sentence(fill(wording, slots, rng))
    facts = [HouseFact("age", age) for age in (rng.randint(2, under - 1), rng.randint(20, 60), rng.randint(66, 85))]
    facts += [HouseFact("membership", card)] if "member" in classes else []
    facts += [HouseFact("residence", town)] if "resident" in classes else []
    facts += [HouseFact("status", status) for status in statuses if status in classes]
    for fact in rng.sample(facts, 2):
        person = draw.about(fact)
        own = fare_class(fact, under=under, card=card, town=town, statuses=statuses)
        stated = draw.state(fact, person)
        words_of = person.in_question(rng, known_as=stated.text) | {"thing": thing}
        question = draw.question(draw.pick(fares["ask"]), words_of)
        for name in [own, *rng.sample([name for name in classes if name != own], 2)]:
            right = int(name == own)
            yield _row(question, stated.text, lines[name], f"price/{'own' if right else 'other'} class", right, right)
        yield _open(question, lines[own])
        wrong = draw.distractor({"age", "membership", "residence", "status"})
        yield PairRow(_SET, question, lines[own], wrong.text, "wrong fact", answers=1, bears=0, verdict="unknown")
        yield PairRow(_SET, question, stated.text, kind="price", needs=1)
        yield PairRow(_SET, question, wrong.text, kind="wrong fact", needs=0)
        for right, name in ((True, own), (False, rng.choice([name for name in classes if name != own]))):
            slots = person.in_claim() | {"p": str(prices[name]), "thing": thing}
            claim = sentence(fill(draw.pick(fares["claim"]), slots, rng))
            truth = "entailed" if right else "contradicted"
            yield PairRow(_SET, f"{lines[own]} {stated.text}", claim, kind="claim price", entails=truth)  # type: ignore[arg-type]


def liking_rows(draw: Draw, house: str) -> Iterator[PairRow]:
    """Yield suggestions that a preference makes right or wrong."""
    rng, fares = draw.rng, words("fares")
    likings = words("world")["likings"]
    # a liking is dev's or training's as a whole
    own = [liking for number, liking in enumerate(likings) if (number % 5 == 4) == (draw.side == "dev")]
    for liking, stranger in (rng.sample(own, 2), rng.sample(own, 2)):
        person = USER if rng.random() < 0.75 else draw.person()
        statement = draw.state_text(rng.choice(liking["say"]), person)
        ask = draw.question(draw.pick(fares["recommend"]), person.in_question(rng, known_as=statement))
        for right, items in ((1, liking["fits"]), (0, liking["clashes"])):
            item = rng.choice(items)
            heading = rng.choice([f"{house} > Programme: ", f"{house}: ", "", ""])
            line = heading + sentence(fill(draw.pick(fares["recommend_line"]), {"x": item}, rng))
            yield _row(ask, statement, line, f"liking/{'fits' if right else 'clashes'}", right, 1)
            would = draw.question(draw.pick(fares["would"]), person.in_question(rng, known_as=statement) | {"x": item})
            verdict = "yes" if right else "no"
            about = heading + sentence(fill(draw.pick(fares["recommend_line"]), {"x": item}, rng))
            yield PairRow(_SET, would, about, statement, f"liking/{verdict}", answers=1, bears=1, verdict=verdict)  # type: ignore[arg-type]
            yield PairRow(_SET, would, statement, kind="liking", needs=1)
        yield PairRow(_SET, ask, statement, kind="liking", needs=1)
        wrong = draw.state_text(rng.choice(stranger["say"]), draw.person())
        yield PairRow(_SET, ask, wrong, kind="other person", needs=0)


def feature_rows(draw: Draw) -> Iterator[PairRow]:
    """Yield features that somebody seeks or avoids, with options that have or lack them: similarity would fail."""
    rng, fares, features = draw.rng, words("fares"), words("world")["features"]
    own = [entry for number, entry in enumerate(features["named"]) if (number % 6 == 5) == (draw.side == "dev")]
    for name, having, lacking in rng.sample(own, 4):
        person = USER if rng.random() < 0.8 else draw.person()
        seeks = rng.random() < 0.4
        statement = draw.state_text(fill(draw.pick(features["seek" if seeks else "avoid"]), {"x": name}, rng), person)
        ask = draw.question(draw.pick(fares["recommend"]), person.in_question(rng, known_as=statement))
        for has, option in ((True, having), (False, lacking)):
            line = sentence(fill(draw.pick(features["with" if has else "without"]), {"o": option, "x": name}, rng))
            right = int(has == seeks)
            yield _row(ask, statement, line, f"feature/{'fits' if right else 'clashes'}", right, 1)
            words_of = person.in_question(rng, known_as=statement) | {"x": option}
            would = draw.question(draw.pick(fares["would"]), words_of)
            verdict = "yes" if right else "no"
            yield PairRow(_SET, would, line, statement, f"feature/{verdict}", answers=1, bears=1, verdict=verdict)  # type: ignore[arg-type]
        yield PairRow(_SET, ask, statement, kind="feature", needs=1)


def _open(question: str, line: str) -> PairRow:
    """Yield a price question without a fact about the user."""
    return PairRow(_SET, question, line, kind="price/unknown without", answers=1, verdict="unknown")


def _row(question: str, fact: str, line: str, kind: str, *labels: float) -> PairRow:
    answers, bears = labels
    return PairRow(_SET, question, line, fact, kind, answers=answers, bears=bears, verdict="none")
