"""Does a Chinese rule apply to this user? Compares its clauses with the user's facts and the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dragoman.decision.applies import applies
from dragoman.decision.chinese.question import Target, UserCase, asked_verb, target, user_case
from dragoman.decision.chinese.rules import Group, RuleClause, groups_of, matches, rule_clauses, split_label
from dragoman.decision.chinese.truths import Truth, any_truth, ask_for_measure, group_truth, rule_truth
from dragoman.decision.chinese.words import content, tokens
from dragoman.decision.comparisons import comparisons
from dragoman.decision.moments import spread
from dragoman.decision.numerals import normalise
from dragoman.decision.values import LONGEST_FACT, Decision, Verdict
from dragoman.text import lazy_re as re

__all__ = ["OUTSIDE", "Target", "ask_for_measure", "decide", "eligible", "is_exception", "target", "told"]
told = user_case

_CLOSED = re.compile("停航|停运|封闭|停课|检修|停业|不营业|不开门?")
_TOGETHER = re.compile("我们|咱们|[个几多]人|人数|团")
"""Speaks of a number of people: nobody else is asked how many they are."""
_MONEY = ("discount", "free", "pay", "price")
_ALONE = re.compile("自己|独自|单独|一个人|没有?大人")
OUTSIDE = 0.8
"""The confidence where a rule decides because the user does not belong to its group."""


def decide(sentence: str, facts: Sequence[str], question: str, *, path: str = "") -> Decision:
    """Decide a question by a sentence of the documents and the user's facts.

    `path` are the headings above the sentence. The verdict is "none" if the sentence does not answer the question.
    """
    question, facts = question[:LONGEST_FACT], [fact[:LONGEST_FACT] for fact in facts]
    user = user_case(tuple(facts), question)
    goal = target(question)
    full_question = user.question
    heading = path.rsplit(maxsplit=1)[-1] if path.split() else ""
    # A heading or label that the question names is its subject, not a group of people.
    groups = [
        each for each in (split_label(sentence)[0], heading) if each and not content(each) <= content(full_question)
    ]
    heading, named = next(
        ((each, fact) for each in groups for fact in reversed(user.facts) if matches(each, fact) is True),
        (heading, ""),
    )
    about = _is_about(f"{path} {sentence}", full_question)
    if not about and not content(f"{path} {sentence}") & content(full_question):
        return Decision("none", reason="another topic", confidence=0.1)
    verb = asked_verb(question) if goal == "permit" else ""
    clauses = [_under(clause, heading) if named else clause for clause in rule_clauses(sentence, verb)]
    speaks = any(
        _speaks_to(clause, path, full_question) for clause in clauses
    )  # the clauses of a sentence share its subject
    rulings = [ruling for clause in clauses if speaks and (ruling := _ruling(clause, goal, user)) is not None]
    if not about:  # few words in common with the question: only a decision by a fact counts
        rulings = [ruling for ruling in rulings if ruling[1].fact]
    if not rulings:
        outside = [
            truth for clause in clauses if clause.groups and (truth := rule_truth(clause, user)).by_bound and truth.fact
        ]
        if outside:  # the fact was needed to tell that the rule is for others
            return Decision("none", fact=outside[0].fact, reason="for others", confidence=0.1)
        return _by_calendar(sentence, facts, question)
    # Of two clauses of equal weight the refusal counts, since every rule must be met.
    # Membership in one group counts more than not belonging to another.
    outside_of = [ruling for ruling in rulings if ruling[1].fact and ruling[1].confidence <= OUTSIDE]
    if any(ruling[1].fact and ruling not in outside_of for ruling in rulings):
        rulings = [ruling for ruling in rulings if ruling not in outside_of]
    return max(rulings, key=lambda ruling: (ruling[0], ruling[1].verdict == "no"))[1]


def is_exception(sentence: str) -> bool:
    """Whether a sentence is an exception to the one before: "坐电动轮椅的住户除外。"."""
    return re.match("[^，。]{1,20}除外。?$|但|不过", sentence) is not None


def _under(clause: RuleClause, heading: str) -> RuleClause:
    """Decide a clause whose heading names the user: "孕妇" over "满36周的不能乘机"."""
    return clause if clause.groups else replace(clause, groups=(Group(heading, (), heading),))


def _by_calendar(sentence: str, facts: Sequence[str], question: str) -> Decision:
    """Days, months and times, which the rules of both languages compare alike."""
    plain = _CLOSED.sub("关闭", sentence.replace("次年", ""))
    conditions, _, unreadable = comparisons(spread(normalise(plain)))
    if unreadable or not any(condition.attribute in ("date", "weekday", "time") for condition in conditions):
        return Decision("none", reason="no rule", confidence=0.1)
    decision = applies(plain, facts, question)
    return decision if decision.verdict in ("yes", "no") else Decision("none", reason="no rule", confidence=0.1)


def _ruling(clause: RuleClause, goal: Target, user: UserCase) -> tuple[float, Decision] | None:  # noqa: PLR0911 - in order of certainty
    if not clause.groups and not clause.exceptions and _has_calendar(clause.text):
        return None
    truth = rule_truth(clause, user)
    excepted = next((t for group in clause.exceptions if (t := group_truth(group, user, calendar=True)).holds), None)
    if excepted is not None:
        if clause.effect in ("discount", "free", "price") and goal not in _MONEY:
            return None
        truth = Truth(True, excepted.fact)
        if clause.effect in ("forbid", "require"):
            return _decision(clause, "yes" if clause.effect == "forbid" else "no", truth, 3.0)
        return _decision(clause, "no", truth, 3.0)
    if truth.holds is None:
        of_others = truth.missing == "count" and not _TOGETHER.search(user.original)
        return _open(clause, truth, goal) if truth.missing and not of_others and clause.effect != "none" else None
    ruling = _RULINGS.get(goal, _permission)(clause, truth, user)
    if ruling is None:
        return None
    own = content(clause.subject)
    # A clause on what the question names comes before a general one: "导盲犬可以" before "宠物不能".
    return (ruling[0] + 1.0, ruling[1]) if len(own) > 1 and own <= content(user.original) else ruling


def _permission(clause: RuleClause, truth: Truth, user: UserCase) -> tuple[float, Decision] | None:  # noqa: PLR0911 - one return an effect
    grouped = bool(clause.groups)
    match clause.effect, clause.only:
        case "permit", "what":
            named = grouped or bool(truth.fact) or content(clause.subject) <= content(user.question)
            if not truth.holds or not named:
                return None
            allowed = content(clause.allowed)
            free = bool(allowed) and allowed <= content(user.question)
            return _decision(clause, "yes" if free else "no", truth, 3.0 if grouped or truth.fact else 1.0)
        case "permit", "who":
            return _decision(clause, "yes" if truth.holds else "no", truth, 3.0)
        case "free", _ if re.search("可以|能", clause.text):
            return _decision(clause, "yes", truth, 2.5 if grouped else 1.0) if truth.holds else None
        case "permit", _:
            if not truth.holds:  # a bound that admits some excludes all others
                return _decision(clause, "no", truth, 1.4) if truth.by_bound and _is_bound(clause) else None
            return _decision(clause, "yes", truth, 2.5 if grouped else 1.0)
        case "forbid", _:
            if truth.holds:
                return _decision(clause, "no", truth, 3.0 if grouped or truth.fact else 1.0)
            return _decision(clause, "yes", truth, 1.5) if truth.by_bound and len(clause.groups) == 1 else None
        case "require", _:
            if truth.holds and grouped:
                alone = _ALONE.search(user.question) and re.search("大人|家长|成人|陪", clause.text)
                return _decision(clause, "no" if alone else "yes", truth, 1.6)
            return None
        case _:
            return None


def _is_bound(clause: RuleClause) -> bool:
    """Whether one bound on a number says whom a clause is about."""
    return len(clause.groups) == 1 and bool(clause.groups[0].bounds or clause.groups[0].counted)


def _duty(clause: RuleClause, truth: Truth, user: UserCase) -> tuple[float, Decision] | None:
    if clause.effect == "require":
        if truth.holds:
            return _decision(clause, "yes", truth, 3.0 if clause.groups else 1.0)
        return _decision(clause, "no", truth, 1.5) if truth.by_bound else None
    if clause.effect in ("waive", "free") and truth.holds:
        return _decision(clause, "no", truth, 3.0 if clause.groups else 1.0)
    return None


def _money(clause: RuleClause, truth: Truth, user: UserCase) -> tuple[float, Decision] | None:  # noqa: PLR0911 - one return an effect
    goal = target(user.question)
    weight = 3.0 if clause.groups or truth.fact else 0.8
    if clause.effect == "free":
        if truth.holds:
            verdict: Verdict = "no" if goal == "pay" else "yes"
            return _decision(clause, verdict, truth, weight + 0.1)
        return None
    if clause.effect == "discount":
        if truth.holds and goal in ("discount", "price"):
            return _decision(clause, "yes", truth, weight)
        return None
    if clause.effect == "forbid" and truth.holds and (clause.groups or truth.fact) and goal in ("discount", "free"):
        return _decision(clause, "no", truth, 2.8)
    if clause.effect == "require" and goal == "pay" and re.search("[付交加买收][^，。]{0,4}[钱费票]", clause.text):
        if truth.holds is False and not truth.by_bound:
            return None
        return _decision(clause, "yes" if truth.holds else "no", truth, weight)
    if clause.effect == "price" and truth.holds and clause.groups:
        verdict = "yes"
        return _decision(clause, verdict, truth, 2.0) if goal in ("price", "pay", "discount") else None
    return None


def _payment(clause: RuleClause, truth: Truth, user: UserCase) -> tuple[float, Decision] | None:
    """Decide whether something must be paid, by clauses on money, else by demands."""
    ruling = _money(clause, truth, user)
    return ruling if ruling is not None or clause.effect != "require" else _duty(clause, truth, user)


def _fitting(clause: RuleClause, truth: Truth, user: UserCase) -> tuple[float, Decision] | None:
    """Answer "which": by what is open to the user, or by the only thing that is."""
    if clause.only == "what" and truth.holds:
        return _decision(clause, "yes", truth, 3.0)
    if clause.effect in ("permit", "price") and clause.groups:
        return _decision(clause, "yes" if truth.holds else "no", truth, 2.0)
    if clause.effect == "forbid" and clause.groups and truth.holds:
        return _decision(clause, "no", truth, 2.0)
    return None


def _plain(clause: RuleClause, truth: Truth, user: UserCase) -> tuple[float, Decision] | None:
    """Answer an open question by a clause whose group the user belongs to by a fact."""
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
    """Whether a clause, apart from its group of people, shares a word with the question."""
    act = clause.text
    for group in clause.groups:
        who = re.match("[^的]{1,20}的(?:人|孩子|读者|学员|客人|乘客)?", group.text)
        act = act.replace(who[0] if who else group.text, "")
    return not content(act) or bool(tokens(f"{path} {act}") & tokens(question))


def _has_calendar(text: str) -> bool:
    conditions, _, _ = comparisons(spread(normalise(text.replace("次年", ""))))
    return any(condition.attribute in ("date", "weekday", "time") for condition in conditions)


_OPEN_EFFECTS: dict[Target, tuple[str, ...]] = {
    "permit": ("permit", "forbid"),
    "require": ("require", "waive"),
    "pay": ("free", "price"),
    "free": ("free",),
    "discount": ("discount", "free"),
    "price": ("free", "discount", "price"),
    "choice": ("permit", "price"),
}
"""Effects of clauses for which a missing fact is asked, by what a question asks for."""


def _open(clause: RuleClause, truth: Truth, goal: Target) -> tuple[float, Decision] | None:
    if clause.effect not in _OPEN_EFFECTS.get(goal, ()):
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


def _decision(clause: RuleClause, verdict: Verdict, truth: Truth, weight: float) -> tuple[float, Decision]:
    outside = bool(truth.fact) and truth.holds is False
    confidence = OUTSIDE if outside else 0.9 if truth.fact else 0.7
    return weight, Decision(verdict, fact=truth.fact, clause=clause.text, reason=clause.effect, confidence=confidence)


def eligible(cell: str, facts: Sequence[str], question: str) -> Decision:
    """Whether a cell such as "7到12岁" or "18岁以上，不考试" fits the user."""
    user = user_case(tuple(facts), question)
    parts = [part for part in re.split("[，,；;]", cell) if part.strip()]
    truths = [
        truth
        for part in parts
        if (groups := groups_of(part, described=True))
        for truth in (any_truth([group_truth(group, user) for group in groups]),)
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
