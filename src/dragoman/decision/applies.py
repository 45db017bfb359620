"""Does a rule apply to this user? Conditions are compared by code; what code cannot decide goes to a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from dragoman.decision import hazards, prices
from dragoman.decision.categories import categories
from dragoman.decision.clauses import State, decided_by, state, unknown
from dragoman.decision.conditions import Clause, clauses
from dragoman.decision.facts import Situation, situation
from dragoman.decision.questions import Question, coverage, mentions, unshared
from dragoman.decision.questions import question as read_question
from dragoman.decision.values import LONGEST_FACT, Decision, Entailment, Premise, Verdict
from dragoman.text import lazy_re as re

__all__ = ["LONGEST_FACT", "LONGEST_RULE", "Decision", "Entailment", "Premise", "Verdict", "applies"]

_EITHER = re.compile(
    r"(?P<head>[^.;!?]{3,200}?) if (?P<conditions>[^.;!?]{3,200}(?:, or if |, if | or if )[^.;!?]{3,200})[.!]?",
    re.IGNORECASE,
)
_OR_IF = re.compile(r",? or if |, if ", re.IGNORECASE)
_LEAST_COVERAGE = 0.34
_LEAST_COVERAGE_PLAIN = 0.6
"""The same for a clause without conditions, which would say yes or no to everything."""

_MOST_UNSHARED = 0.5
_OF_PEOPLE = re.compile(
    r"(?:the |all |no |only )?(?:children|kids|child|adults|pupils|students|seniors|women|men|babies|toddlers"
    r"|teenagers)\b",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"(?:all |the |our )?(?P<group>(?:[a-z-]+ ){0,3}?(?P<head>[a-z-]+(?<![sui])s)) "
    r"(?:may|can|cannot|could|must|are|have to|need|should|do|don't|pay|get|receive|will|enter|travel)\b"
)
_ANYONE = frozenset(
    "visitors guests persons customers passengers users swimmers readers travellers participants adults others".split()
)
_ROOT = 6
_CAPACITY = frozenset(("weight", "length", "height", "count"))
_HOURS_OF_ONE_DAY = re.compile(
    r"\d[^,;]{0,40}[,;] (?:and )?(?:on )?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekends?|weekdays?)"
    r"[^,;]{0,30}\d"
)
"""Hours for all days, then other hours for some: `open from 16:00 to 21:00, on Sundays from 14:00`."""
LONGEST_RULE = 4000
"""Characters: whatever is longer is no rule, and reading it would take its time."""


def applies(
    rule: str,
    facts: Sequence[str],
    question: str = "",
    *,
    today: date | None = None,
    entailment: Entailment | None = None,
) -> Decision:
    """Decide whether a rule permits, forbids or prices what a user asks for.

    `rule` is one sentence or a few that belong together, with or without a heading in front (`The lighthouse: ...`).
    `facts` are the user's own sentences, oldest first. Without a question, decide about the rule's own subject. `today`
    resolves `today`, `tomorrow` and dates of birth.
    """
    if len(rule) > LONGEST_RULE:
        decision = _none("too long for a rule")
    else:
        decision = _by_code(rule, [fact[:LONGEST_FACT] for fact in facts], question[:LONGEST_FACT], today)
    if decision.verdict != "none" or entailment is None:
        return decision
    probabilities = entailment([Premise(rule, tuple(facts), question)])[0]
    verdict: Verdict = max(probabilities, key=lambda name: probabilities[name])
    return Decision(verdict, reason="entailment", confidence=probabilities[verdict], by="model")


def _none(reason: str) -> Decision:
    return Decision("none", reason=reason, confidence=0.1)


def _by_code(rule: str, facts: Sequence[str], question: str, today: date | None) -> Decision:
    several = _EITHER.fullmatch(rule)
    if several is None:
        return _by_one(rule, facts, question, today)
    # "You are let off if you are 75, or if you are expecting": one of the conditions is enough.
    parts = [part for part in _OR_IF.split(several["conditions"]) if part]
    decisions = [_by_one(f"{several['head']} if {part}.", facts, question, today) for part in parts]
    for decision in decisions:
        if decision.verdict == "yes" and decision.fact:
            return decision
    if all(decision.verdict == "no" for decision in decisions):
        return decisions[0]
    return _none("one of several conditions may hold")


def _by_one(rule: str, facts: Sequence[str], question: str, today: date | None) -> Decision:
    asked = read_question(question)
    if asked.target == "other":
        return _none("the question asks for something else")
    current = situation(facts, question, today)
    shared = coverage(asked, rule, current.people)
    if asked.target == "permit":
        decision = hazards.decide(rule, current, shared)
        if decision is not None:
            return decision
    if shared < _LEAST_COVERAGE:
        return _none("another topic")
    states = [
        _narrowed(state(clause, current), asked)
        for clause in map(_without_hours, clauses(rule))
        if clause.effect != "none" and _concerns(clause, asked, current)
    ]
    target = asked.target if asked.text else _own_target(states)
    if target in ("price", "pay", "free", "discount"):
        return prices.decide(target, states, current) or _none("no price")
    if target == "require":
        return _duty(asked, states, shared)
    return _permission(asked, states, shared)


def _without_hours(clause: Clause) -> Clause:
    """Reduce a permission whose days and hours are only a timetable to its limits of age and size.

    "Diving: from 12 years, Fridays at 17:00" permits 12-year-olds; without such a limit it permits and forbids nothing.
    """
    if clause.effect != "permit" or not _HOURS_OF_ONE_DAY.search(clause.text):
        return clause
    limits = tuple(condition for condition in clause.conditions if condition.attribute in ("age", "height", "weight"))
    return replace(clause, conditions=limits, effect="permit" if limits else "none")


def _partly(votes: Sequence[_Vote]) -> Decision:
    """Return no decision, but the fact that meets the readable part of a rule, which thus is for the user."""
    facts = [
        vote.state.outcome.fact for vote in votes if vote.state.truth and vote.state.outcome and vote.state.outcome.fact
    ]
    return replace(_none("a condition that code cannot read"), fact=facts[0] if facts else "")


def _own_target(states: Sequence[State]) -> str:
    """Return the target of a rule without a question."""
    effects = {current.clause.effect for current in states}
    return next((effect for effect in ("free", "discount", "price", "require") if effects == {effect}), "permit")


def _narrowed(current: State, asked: Question) -> State:
    """Mark a clause as unreadable for code if it has a narrowing word that the question lacks."""
    residue = current.clause.residue
    unread = [word for word in residue if word[:_ROOT] not in asked.text and not mentions(asked, word)]
    return replace(current, opaque=True) if unread or _is_for_others(current.clause, asked) else current


def _is_for_others(clause: Clause, asked: Question) -> bool:
    """Whether a clause without conditions names a group that the user may not belong to: `care providers can claim`."""
    subject = _SUBJECT.match(clause.text)
    if not subject or clause.conditions or clause.exceptions or clause.things or not asked.text:
        return False
    return subject["head"] not in _ANYONE and not mentions(asked, subject["group"])


def _concerns(clause: Clause, asked: Question, current: Situation) -> bool:
    """Whether a clause about things concerns the thing of the question: `dogs` does not concern a cat.

    What is said of children or adults concerns no animal, though it has an age too.
    """
    if _OF_PEOPLE.match(clause.text) and _is_animal(current):
        return False
    if not clause.things or not asked.text or clause.effect in ("price", "free", "discount"):
        return True
    taxonomy = categories(clause.language)
    theirs = {k.name for k in current.known if k.attribute == "thing" and k.asked}
    theirs |= {kind for name, kind in current.people.names.items() if kind and name in asked.text}
    theirs |= {
        k.name
        for k in current.known
        if k.attribute == "thing"
        and k.truth
        and any(taxonomy.is_a(k.name, t) or taxonomy.is_a(t, k.name) for t in theirs)
    }
    if any(taxonomy.is_a(own, thing) for own in theirs for thing in clause.things):
        return True
    if any(taxonomy.is_a(thing, own) for own in theirs for thing in clause.things):
        return coverage(asked, clause.text, current.people) == 1.0  # "the cargo bike" may mean "the cargo e-bike"
    # A vehicle or a bag may be meant without being named: "Can I park here?"
    return not theirs and any(c.attribute in ("height", "length", "weight", "count") for c in clause.conditions)


def _is_animal(current: Situation) -> bool:
    taxonomy = categories("en")
    return any(taxonomy.is_a(key, kind) for key in current.subject for kind in ("animal", "pet"))


@dataclass(frozen=True, slots=True)
class _Vote:
    """Verdict of one clause on the question, and how specific it is."""

    holds: bool | None
    weight: float
    state: State


def _permission(asked: Question, states: Sequence[State], shared: float) -> Decision:
    votes = []
    for current in states:
        clause = current.clause
        if clause.effect in ("price", "free") and any(c.attribute in _CAPACITY for c in clause.conditions):
            votes.append(_Vote(current.truth, 3, current))  # "Small kennel: animals up to 12 kg, £4"
        elif clause.effect in ("permit", "forbid"):
            allowed = None if current.truth is None else current.truth == (clause.effect == "permit")
            votes.append(_Vote(allowed, _weight(current), current))
        elif clause.effect == "require":
            vote = _company(asked, current)
            if vote is not None:
                votes.append(vote)
    return _verdict(asked, votes, shared, flip=asked.target == "forbid", need=bool(asked.text))


def _company(asked: Question, current: State) -> _Vote | None:
    """Answer `may I` by a demand: no if the user asks to do without it, yes if they meet it."""
    if current.items:
        item = current.items[0]
        holds = False if asked.without else item.truth
        return _Vote(holds, 3, State(current.clause, holds, item, current.opaque))
    if current.truth is None:
        return _Vote(None, 3, current)
    if asked.without:
        return _Vote(not current.truth, _weight(current), current)
    if current.truth and current.clause.company and current.outcome is not None:
        english = current.clause.language == "en"
        outcome = replace(
            current.outcome,
            truth=None,
            missing="adult",
            ask="Will an adult come along?" if english else "有成人陪同吗？",
        )
        return _Vote(None, 3, replace(current, truth=None, outcome=outcome))
    return None


def _weight(current: State) -> float:
    """Return the weight of a clause: met conditions count more than a clause for all, and that more than a converse."""
    if current.truth is None:
        return 3
    if current.excepted or (current.truth and current.clause.conditions):
        return 3
    if current.truth:
        return 2 if current.clause.things else 1
    return 2.5 if current.clause.exclusive else 0.5


def _duty(asked: Question, states: Sequence[State], shared: float) -> Decision:
    votes = []
    for current in states:
        effect = current.clause.effect
        if effect == "require":
            votes.append(_Vote(current.truth, _weight(current), current))
        elif effect == "waive" and current.truth:
            votes.append(_Vote(False, _weight(current), current))
        elif effect == "permit" and current.clause.exclusive and _demanded(asked, current):
            votes.append(_Vote(True, 1, current))
    return _verdict(asked, votes, shared, need=True)


def _demanded(asked: Question, current: State) -> bool:
    return any(re.search(re.escape(item.condition.name), asked.text) for item in current.items)


def _verdict(
    asked: Question, votes: Sequence[_Vote], shared: float, *, flip: bool = False, need: bool = True
) -> Decision:
    usable = [vote for vote in votes if vote.state.readable]
    opaque = [vote for vote in votes if not vote.state.readable]
    if not usable:
        return _partly(opaque) if opaque else _none("no rule")
    decided = [vote for vote in usable if vote.holds is not None]
    best = max(decided, key=lambda vote: vote.weight, default=None)
    open_votes = [vote for vote in usable if vote.holds is None]
    if opaque and (best is None or best.weight < 3):
        return _none("a condition that code cannot read")
    if open_votes and (best is None or best.weight < 3):
        return unknown(open_votes[0].state) or _none("no bound")
    if best is None or any(v.weight >= best.weight - 0.1 and v.holds != best.holds for v in decided):
        return _none("clauses disagree")
    plain = not best.state.clause.conditions and not best.state.clause.exceptions
    if need and plain and (shared < _LEAST_COVERAGE_PLAIN or unshared(asked, best.state.clause.text) > _MOST_UNSHARED):
        return _none("another topic")
    return decided_by(best.state, "yes" if best.holds != flip else "no", shared, converse=best.weight < 1)
