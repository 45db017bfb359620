"""Price that a user pays by a rule: free entry, reductions and lists of prices."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.decision.clauses import State, decided_by, unknown
from dragoman.decision.facts import Situation
from dragoman.decision.values import Decision, Verdict

_PERCENT = re.compile(r"(?<!\d)(\d++) ?(?:%|per ?cent) (?:off|less|cheaper|discount|reduction)")
_AMOUNT = re.compile(
    r"(?P<sign>[€£$])? ?(?<![\d.])(?P<number>\d++(?>(?:\.\d++)?))"
    r"(?: ?(?P<word>€|£|\$|euros?\b|pounds?\b|dollars?\b|francs?\b|crowns?\b))?"
)
_HALF = re.compile(r"half[- ]price|半价|半票")


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of a sentence with its currency, where it has one, as the sentence writes both."""

    number: str
    currency: str
    written: str


def prices_in(sentence: str) -> list[Amount]:
    """The amounts of a sentence: every number, with its currency where one stands beside it."""
    amounts = []
    for match in _AMOUNT.finditer(sentence):
        currency = match["sign"] or match["word"] or ""
        amounts.append(Amount(match["number"], currency, match[0].strip() if currency else ""))
    return amounts


def decide(target: str, states: Sequence[State], situation: Situation) -> Decision | None:
    """The verdict on a question about money, or None where no clause speaks of it."""
    readable = [state for state in states if state.readable]
    listed = [state for state in readable if state.clause.effect == "price"]
    grants = [state for state in readable if state.clause.effect in ("free", "discount")]
    if len(readable) < len(states) and not any(state.truth and state.clause.conditions for state in readable):
        return None
    if any(state.met and state.truth is None and not state.readable for state in states) and not any(
        state.truth and state.clause.conditions and not _is_everybodys(state) for state in listed
    ):
        return None  # the user may belong to a group that code does not know
    if listed:
        decision = _from_list(target, listed, grants)
        if decision is not None:
            return decision
    # Grants that hold come before grants with an open condition, and those before grants that fail.
    for state in sorted(grants, key=lambda state: {True: 0, None: 1, False: 2}[state.truth]):
        decision = _from_grant(target, state)
        if decision is not None:
            return decision
    return _from_demand(target, readable) if target == "pay" else None


def _from_list(target: str, listed: Sequence[State], grants: Sequence[State]) -> Decision | None:
    chosen = _labelled(listed, grants) or _listed(listed)
    if isinstance(chosen, Decision):
        return chosen
    if chosen is None:
        return None
    state, amount = chosen
    dearest = max(float(s.clause.amount) for s in listed if s.clause.amount)
    yes: dict[str, bool] = {
        "price": True,
        "free": float(amount) == 0,
        "pay": float(amount) > 0,
        "discount": float(amount) < dearest,
    }
    return _decision(state, "yes" if yes[target] else "no", value=amount)


def _labelled(listed: Sequence[State], grants: Sequence[State]) -> tuple[State, str] | Decision | None:
    """`Reduced price 30, full price 48`, with another sentence on who pays the reduced one."""
    amounts = {state.clause.label: state.clause.amount for state in listed if state.clause.label}
    who = [state for state in grants if state.clause.effect == "discount" and state.clause.conditions]
    if "reduced" not in amounts or not who:
        return None
    state = who[0]
    if state.truth is None:
        return unknown(state)
    if state.truth:
        return state, amounts["reduced"]
    return (state, amounts["full"]) if "full" in amounts else None


def _listed(listed: Sequence[State]) -> tuple[State, str] | Decision | None:
    conditional = [state for state in listed if state.clause.conditions]
    general = [state for state in listed if not state.clause.conditions]
    holding = [state for state in conditional if state.truth]
    # The narrowest price counts: "children under 6" before "children".
    holding.sort(key=lambda state: (-len(state.clause.conditions), float(state.clause.amount or 0)))
    missing = [state for state in conditional if state.truth is None]
    nearly = [state for state in missing if state.met]  # "students under 27" to who is 24
    if holding and not (nearly and _is_everybodys(holding[0])):
        return holding[0], holding[0].clause.amount
    if missing:
        return unknown((nearly or missing)[0])
    failed = conditional[0] if conditional else None
    if len(general) == 1 and (failed is not None or len(listed) == 1):
        return (State(general[0].clause, True, failed.outcome if failed else None), general[0].clause.amount)
    return None


def _is_everybodys(state: State) -> bool:
    """Whether a price is that of all adults or all children."""
    return all(condition.attribute in ("adult", "child") for condition in state.clause.conditions)


def _from_grant(target: str, state: State) -> Decision | None:
    if state.truth is None:
        return unknown(state)
    free = state.clause.effect == "free"
    if free:
        verdicts: dict[str, Verdict] = {"free": "yes", "pay": "no", "discount": "yes", "price": "yes"}
        if state.truth:
            return _decision(state, verdicts[target], value="0" if target == "price" else "")
        converse: dict[str, Verdict] = {"free": "no", "pay": "yes"}
        return _decision(state, converse[target], sure=False) if target in converse else None
    if target == "discount":
        return _decision(
            state, "yes" if state.truth else "no", value=_share(state) if state.truth else "", sure=state.truth
        )
    return _decision(state, "yes", value=_share(state)) if target == "price" and state.truth and _share(state) else None


def _share(state: State) -> str:
    percent = _PERCENT.search(state.clause.text)
    if percent:
        return f"-{percent[1]}%"
    return "-50%" if _HALF.search(state.clause.text) else ""


def _from_demand(target: str, states: Sequence[State]) -> Decision | None:
    for state in states:
        if state.clause.effect == "require" and re.search(r"\b(?:ticket|pay)\b|票|费", state.clause.text):
            if state.truth is None:
                return unknown(state)
            return _decision(state, "yes" if state.truth else "no", sure=state.truth)
    return None


def _decision(state: State, verdict: Verdict, *, value: str = "", sure: bool = True) -> Decision:
    return decided_by(state, verdict, value=value, converse=not sure)
