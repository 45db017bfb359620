# ruff: noqa: E501  # a pattern is easier to check in one piece
"""Decisions by category: food that a user avoids, and steps that stop a wheelchair or pram."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.decision.categories import Categories, categories
from dragoman.decision.facts import Known, Situation
from dragoman.decision.numerals import normalise
from dragoman.decision.subjects import USER, same, singular
from dragoman.decision.values import Decision
from dragoman.text import lazy_re as re
from dragoman.text.language import Language, language

_ON_TERMS = re.compile(
    r"\bno \w+ (?:kitchen|menu|meals?|food|dish(?:es)?)\b|\bonly\b|\bmust\b|\bneeds? to\b|\b(?:tell|let|ask|order|inform)\b|\b(?:before|after)\b"
)
"""Serves a diet on terms that code does not compare: ordered in time, at some places only."""
_WITHOUT_FOOD = re.compile(
    r"\b(?:no|without|free of|free from|not contain|instead of)(?: any)?(?: [a-z]+,?)? $|不含$|无$|没有$"
)
_FREE_OF = re.compile(r"[- ]free\b")
_HAS = re.compile(
    r"\b(?:contains?|containing|made|comes? with|served with|baked|cooked|fried|includes?|filled|topped|traces|has|have|with|ingredients?)\b"
    r"|含|里有|配|用|放|加"
)
_NOT_FOR = re.compile(
    r"\b(?:not|un)(?: ?be)? ?(?:suitable|accessible|recommended|possible|allowed|permitted)\b|\bno (?:wheelchair|pram)|不适合|不便"
)
_FOR = re.compile(r"\b(?:suitable|accessible|fine|easy|open|welcome)\b|适合|可通行")
_NO_BARRIER = re.compile(r"\b(?:no|without|avoid\w*|0)(?: any)? (?:steps|stairs)|没有台阶|无台阶")
_NO_EASE = re.compile(
    r"\b(?:no|without(?: a)?|not (?:yet )?(?:have|has) an?) (?:lifts?|ramps?|elevators?|step-free)|\b(?:lift|elevator|ramp)s? (?:is|are) (?:out of|closed|broken|not)"
    r"|没有(?:电梯|坡道|无障碍)|无电梯"
)
_WHEELS = {
    "wheelchair": "wheelchair",
    "mobility scooter": "wheelchair",
    "rollator": "wheelchair",
    "轮椅": "轮椅",
    "婴儿车": "婴儿车",
}
_WHEELS |= dict.fromkeys(("pram", "pushchair", "buggy", "stroller"), "pram")
_NAMED_AID = {
    "wheelchair": re.compile(r"\b(?:wheelchairs?|wheelchair users)\b"),
    "pram": re.compile(r"\b(?:prams?|pushchairs?|bugg(?:y|ies)|strollers?)\b"),
    "轮椅": re.compile("轮椅"),
    "婴儿车": re.compile("婴儿车"),
}


def decide(rule: str, situation: Situation, shared: float) -> Decision | None:
    """The verdict on may I (eat this, go there), or None where no category links a fact with the rule."""
    tongue = language(rule)
    text = normalise(rule)
    taxonomy = categories(tongue)
    return _diet(text, situation, taxonomy, shared) or _mobility(text, situation, taxonomy, shared)


def avoided_food(situation: Situation, language: Language) -> dict[str, Known]:
    """Return the food that the person asked about does not eat, each with the fact that says so."""
    taxonomy = categories(language)
    theirs = [k for k in situation.known if same(k.subject, situation.subject)]
    avoided = {fact.name: fact for fact in theirs if fact.attribute == "avoids"}
    for fact in theirs:
        if fact.attribute == "diet":
            avoided.update(dict.fromkeys(taxonomy.diets.get(fact.name, ()), fact))
    return avoided


def offending(dish: str, avoided: Mapping[str, Known], language: Language) -> str:
    """Return the first avoided food that a dish names; empty if there is none."""
    taxonomy, text = categories(language), normalise(dish)
    for match in taxonomy.food_words.finditer(text):
        word = singular(match["word"])
        if _WITHOUT_FOOD.search(text[: match.start()]) or _FREE_OF.match(text, match.end()):
            continue
        if any(word == food or word in taxonomy.food.get(food, ()) for food in avoided):
            return word
    return ""


def suits(dish: str, avoided: Mapping[str, Known], language: Language) -> bool:
    """Whether a dish says of itself that it suits: "vegan" for a vegan, "gluten-free" for a coeliac."""
    taxonomy, text = categories(language), normalise(dish)
    named = [diet for diet in taxonomy.diets if re.search(rf"(?<!not )(?<!non-)\b{re.escape(diet)}\b", text)]
    free = {singular(m["word"]) for m in taxonomy.food_words.finditer(text) if _FREE_OF.match(text, m.end())}
    covered = free.union(*(taxonomy.diets[diet] for diet in named))
    return bool(covered) and all(food in covered for food in avoided)


def _diet(text: str, situation: Situation, taxonomy: Categories, shared: float) -> Decision | None:
    avoided = avoided_food(situation, language(text))
    diets = [k for k in situation.known if k.attribute == "diet" and same(k.subject, situation.subject)]
    if not avoided or shared < 0.3:
        return None
    named = list(taxonomy.food_words.finditer(text))
    has = _HAS.search(text) is not None
    absent = set()
    for match in named:
        word = singular(match["word"])
        if _WITHOUT_FOOD.search(text[: match.start()]) or _FREE_OF.match(text, match.end()):
            absent.add(word)
            continue
        for food, fact in avoided.items():
            if has and (word == food or word in taxonomy.food.get(food, ()) or food in taxonomy.food.get(word, ())):
                reason = f"{word} is {food}" if word != food else f"contains {word}"
                return Decision("no", fact=fact.text, clause=match[0], reason=reason, confidence=0.9, is_settled=True)
    return _allowed(text, avoided, diets, absent, taxonomy)


def _allowed(
    text: str, avoided: dict[str, Known], diets: list[Known], absent: set[str], taxonomy: Categories
) -> Decision | None:
    fact = next(iter(avoided.values()))
    for diet, groups in taxonomy.diets.items():
        if re.search(rf"(?<!not ){diet}", text) and not re.search(rf"\bnot (?:suitable for )?{diet}|非{diet}", text):
            if _ON_TERMS.search(text):
                return None
            covered = all(food in groups or food == diet for food in avoided)
            if covered or any(k.name == diet for k in diets):
                return Decision("yes", fact=fact.text, clause=diet, reason=f"is {diet}", confidence=0.85)
    if absent and all(food in absent or taxonomy.kinds_of_food(food) & absent for food in avoided):
        return Decision("yes", fact=fact.text, clause=f"no {min(absent)}", reason=f"no {min(absent)}", confidence=0.8)
    return None


def _mobility(text: str, situation: Situation, taxonomy: Categories, shared: float) -> Decision | None:
    aids = [
        k
        for k in situation.known
        if k.attribute == "aid" and (same(k.subject, situation.subject) or situation.subject == USER == k.subject)
    ]
    wheels = [(k, _WHEELS[k.name]) for k in aids if k.name in _WHEELS]
    if not wheels or shared < 0.3:
        return None
    fact, aid = wheels[-1]
    named = _NAMED_AID[aid].search(text)
    if named and _NOT_FOR.search(text):
        return Decision(
            "no", fact=fact.text, clause=named[0], reason=f"not for {aid}", confidence=0.95, is_settled=True
        )
    ease = taxonomy.ease.search(text)
    if (ease and not _NO_EASE.search(text)) or _NO_BARRIER.search(text):
        clause = ease[0] if ease else "no steps"
        return Decision("yes", fact=fact.text, clause=clause, reason=f"{aid}: {clause}", confidence=0.8)
    if named and _FOR.search(text):
        return Decision("yes", fact=fact.text, clause=named[0], reason=f"fit for {aid}", confidence=0.85)
    barrier = taxonomy.barrier.search(text)
    if barrier:
        return Decision("no", fact=fact.text, clause=barrier[0], reason=f"{aid}: {barrier[0]}", confidence=0.85)
    return None
