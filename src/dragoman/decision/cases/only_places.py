"""Compare rules that hold in one place only with the user's place: "Microwaves are allowed in Block B only"."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.decision.questions import coverage
from dragoman.decision.questions import question as read_question
from dragoman.decision.subjects import People
from dragoman.decision.values import Decision
from dragoman.text import lazy_re as re

_PLACE = (
    r"(?P<noun>(?-i:[A-Z][a-z]+|block|building|house|room|floor|zone|area|section|plot|pitch|class|group|car|carriage|deck"
    r"|hall|gate|bay)) (?P<name>(?-i:[A-Z]|\d{1,3}[a-z]?))\b"
)
_ONLY = re.compile(rf"(?:\b(?P<joint>in|on|at|for) (?:the )?{_PLACE} only\b)", re.IGNORECASE)
_ONLY_FIRST = re.compile(rf"\bonly (?P<joint>in|on|at|for) (?:the )?{_PLACE}", re.IGNORECASE)
_LETS = re.compile(r"\b(?:may|can|allowed|permitted|welcome|admitted|possible|available|sold|open)\b", re.IGNORECASE)
_LEAST = 0.5
_SURE = 0.85


def only_there(sentence: str, facts: Sequence[str], question: str) -> Decision | None:
    """Whether the user is where a rule lets something, which of the places to ask for; None for every other rule.

    The newest fact that names a place of the kind decides; the question comes before all facts.
    """
    rule = _ONLY.search(sentence) or _ONLY_FIRST.search(sentence)
    if rule is None or not _LETS.search(sentence):
        return None
    asked = read_question(question)
    if asked.target != "permit" or coverage(asked, sentence, People({})) < _LEAST:
        return None
    place = f"{rule['noun']} {rule['name']}"
    kind = re.compile(rf"\b{re.escape(rule['noun'])} (?P<name>(?-i:[A-Z]|\d{{1,3}}[a-z]?))\b", re.IGNORECASE)
    for text in (question, *reversed(facts)):
        named = {match["name"].casefold() for match in kind.finditer(text)}
        if named:
            there = rule["name"].casefold() in named
            reason = place if there else f"not {place}"
            fact = "" if text == question else text
            return Decision("yes" if there else "no", fact=fact, clause=rule[0], reason=reason, confidence=_SURE)
    joint = "in" if rule["joint"].lower() == "for" else rule["joint"].lower()
    ask = f"Would that be {joint} {place}?"
    return Decision(
        "unknown", missing="place", ask=ask, clause=rule[0], reason="no place", confidence=_SURE, is_settled=True
    )
