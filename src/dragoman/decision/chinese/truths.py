"""Whether the user's facts meet the conditions of a Chinese rule: groups, bounds, things and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from dragoman.decision.categories import categories
from dragoman.decision.chinese.question import UserCase, user_case
from dragoman.decision.chinese.rules import Group, RuleClause, matches
from dragoman.decision.chinese.words import canonical, content, tokens
from dragoman.decision.compare import compare
from dragoman.decision.comparisons import Condition
from dragoman.decision.conditions import Clause
from dragoman.decision.conditions import _things as things_of
from dragoman.decision.numerals import normalise
from dragoman.decision.quantities import quantities
from dragoman.decision.subjects import KIN, own_word
from dragoman.text import lazy_re as re

_ASKED_FIRST = ("age", "height", "count", "weight")


@dataclass(frozen=True, slots=True)
class Truth:
    holds: bool | None
    fact: str = ""
    missing: str = ""
    ask: str = ""
    by_bound: bool = False


def rule_truth(clause: RuleClause, user: UserCase) -> Truth:
    if not clause.groups:
        named = _names_users_thing(clause, user)
        return named if named is not None else Truth(True)
    truths = [group_truth(group, user) for group in clause.groups]
    merged: list[Truth] = []
    for group, truth in zip(clause.groups, truths, strict=True):
        if merged and clause.groups[clause.groups.index(group) - 1].all_of:
            merged[-1] = _both(merged[-1], truth)
        else:
            merged.append(truth)
    for truth in merged:
        if truth.holds:
            return truth
    missing = [truth for truth in merged if truth.holds is None and truth.missing]
    if missing:
        return min(missing, key=lambda truth: _ASKED_FIRST.index(truth.missing) if truth.missing in _ASKED_FIRST else 9)
    denied = [truth for truth in merged if truth.holds is False]
    if len(denied) == len(merged):
        return denied[0]
    return Truth(None)


def _both(one: Truth, other: Truth) -> Truth:
    for truth in (one, other):
        if truth.holds is False:
            return truth
    return one if one.holds is None else other


def _names_users_thing(clause: RuleClause, user: UserCase) -> Truth | None:
    """Whether the noun that a clause opens with is the user's: "月卡不能带人" to who has a 月卡, or a 季卡."""
    subject = content(clause.subject)
    if user.pet and re.search("宠物|狗|猫", canonical(clause.subject)) and subject <= content(user.question):
        return Truth(True, user.pet)
    if not 2 <= len(subject) <= _LONGEST_SUBJECT:
        return None
    for fact in reversed(user.facts):
        truth = matches(clause.subject, fact)
        if truth is not None:
            return Truth(truth, fact if fact in user.facts else "")
    return None


_LONGEST_SUBJECT = 5


def group_truth(group: Group, user: UserCase, *, calendar: bool = False) -> Truth:  # noqa: PLR0911 - one return a kind
    if calendar and {token for token in tokens(group.text) & tokens(user.question) if token[0] == "@"}:
        return Truth(True)
    if group.counted is not None:
        return _count(group, user)
    if not group.bounds:
        if calendar and content(group.description) and content(group.description) <= content(user.question):
            return Truth(True)
        head = group.description[-2:]  # "自己咬硬东西咬坏" ends with what happened
        own = next((fact for fact in user.facts if len(content(head)) > 1 and head in fact), "")
        if calendar and own and len(group.description) > _LONGEST_SUBJECT:
            return Truth(True, own)
        for fact in reversed(user.facts):
            truth = matches(group.description, fact, user.question)
            if truth is not None:
                return Truth(truth, fact)
        return _of_status(group.description)
    things = things_of(normalise(group.text), "zh")
    clause = Clause(group.text, "permit", things=things, language="zh")
    outcomes = []
    for bound in group.bounds:
        if things:
            outcomes.append(_of_thing(bound, things, user))
            continue
        outcome = compare(bound, clause, user.situation)
        if outcome.missing == "weight":
            outcome = replace(outcome, ask=_ask_weight(outcome.ask, user))
        if outcome.missing:
            outcome = replace(outcome, ask=_in_their_word(outcome.ask, user.original))
        outcomes.append(Truth(outcome.truth, outcome.fact, outcome.missing, outcome.ask, by_bound=True))
    return next((each for holds in (False, None, True) for each in outcomes if each.holds is holds), Truth(None))


def _of_status(description: str) -> Truth:
    """Return the missing status if a rule is for students, members or residents and no fact states it."""
    taxonomy = categories("zh")
    status = next((name for name, words in taxonomy.statuses.items() if words.fullmatch(description)), "")
    return Truth(None, missing=status, ask=taxonomy.status_questions.get(status, ""))


def _count(group: Group, user: UserCase) -> Truth:  # noqa: PLR0911 - one return a kind
    """A bound in the user's own unit: "32到35周" and "我怀孕34周了"."""
    bound = group.counted
    assert bound is not None
    question = normalise(user.original)
    if re.search(rf"\d{bound.unit}", question) and normalise(group.text) in question:
        return Truth(True)  # the question names the case itself
    for fact in reversed(user.facts):
        value = _measured(fact, bound.unit, scored=bound.scored)
        described = not group.description or _tells_of(group.description, fact, user.question)
        if described and value is None and group.description and bound.unit in "天周年个月":
            return Truth(None, fact, "since", "是多久以前的事？", by_bound=True)
        if value is None or described is None:
            continue
        scale = _DAYS.get(bound.unit, 1.0)
        above = bound.low is None or value >= bound.low * scale
        below = bound.high is None or (value < bound.high * scale if bound.open_high else value <= bound.high * scale)
        return Truth(above and below, fact, by_bound=True)
    if bound.unit == "级":
        return Truth(None, missing="level", ask="您过了几级？", by_bound=True)
    if bound.scored and bound.unit[-1] not in "压糖":  # nobody is asked about their body
        return Truth(None, missing=bound.unit, ask=f"您的{bound.unit}是多少？", by_bound=True)
    lasting = re.search("满|连续|超过|至少", group.text) and not re.search("[前后内]$", group.description)
    if group.description and lasting and bound.unit in _DAYS and not _HEALTH.search(group.description):
        return Truth(None, missing="duration of it", ask=f"您{group.description}多少{bound.unit}了？", by_bound=True)
    return Truth(None)


_LEAST_SHARED = 0.6


def _tells_of(description: str, fact: str, question: str) -> bool | None:
    """Whether a fact with a number is about what is counted; the number itself is half of the match."""
    words = content(description)
    shared = sum(1 for token in words if token in canonical(fact))
    return matches(description, fact, question) or (shared >= _LEAST_SHARED * len(words) > 1 or None)


_SAME_UNIT = {"层": "层|楼", "楼": "层|楼"}
_DAYS = {"天": 1.0, "周": 7.0, "个月": 30.0, "年": 365.0}
_HEALTH = re.compile("孕|病|手术|术后|残|伤|症|疫苗")


def _measured(fact: str, unit: str, *, scored: bool = False) -> float | None:
    """The number that a fact gives in a unit, times in days; None where it gives none."""
    plain = normalise(fact).replace("半年", "6个月")
    if unit in _DAYS:
        times = re.findall(r"(?<![\d.])(\d++(?:\.\d++)?)(天|周|个月|年)(?!级|前|份|\d)", plain)
        return float(times[0][0]) * _DAYS[times[0][1]] if times else None
    shape = (
        rf"{unit}[^\d，。]{{0,3}}(?<![\d.])(\d++(?:\.\d++)?)"
        if scored
        else rf"(?<![\d.])(\d++(?:\.\d++)?)(?:{_SAME_UNIT.get(unit, unit)})"
    )
    numbers = re.findall(shape, plain)
    return float(numbers[0]) if numbers else None


def _in_their_word(ask: str, question: str) -> str:
    """Word a question back with the user's own word for somebody: 弟弟, not a general 哥哥."""
    own = own_word(question)
    return re.sub(f"(?<=您的)(?:{KIN})", own, ask, count=1) if own else ask


def _ask_weight(ask: str, user: UserCase) -> str:
    """The question back for a person's weight, never for that of a thing."""
    height = compare(Condition("height", ""), Clause("", "permit", language="zh"), user.situation).ask
    return height.replace("身高", "体重") or ask


_MEASURES: tuple[tuple[Literal["age", "weight", "height"], str], ...] = (
    ("age", "岁|年龄"),
    ("weight", "体重|公斤"),
    ("height", r"身高|\d米"),
)


def ask_for_measure(sentence: str, facts: Sequence[str], question: str) -> str:
    """The question for the age, weight or height by which a rule decides; empty where it names none."""
    user = user_case(tuple(facts), question)
    for name, words in _MEASURES:
        if re.search(words, normalise(sentence)):
            ask = compare(Condition(name, ""), Clause("", "permit", language="zh"), user.situation).ask
            return _in_their_word(_ask_weight(ask, user) if name == "weight" else ask, question)
    return ""


def _of_thing(bound: Condition, things: Sequence[str], user: UserCase) -> Truth:
    """Compare a bound on an animal or a thing with the user's facts: "十公斤以上的狗" and "我的金毛三十公斤"."""
    kind = {"weight": "mass", "height": "length", "age": "age", "count": "count"}[bound.attribute]
    for fact in reversed(user.all_facts):
        plain = canonical(fact)
        values = [quantity.value for quantity in quantities(plain) if quantity.kind == kind]
        if values and any(thing in plain for thing in things):
            above = bound.low is None or values[0] >= bound.low
            below = bound.high is None or values[0] <= bound.high
            return Truth(above and below, fact, by_bound=True)
    ask = (
        categories("zh")
        .ask.get(bound.attribute, "")
        .replace("{它}", f"您的{things[0]}")
        .replace("{您}", f"您的{things[0]}")
    )
    return Truth(None, missing=bound.attribute, ask=ask, by_bound=True)


def any_truth(truths: Sequence[Truth]) -> Truth:
    """The truth of alternatives."""
    return next(each for holds in (True, None, False) for each in truths if each.holds is holds)
