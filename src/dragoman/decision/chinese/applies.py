# ruff: noqa: E501  # a pattern is easier to check in one piece
"""Does a Chinese rule apply to this user? Its clauses against the user's facts, for what a question asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from dragoman.core.caches import text_cache
from dragoman.decision.applies import applies
from dragoman.decision.categories import categories
from dragoman.decision.chinese.rules import Group, RuleClause, groups_of, matches, rule_clauses, split_label
from dragoman.decision.chinese.words import canonical, content, tokens
from dragoman.decision.compare import compare
from dragoman.decision.comparisons import Condition, comparisons
from dragoman.decision.conditions import Clause
from dragoman.decision.conditions import _things as things_of
from dragoman.decision.facts import Situation, situation
from dragoman.decision.moments import spread
from dragoman.decision.numerals import normalise
from dragoman.decision.quantities import quantities
from dragoman.decision.subjects import KIN, USER, is_person, own_word, same, subject_of_fact
from dragoman.decision.values import LONGEST_FACT, Decision, Verdict
from dragoman.text import lazy_re as re

Target: TypeAlias = Literal["discount", "free", "pay", "price", "require", "permit", "choice", "other"]

_TARGETS: tuple[tuple[Target, re.Pattern[str]], ...] = (
    ("price", re.compile("几成|(?<!有)多少[？?]?$|(?:报|报销|退|扣|罚|赔|交|付|给|加|减|省|补)[^，。]{0,4}多少|多少钱|多少元|几块钱|价格|租金.{0,6}多少|[费票金].{0,4}多少|要给多少|得花多少|花多少|怎么收费|怎么卖|几折")),
    ("discount", re.compile("优惠|打折|折扣|半价|(?<!最)便宜|少[交付收给]|减免|减[一半]")),
    ("pay", re.compile("要[^，。]{0,6}[费钱金](?:吗|不|么|$)|(?:要|用|得|需要)(?:不要|不用)?(?:另外|再|额外)?(?:买|购|付|花|交|收|给)[^，。]{0,4}[票钱费金]|收费|收钱|要钱|要票|要付|花钱|用买")),
    ("free", re.compile("免费|免票|不要钱|不收钱")),
    ("choice", re.compile("哪|什么[^，。]{0,6}(?:适合|合适)|(?:适合|合适)[^，。]{0,6}什么")),
    ("other", re.compile("几点|什么|谁|为什么|怎么|多久|多长|多远|几[个天次岁]|多大|多高")),
    ("require", re.compile("必须|需要|要不要|需不需要|用不用|得不得|(?<!想)(?<!只)要[^，。]{1,10}[吗么不]")),
)  # fmt: skip
_CLOSED = re.compile("停航|停运|封闭|停课|检修|停业|不营业|不开门?")
_ASKED_ACT = re.compile(
    "(?:能不能|可不可以|可以|能|准|让)(?:自己|单独|一起|直接|免费|再|也|先|跟我|带他|带她){0,2}(?P<act>[^，。？?吗么不呢吧了]{1,8})"
)
_TOGETHER = re.compile("我们|咱们|[个几多]人|人数|团")
"""Speaks of a number of people: nobody else is asked how many they are."""
_MONEY = ("discount", "free", "pay", "price")
_ALONE = re.compile("自己|独自|单独|一个人|没有?大人")
_CALLED = re.compile("叫(?:做)?([一-龥]{1,4}?)(?=[，。！]|$)")
_ASKED_FIRST = ("age", "height", "count", "weight")


OUTSIDE = 0.8
"""The confidence where a rule decides because the user does not belong to its group."""


@dataclass(frozen=True, slots=True)
class Told:
    """The user's facts as one question needs them."""

    situation: Situation
    facts: tuple[str, ...]
    """The facts about whom the question is about."""
    question: str
    """The question, with what it names by a name alone: "布丁能进吗" is about a dog."""
    asked: str = ""
    """The question as it was asked."""
    pet: str = ""
    """The fact about the animal that the question names."""
    everything: tuple[str, ...] = ()
    """All facts, also those about others."""


@dataclass(frozen=True, slots=True)
class _Truth:
    holds: bool | None
    fact: str = ""
    missing: str = ""
    ask: str = ""
    by_bound: bool = False


def target(question: str) -> Target:
    """Return what a Chinese question asks for."""
    plain = normalise(question[:LONGEST_FACT])
    return next((name for name, pattern in _TARGETS if pattern.search(plain)), "permit")


@text_cache(maxsize=64)
def told(facts: tuple[str, ...], question: str) -> Told:
    """The facts about whom a question is about; 他 and 她 are whoever the last fact about somebody else was about."""
    read = situation(facts, question)
    subjects = [subject_of_fact(normalise(fact), read.people, USER) for fact in facts]
    subject = read.subject
    others = [keys for keys in subjects if keys != USER]
    if subject == USER and re.search("[他她它]", question) and others:
        subject = others[-1]
    anyone = subject == USER and not re.search("我|咱|本人", question)
    chosen = tuple(
        fact
        for fact, keys in zip(facts, subjects, strict=True)
        if same(keys, subject)
        or (anyone and keys != USER)
        or (subject == USER and fact.startswith("我") and not is_person(keys, read.people))
    )
    own = tuple(part for part in re.split("[，,。]", question)[:-1] if re.match("我|咱", part))
    pets = [
        (fact, kind)
        for fact in facts
        if (name := _CALLED.search(fact)) and name[1] in question
        for kind in ("狗", "猫")
        if kind in canonical(fact)
    ]
    full = f"{question}（{pets[0][1]}，宠物）" if pets else question
    everything = (*chosen, *own)
    return Told(replace(read, subject=subject), everything, full, question, pets[0][0] if pets else "", facts)


def decide(sentence: str, facts: Sequence[str], question: str, *, path: str = "") -> Decision:
    """Decide a question by a sentence of the documents and the user's facts.

    `path` are the headings above the sentence. The verdict is "none" where the sentence does not speak to the question.
    """
    question, facts = question[:LONGEST_FACT], [fact[:LONGEST_FACT] for fact in facts]
    known = told(tuple(facts), question)
    wanted = target(question)
    asked = known.question
    heading = path.rsplit(maxsplit=1)[-1] if path.split() else ""
    # A heading or label that the question names is its matter, not a group of people.
    groups = [each for each in (split_label(sentence)[0], heading) if each and not content(each) <= content(asked)]
    heading, named = next(
        ((each, fact) for each in groups for fact in reversed(known.facts) if matches(each, fact) is True),
        (heading, ""),
    )
    about = _is_about(f"{path} {sentence}", asked)
    if not about and not content(f"{path} {sentence}") & content(asked):
        return Decision("none", reason="another topic", confidence=0.1)
    verb = _verb(question) if wanted == "permit" else ""
    clauses = [_under(clause, heading) if named else clause for clause in rule_clauses(sentence, verb)]
    speaks = any(_speaks_to(clause, path, asked) for clause in clauses)  # the clauses of a sentence share its matter
    rulings = [ruling for clause in clauses if speaks and (ruling := _ruling(clause, wanted, known)) is not None]
    if not about:  # far from the question in words: only what a fact decides counts
        rulings = [ruling for ruling in rulings if ruling[1].fact]
    if not rulings:
        outside = [
            truth for clause in clauses if clause.groups and (truth := _truth(clause, known)).by_bound and truth.fact
        ]
        if outside:  # the fact was needed to tell that the rule is for others
            return Decision("none", fact=outside[0].fact, reason="for others", confidence=0.1)
        return _by_calendar(sentence, facts, question)
    # Of two clauses of equal weight the refusal counts, since every rule must be met.
    # To belong to a group says more than to stand outside of another.
    outside_of = [ruling for ruling in rulings if ruling[1].fact and ruling[1].confidence <= OUTSIDE]
    if any(ruling[1].fact and ruling not in outside_of for ruling in rulings):
        rulings = [ruling for ruling in rulings if ruling not in outside_of]
    return max(rulings, key=lambda ruling: (ruling[0], ruling[1].verdict == "no"))[1]


def is_exception(sentence: str) -> bool:
    """Whether a sentence takes something back from the one before it: "坐电动轮椅的住户除外。"."""
    return re.match("[^，。]{1,20}除外。?$|但|不过", sentence) is not None


def _under(clause: RuleClause, heading: str) -> RuleClause:
    """A clause under a heading that names the user: "孕妇" over "满36周的不能乘机"."""
    return clause if clause.groups else replace(clause, groups=(Group(heading, (), heading),))


def _by_calendar(sentence: str, facts: Sequence[str], question: str) -> Decision:
    """Days, months and times, which the rules of both languages compare alike."""
    plain = _CLOSED.sub("关闭", sentence.replace("次年", ""))
    conditions, _, unreadable = comparisons(spread(normalise(plain)))
    if unreadable or not any(condition.attribute in ("date", "weekday", "time") for condition in conditions):
        return Decision("none", reason="no rule", confidence=0.1)
    decision = applies(plain, facts, question)
    return decision if decision.verdict in ("yes", "no") else Decision("none", reason="no rule", confidence=0.1)


def _ruling(clause: RuleClause, wanted: Target, known: Told) -> tuple[float, Decision] | None:  # noqa: PLR0911 - in order of certainty
    if not clause.groups and not clause.exceptions and _has_calendar(clause.text):
        return None
    truth = _truth(clause, known)
    excepted = next((t for group in clause.exceptions if (t := _group(group, known, calendar=True)).holds), None)
    if excepted is not None:
        if clause.effect in ("discount", "free", "price") and wanted not in _MONEY:
            return None
        truth = _Truth(True, excepted.fact)
        if clause.effect in ("forbid", "require"):
            return _decision(clause, "yes" if clause.effect == "forbid" else "no", truth, 3.0)
        return _decision(clause, "no", truth, 3.0)
    if truth.holds is None:
        of_others = truth.missing == "count" and not _TOGETHER.search(known.asked)
        return _open(clause, truth, wanted) if truth.missing and not of_others and clause.effect != "none" else None
    ruling = _RULINGS.get(wanted, _permission)(clause, truth, known)
    if ruling is None:
        return None
    own = content(clause.subject)
    # What the question itself names counts before what is said of all: "导盲犬可以" before "宠物不能".
    return (ruling[0] + 1.0, ruling[1]) if len(own) > 1 and own <= content(known.asked) else ruling


def _permission(clause: RuleClause, truth: _Truth, known: Told) -> tuple[float, Decision] | None:  # noqa: PLR0911 - one return an effect
    grouped = bool(clause.groups)
    match clause.effect, clause.only:
        case "permit", "what":
            named = grouped or bool(truth.fact) or content(clause.subject) <= content(known.question)
            if not truth.holds or not named:
                return None
            allowed = content(clause.allowed)
            free = bool(allowed) and allowed <= content(known.question)
            return _decision(clause, "yes" if free else "no", truth, 3.0 if grouped or truth.fact else 1.0)
        case "permit", "who":
            return _decision(clause, "yes" if truth.holds else "no", truth, 3.0)
        case "free", _ if re.search("可以|能", clause.text):
            return _decision(clause, "yes", truth, 2.5 if grouped else 1.0) if truth.holds else None
        case "permit", _:
            if not truth.holds:  # who is let in by a number is a bound for all others
                return _decision(clause, "no", truth, 1.4) if truth.by_bound and _is_bound(clause) else None
            return _decision(clause, "yes", truth, 2.5 if grouped else 1.0)
        case "forbid", _:
            if truth.holds:
                return _decision(clause, "no", truth, 3.0 if grouped or truth.fact else 1.0)
            return _decision(clause, "yes", truth, 1.5) if truth.by_bound and len(clause.groups) == 1 else None
        case "require", _:
            if truth.holds and grouped:
                alone = _ALONE.search(known.question) and re.search("大人|家长|成人|陪", clause.text)
                return _decision(clause, "no" if alone else "yes", truth, 1.6)
            return None
        case _:
            return None


def _is_bound(clause: RuleClause) -> bool:
    """Whether one bound on a number says whom a clause is about."""
    return len(clause.groups) == 1 and bool(clause.groups[0].bounds or clause.groups[0].counted)


def _duty(clause: RuleClause, truth: _Truth, known: Told) -> tuple[float, Decision] | None:
    if clause.effect == "require":
        if truth.holds:
            return _decision(clause, "yes", truth, 3.0 if clause.groups else 1.0)
        return _decision(clause, "no", truth, 1.5) if truth.by_bound else None
    if clause.effect in ("waive", "free") and truth.holds:
        return _decision(clause, "no", truth, 3.0 if clause.groups else 1.0)
    return None


def _money(clause: RuleClause, truth: _Truth, known: Told) -> tuple[float, Decision] | None:  # noqa: PLR0911 - one return an effect
    wanted = target(known.question)
    weight = 3.0 if clause.groups or truth.fact else 0.8
    if clause.effect == "free":
        if truth.holds:
            verdict: Verdict = "no" if wanted == "pay" else "yes"
            return _decision(clause, verdict, truth, weight + 0.1)
        return None
    if clause.effect == "discount":
        if truth.holds and wanted in ("discount", "price"):
            return _decision(clause, "yes", truth, weight)
        return None
    if clause.effect == "forbid" and truth.holds and (clause.groups or truth.fact) and wanted in ("discount", "free"):
        return _decision(clause, "no", truth, 2.8)
    if clause.effect == "require" and wanted == "pay" and re.search("[付交加买收][^，。]{0,4}[钱费票]", clause.text):
        if truth.holds is False and not truth.by_bound:
            return None
        return _decision(clause, "yes" if truth.holds else "no", truth, weight)
    if clause.effect == "price" and truth.holds and clause.groups:
        verdict = "yes"
        return _decision(clause, verdict, truth, 2.0) if wanted in ("price", "pay", "discount") else None
    return None


def _payment(clause: RuleClause, truth: _Truth, known: Told) -> tuple[float, Decision] | None:
    """Whether something must be paid: by what rules say of money, else by what they demand."""
    ruling = _money(clause, truth, known)
    return ruling if ruling is not None or clause.effect != "require" else _duty(clause, truth, known)


def _fitting(clause: RuleClause, truth: _Truth, known: Told) -> tuple[float, Decision] | None:
    """For "which": what is open to the user, or the only thing that is."""
    if clause.only == "what" and truth.holds:
        return _decision(clause, "yes", truth, 3.0)
    if clause.effect in ("permit", "price") and clause.groups:
        return _decision(clause, "yes" if truth.holds else "no", truth, 2.0)
    if clause.effect == "forbid" and clause.groups and truth.holds:
        return _decision(clause, "no", truth, 2.0)
    return None


def _plain(clause: RuleClause, truth: _Truth, known: Told) -> tuple[float, Decision] | None:
    """For open questions: a clause that is about the user by a fact."""
    return _decision(clause, "yes", truth, 2.0) if truth.holds and truth.fact and clause.groups else None


_RULINGS = {
    "permit": _permission, "require": _duty, "pay": _payment, "free": _money, "discount": _money, "price": _money,
    "choice": _fitting, "other": _plain,
}  # fmt: skip


def _is_about(text: str, question: str) -> bool:
    """Whether a sentence, under its headings, shares a word or a matter with the question."""
    both = tokens(question) & tokens(text)
    return any(len(token) > 1 and token[0] != "@" for token in both) or len(both) > 1


def _speaks_to(clause: RuleClause, path: str, question: str) -> bool:
    """Whether what a clause says of its people shares a word with the question: who they are is not what is asked."""
    act = clause.text
    for group in clause.groups:
        who = re.match("[^的]{1,20}的(?:人|孩子|读者|学员|客人|乘客)?", group.text)
        act = act.replace(who[0] if who else group.text, "")
    return not content(act) or bool(tokens(f"{path} {act}") & tokens(question))


def _verb(question: str) -> str:
    """The verb that a question for permission asks about: 退 in "学费能退吗"."""
    asked = _ASKED_ACT.search(question)
    return asked["act"][0] if asked else ""


def _has_calendar(text: str) -> bool:
    conditions, _, _ = comparisons(spread(normalise(text.replace("次年", ""))))
    return any(condition.attribute in ("date", "weekday", "time") for condition in conditions)


def _truth(clause: RuleClause, known: Told) -> _Truth:
    if not clause.groups:
        named = _named(clause, known)
        return named if named is not None else _Truth(True)
    truths = [_group(group, known) for group in clause.groups]
    merged: list[_Truth] = []
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
    return _Truth(None)


def _both(one: _Truth, other: _Truth) -> _Truth:
    for truth in (one, other):
        if truth.holds is False:
            return truth
    return one if one.holds is None else other


def _named(clause: RuleClause, known: Told) -> _Truth | None:
    """Whether the noun that a clause opens with is the user's: "月卡不能带人" to who has a 月卡, or a 季卡."""
    subject = content(clause.subject)
    if known.pet and re.search("宠物|狗|猫", canonical(clause.subject)) and subject <= content(known.question):
        return _Truth(True, known.pet)
    if not 2 <= len(subject) <= _LONGEST_SUBJECT:
        return None
    for fact in reversed(known.facts):
        truth = matches(clause.subject, fact)
        if truth is not None:
            return _Truth(truth, fact if fact in known.facts else "")
    return None


_LONGEST_SUBJECT = 5


def _group(group: Group, known: Told, *, calendar: bool = False) -> _Truth:  # noqa: PLR0911 - one return a kind
    if calendar and {token for token in tokens(group.text) & tokens(known.question) if token[0] == "@"}:
        return _Truth(True)
    if group.counted is not None:
        return _count(group, known)
    if not group.bounds:
        if calendar and content(group.description) and content(group.description) <= content(known.question):
            return _Truth(True)
        head = group.description[-2:]  # "自己咬硬东西咬坏" ends with what happened
        own = next((fact for fact in known.facts if len(content(head)) > 1 and head in fact), "")
        if calendar and own and len(group.description) > _LONGEST_SUBJECT:
            return _Truth(True, own)
        for fact in reversed(known.facts):
            truth = matches(group.description, fact, known.question)
            if truth is not None:
                return _Truth(truth, fact)
        return _of_status(group.description)
    things = things_of(normalise(group.text), "zh")
    clause = Clause(group.text, "permit", things=things, language="zh")
    outcomes = []
    for bound in group.bounds:
        if things:
            outcomes.append(_of_thing(bound, things, known))
            continue
        outcome = compare(bound, clause, known.situation)
        if outcome.missing == "weight":
            outcome = replace(outcome, ask=_ask_weight(outcome.ask, known))
        if outcome.missing:
            outcome = replace(outcome, ask=_in_their_word(outcome.ask, known.asked))
        outcomes.append(_Truth(outcome.truth, outcome.fact, outcome.missing, outcome.ask, by_bound=True))
    return next((each for holds in (False, None, True) for each in outcomes if each.holds is holds), _Truth(None))


def _of_status(description: str) -> _Truth:
    """Return the missing status if a rule is for students, members or residents and no fact states it."""
    taxonomy = categories("zh")
    status = next((name for name, words in taxonomy.statuses.items() if words.fullmatch(description)), "")
    return _Truth(None, missing=status, ask=taxonomy.status_questions.get(status, ""))


def _count(group: Group, known: Told) -> _Truth:  # noqa: PLR0911 - one return a kind
    """A bound in the user's own unit: "32到35周" and "我怀孕34周了"."""
    bound = group.counted
    assert bound is not None
    asked = normalise(known.asked)
    if re.search(rf"\d{bound.unit}", asked) and normalise(group.text) in asked:
        return _Truth(True)  # the question names the case itself
    for fact in reversed(known.facts):
        value = _measured(fact, bound.unit, scored=bound.scored)
        described = not group.description or _tells_of(group.description, fact, known.question)
        if described and value is None and group.description and bound.unit in "天周年个月":
            return _Truth(None, fact, "since", "是多久以前的事？", by_bound=True)
        if value is None or described is None:
            continue
        scale = _DAYS.get(bound.unit, 1.0)
        above = bound.low is None or value >= bound.low * scale
        below = bound.high is None or (value < bound.high * scale if bound.open_high else value <= bound.high * scale)
        return _Truth(above and below, fact, by_bound=True)
    if bound.unit == "级":
        return _Truth(None, missing="level", ask="您过了几级？", by_bound=True)
    if bound.scored and bound.unit[-1] not in "压糖":  # nobody is asked about their body
        return _Truth(None, missing=bound.unit, ask=f"您的{bound.unit}是多少？", by_bound=True)
    lasting = re.search("满|连续|超过|至少", group.text) and not re.search("[前后内]$", group.description)
    if group.description and lasting and bound.unit in _DAYS and not _HEALTH.search(group.description):
        return _Truth(None, missing="duration of it", ask=f"您{group.description}多少{bound.unit}了？", by_bound=True)
    return _Truth(None)


_LEAST_TOLD = 0.6


def _tells_of(description: str, fact: str, question: str) -> bool | None:
    """Whether a fact with a number speaks of what is counted; the number itself is half of the match."""
    wanted = content(description)
    held = sum(1 for token in wanted if token in canonical(fact))
    return matches(description, fact, question) or (held >= _LEAST_TOLD * len(wanted) > 1 or None)


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
    """A question back that names somebody as the user does: 弟弟, where the relation alone would be said as 哥哥."""
    own = own_word(question)
    return re.sub(f"(?<=您的)(?:{KIN})", own, ask, count=1) if own else ask


def _ask_weight(ask: str, known: Told) -> str:
    """The question for somebody's weight; a rule about people never asks for that of a thing."""
    height = compare(Condition("height", ""), Clause("", "permit", language="zh"), known.situation).ask
    return height.replace("身高", "体重") or ask


_MEASURES: tuple[tuple[Literal["age", "weight", "height"], str], ...] = (
    ("age", "岁|年龄"),
    ("weight", "体重|公斤"),
    ("height", r"身高|\d米"),
)


def ask_for_measure(sentence: str, facts: Sequence[str], question: str) -> str:
    """The question for the age, weight or height by which a rule decides; empty where it names none."""
    known = told(tuple(facts), question)
    for name, words in _MEASURES:
        if re.search(words, normalise(sentence)):
            ask = compare(Condition(name, ""), Clause("", "permit", language="zh"), known.situation).ask
            return _in_their_word(_ask_weight(ask, known) if name == "weight" else ask, question)
    return ""


def _of_thing(bound: Condition, things: Sequence[str], known: Told) -> _Truth:
    """A bound on an animal or a thing against what the user told of theirs: "十公斤以上的狗" and "我的金毛三十公斤"."""
    kind = {"weight": "mass", "height": "length", "age": "age", "count": "count"}[bound.attribute]
    for fact in reversed(known.everything):
        plain = canonical(fact)
        values = [quantity.value for quantity in quantities(plain) if quantity.kind == kind]
        if values and any(thing in plain for thing in things):
            above = bound.low is None or values[0] >= bound.low
            below = bound.high is None or values[0] <= bound.high
            return _Truth(above and below, fact, by_bound=True)
    ask = (
        categories("zh")
        .ask.get(bound.attribute, "")
        .replace("{它}", f"您的{things[0]}")
        .replace("{您}", f"您的{things[0]}")
    )
    return _Truth(None, missing=bound.attribute, ask=ask, by_bound=True)


def _open(clause: RuleClause, truth: _Truth, wanted: Target) -> tuple[float, Decision] | None:
    rank = {"permit": ("permit", "forbid"), "require": ("require", "waive"), "pay": ("free", "price"), "free": ("free",),
            "discount": ("discount", "free"), "price": ("free", "discount", "price"), "choice": ("permit", "price")}  # fmt: skip
    if clause.effect not in rank.get(wanted, ()):
        return None
    decision = Decision(
        "unknown",
        missing=truth.missing,
        ask=truth.ask,
        fact=truth.fact,
        clause=clause.text,
        reason=f"{truth.missing} missing",
        confidence=0.8,
    )
    return 1.1, decision


def _decision(clause: RuleClause, verdict: Verdict, truth: _Truth, weight: float) -> tuple[float, Decision]:
    outside = bool(truth.fact) and truth.holds is False
    confidence = OUTSIDE if outside else 0.9 if truth.fact else 0.7
    return weight, Decision(verdict, fact=truth.fact, clause=clause.text, reason=clause.effect, confidence=confidence)


def eligible(cell: str, facts: Sequence[str], question: str) -> Decision:
    """Whether a cell such as "7到12岁" or "18岁以上，不考试" fits the user."""
    known = told(tuple(facts), question)
    parts = [part for part in re.split("[，,；;]", cell) if part.strip()]
    truths = [
        truth
        for part in parts
        if (groups := groups_of(part, described=True))
        for truth in (_any([_group(group, known) for group in groups]),)
    ]
    for truth in truths:
        if truth.holds is False:
            return Decision("no", fact=truth.fact, clause=cell, reason="bound", confidence=0.9)
    fitting = [truth for truth in truths if truth.holds]
    if fitting and fitting[0].fact:
        return Decision("yes", fact=fitting[0].fact, clause=cell, reason="bound", confidence=0.9)
    missing = [truth for truth in truths if truth.missing]
    if missing:
        return Decision("unknown", missing=missing[0].missing, ask=missing[0].ask, clause=cell, confidence=0.8)
    return Decision("none", clause=cell, confidence=0.1)


def _any(truths: Sequence[_Truth]) -> _Truth:
    """The truth of alternatives."""
    return next(each for holds in (True, None, False) for each in truths if each.holds is holds)
