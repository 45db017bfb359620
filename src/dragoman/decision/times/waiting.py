"""Compare a required waiting time with how long ago an event was: "I had a tattoo three months ago"."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from dragoman.decision.choose import Analyse
from dragoman.decision.facts import Known, situation
from dragoman.decision.groups import CALENDAR, GENERAL, roots
from dragoman.decision.numerals import normalise
from dragoman.decision.quantities import Quantity, quantities
from dragoman.decision.questions import question as read_question
from dragoman.decision.subjects import same
from dragoman.decision.values import Decision
from dragoman.text import lazy_re as re
from dragoman.text.question_kind import question_kind
from dragoman.text.second_person import second_person

_EVENT = re.compile(
    r"\b(?:ago|yesterday|last (?:night|week|month|year|spring|summer|autumn|winter)"
    r"|last (?:mon|tues|wednes|thurs|fri|satur|sun)day|this morning"
    r"|recently|just (?:had|got|came|lost|broke|bought)|since)\b"
    r"|\b(?:i|we|he|she|it|they|my [a-z]+|[A-Z][a-z]+)(?:['’]ve| have| has)? (?:just |already )?"
    r"(?:had (?:an?|my|the)|got (?:an?|my|the)|lost|broke|broken|bought|gave|given|caught|missed|cancelled|died|crashed"
    r"|damaged|forgot|found|returned|been (?:to|ill|sick|in|on)|was (?:ill|sick|on|in)|came back|had to)\b",
    re.IGNORECASE,
)
"""Says that something happened, or how long ago."""
_PAST = re.compile(
    r"^(?:i|we)(?:['’]ve| have)? (?:was|were|had|got|took|been|did|gave|caught|just|recently)\b", re.IGNORECASE
)
"""Tells what was, without a word about when."""
_OF_WAITING = re.compile(r"\b(?:wait|waiting|deferrals?|intervals?|between (?:two|visits)|pauses?)\b", re.IGNORECASE)
_WAITS = re.compile(
    r"\b(?:wait\w*|deferral|interval|no sooner than|has to pass|have to pass|must pass|must have passed|have passed"
    r"|after that only|earliest)\b|\b(?:only|not|nobody|no one|may|can|again|until|at least|for)\b[^.;]{0,50}?"
    r"(?<!\d)\d++ (?:hours?|days?|weeks?|months?|years?) (?:after|later|from)\b"
    r"|\b(?:not|nobody|no one|cannot)\b[^.;]{0,40}? (?:for|until) (?:at least )?"
    r"(?<!\d)\d++ (?:hours?|days?|weeks?|months?|years?)\b"
    r"|(?<!\d)\d++ (?:hours?|days?|weeks?|months?|years?) (?:must lie |have to lie )?between\b"
)
"""Says that a length of time is one to wait."""
_SECONDS_OF_MONTH = 30.44 * 86400
_LONG_ENOUGH = re.compile(r"\b(?:long enough|enough time|waited|too (?:soon|early)|passed)\b", re.IGNORECASE)
_RUNS_FROM = re.compile(r"\b(?:after|since|from|following|of)\b", re.IGNORECASE)
_LONGEST_LABEL = 60
_SURE = 0.9
WAITED = "waited"
"""How the reason of a decision begins that compares a waiting time."""


def tells_of_an_event(fact: str) -> bool:
    """Whether a fact states an event: "I got a tattoo last week", not "I live in Porto"."""
    return _EVENT.search(fact) is not None


def waited(  # noqa: PLR0917 - what a decision is made of
    sentence: str,
    facts: Sequence[str],
    question: str,
    analyse: Analyse,
    today: date | None = None,
    headings: Sequence[str] = (),
) -> Decision | None:
    """Whether an event in a fact is as long ago as a sentence demands; None if it demands nothing.

    Under `headings` such as "Waiting times", every length of time is one to wait.
    """
    asks = read_question(question).target == "permit" or _LONG_ENOUGH.search(question)
    if not facts or question_kind(question) != "polar" or not asks:
        return None
    plain = normalise(sentence)
    if not (_WAITS.search(plain) or any(_OF_WAITING.search(heading) for heading in headings)):
        return None
    times = [quantity for quantity in quantities(plain) if quantity.kind == "duration"]
    if len(times) != 1:
        return None
    now = situation(facts, question, today)
    words = roots(analyse(_event_part(sentence))) - GENERAL - CALENDAR
    for event in reversed(now.known):
        if event.attribute != "since" or not same(event.subject, now.subject):
            continue
        if (roots(analyse(event.text)) - GENERAL - CALENDAR) & words:
            return _decided(event, times[0])
    events = [fact for fact in facts if _PAST.search(fact) and (roots(analyse(fact)) - GENERAL - CALENDAR) & words]
    if not events or any(quantity.kind == "duration" for quantity in quantities(normalise(events[-1]))):
        return None
    # The event happened at an unknown time.
    happened = second_person(events[-1])
    ask = f"{happened[:1].upper()}{happened[1:]}: how long ago was that?"
    clause = times[0].shown
    return Decision(
        "unknown", missing="since", ask=ask, clause=clause, reason=WAITED, confidence=_SURE, is_settled=True
    )


def _event_part(sentence: str) -> str:
    """Return the event from which the time runs: what follows "after", or precedes a colon; else the whole sentence."""
    label, colon, _ = sentence.partition(":")
    if colon and len(label) <= _LONGEST_LABEL:
        return label
    after = _RUNS_FROM.search(sentence)
    return sentence[after.end() :] if after is not None else sentence


def _decided(event: Known, wait: Quantity) -> Decision | None:
    needed, low, high = (
        _seconds(wait.value, wait.unit),
        *(_seconds(each, event.unit) for each in (event.low, event.high)),
    )
    if low < needed <= high:
        return None  # it may have been long enough
    enough = low >= needed
    reason = f"{WAITED} {event.shown} of {wait.shown}"
    fact = "" if event.asked else event.text
    return Decision(
        "yes" if enough else "no", fact=fact, clause=wait.shown, reason=reason, confidence=_SURE, is_settled=not enough
    )


def _seconds(value: float, unit: str) -> float:
    return value * _SECONDS_OF_MONTH if unit == "month" else value
