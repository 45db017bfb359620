"""Whether a clause as a whole holds: all its conditions, alternatives among them, and its exceptions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dragoman.decision.compare import Outcome, compare
from dragoman.decision.comparisons import Condition
from dragoman.decision.conditions import Clause
from dragoman.decision.facts import Situation
from dragoman.decision.values import Decision, Verdict

LONGEST_BETWEEN = 100
"""Characters between two conditions that are alternatives."""
_ALTERNATIVE = re.compile(
    r".*?(?:\b(?:and|or)\b|,)[ ,]*+(?>(?:and |or |for |also )*)(?:(?:all|any|young|older|elderly) )?"
    r"(?:(?:people|persons|those|anyone|everyone|visitors|guests|children|adults|kids|teenagers) )?(?:who are |aged )?"
    r"|.*?[和或及、].*"
)
"""What stands between a status and an age of which either is enough: "students and people over 60"."""


@dataclass(frozen=True, slots=True)
class State:
    """A clause with its truth in a situation; `outcome` is the condition that decided or that is missing."""

    clause: Clause
    truth: bool | None
    outcome: Outcome | None = None
    opaque: bool = False
    excepted: bool = False
    items: tuple[Outcome, ...] = ()
    met: bool = False
    """Whether a fact meets one of its conditions."""

    @property
    def readable(self) -> bool:
        """Whether code may decide by it: all of it was read, or the unread rest cannot change the result."""
        return not self.opaque or (self.truth is False and not self.excepted)


def state(clause: Clause, situation: Situation) -> State:
    """Evaluate a clause."""
    outcomes = _assumed(clause, [compare(condition, clause, situation) for condition in clause.conditions])
    items = tuple(outcome for outcome in outcomes if outcome.condition.attribute == "item")
    truth, outcome = _together(clause, outcomes)
    opaque = clause.opaque or any(o.truth is None and not o.missing for o in outcomes)
    met = any(each.truth and each.fact for each in outcomes)
    current = State(clause, truth, outcome, opaque, items=items, met=met)
    return current if truth is False or not clause.exceptions else _excepted(current, situation)


def _assumed(clause: Clause, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Outcomes, where a timetable and the proof of a status that someone has (`with a valid card`) are no obstacle."""
    proven = clause.effect in ("price", "discount", "free") and any(
        outcome.truth and outcome.condition.attribute in ("status", "age") for outcome in outcomes
    )
    return [
        replace(outcome, truth=True, clear=False)
        if outcome.truth is None
        and outcome.missing
        and (outcome.condition.schedule or (proven and outcome.condition.attribute == "item"))
        else outcome
        for outcome in outcomes
    ]


def _together(clause: Clause, outcomes: Sequence[Outcome]) -> tuple[bool | None, Outcome | None]:
    groups = _alternatives(clause, outcomes)
    results = [_any(group) for group in groups]
    failed = [outcome for truth, outcome in results if truth is False]
    if failed:
        return False, failed[0]
    missing = [outcome for truth, outcome in results if truth is None]
    if missing:
        return None, next((outcome for outcome in missing if outcome.missing), missing[0])
    return True, results[0][1] if results else None


def _alternatives(clause: Clause, outcomes: Sequence[Outcome]) -> list[list[Outcome]]:
    """Conditions of which one is enough: `students and pensioners`, `students and people over 60`."""
    people = [outcome for outcome in outcomes if outcome.condition.attribute == "status"]
    rest = [outcome for outcome in outcomes if outcome.condition.attribute != "status"]
    groups: list[list[Outcome]] = []
    for outcome in rest:
        # "Under 26 and over 65": no value meets both, so that either is enough.
        apart = [group for group in groups if _disjoint(group[0].condition, outcome.condition)]
        if apart:
            apart[0].append(outcome)
        else:
            groups.append([outcome])
    if not people:
        return groups
    ages = [outcome for outcome in rest if outcome.condition.attribute == "age"]
    if ages and _joined(clause.text, people[0].condition.text, ages[0].condition.text):
        return [[*people, *ages], *(group for group in groups if group[0].condition.attribute != "age")]
    return [people, *groups]


def _disjoint(first: Condition, second: Condition) -> bool:
    if first.attribute != second.attribute or first.unit != second.unit:
        return False
    for low, high in ((first.low, second.high), (second.low, first.high)):
        if low is not None and high is not None and low >= high:
            return True
    return False


def _joined(text: str, first: str, second: str) -> bool:
    places = sorted(((text.find(first), len(first)), (text.find(second), len(second))))
    between = text[places[0][0] + places[0][1] : places[1][0]]
    return len(between) <= LONGEST_BETWEEN and _ALTERNATIVE.fullmatch(between) is not None


def _any(group: Sequence[Outcome]) -> tuple[bool | None, Outcome]:
    for truth in (True, None, False):
        for outcome in group:
            if outcome.truth is truth:
                return truth, outcome
    raise AssertionError("a group has outcomes")


_NAMED = ("status", "relation", "thing", "item")
"""Attributes whose conditions are alternatives of one another in an exception."""


def _excepted(current: State, situation: Situation) -> State:
    """A clause whose exception holds says the opposite. A thing is no exception unless it is known to be one."""
    # Several conditions of one exception narrow it; several names are alternatives.
    outcomes = [compare(condition, current.clause, situation) for condition in current.clause.exceptions]
    named = [o for o in outcomes if o.condition.attribute in _NAMED]
    measured = [[o] for o in outcomes if o.condition.attribute not in _NAMED]
    results = [_any(group) for group in ([named] if named else []) + measured]
    if all(result is True for result, _ in results):
        truth = None if current.truth is None else not current.truth
        return replace(current, truth=truth, outcome=results[0][1], excepted=True)
    if any(result is False for result, _ in results):
        failed = next(o for result, o in results if result is False)
        return replace(current, outcome=current.outcome or failed)
    missing = next(o for result, o in results if result is None)
    return replace(current, truth=None, outcome=missing, opaque=current.opaque or not missing.missing)


def unknown(current: State) -> Decision | None:
    """Return the decision that a fact is missing; None if code cannot say which one."""
    outcome = current.outcome
    if outcome is None or not outcome.missing:
        return None
    return Decision(
        "unknown",
        missing=outcome.missing,
        ask=outcome.ask,
        fact=outcome.fact,
        clause=outcome.condition.text.replace("maymonth", "may"),
        reason=outcome.reason,
        confidence=0.8,
    )


def decided_by(
    current: State, verdict: Verdict, shared: float = 1.0, *, value: str = "", converse: bool = False
) -> Decision:
    """Return a decision with the condition that decided it."""
    outcome = current.outcome
    confidence = 0.95 * (0.7 + 0.3 * shared) * (0.85 if converse else 1.0)
    if outcome is None or not outcome.clear:  # nothing was compared, or at a loose bound
        confidence *= 0.75
    clause = outcome.condition.text if outcome else current.clause.text
    return Decision(
        verdict,
        fact=outcome.fact if outcome else "",
        clause=clause.replace("maymonth", "may"),
        value=value,
        reason=outcome.reason if outcome else current.clause.effect,
        confidence=round(confidence, 3),
    )
