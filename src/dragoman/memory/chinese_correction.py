"""Corrections in Chinese: "是季卡不是月卡" changes the latest such fact, "他其实才六岁" that of a person."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from dragoman.core.values import Fact
from dragoman.memory.chinese import bare_statement, sentence_facts
from dragoman.memory.people import people_of
from dragoman.memory.subjects import USER, Subject

_INSTEAD = re.compile(
    r"(?:应该|其实)?是?(?P<new>[^，,。是不]{1,12})[，,]?\s*(?:而)?不是(?P<old>[^，,。]{1,12})$"
    r"|不是(?P<old2>[^，,。是]{1,12})[，,]?\s*(?:而)?(?:应该)?是(?P<new2>[^，,。]{1,12})$"
)
_PRONOUN = re.compile("^(?:他|她|它)(?!们)|[，,。！!](?:他|她|它)(?!们)")


def corrected(text: str, known: Sequence[Fact]) -> tuple[Fact, ...]:
    """The facts that a turn gives anew, where it names only the values or says 他, 她 or 它 for their subject."""
    bare = bare_statement(text).strip(" 。！!")
    if not bare or bare.endswith(("？", "?", "吗")):
        return ()
    instead = _INSTEAD.match(bare)
    if instead:
        return _replaced(
            known, instead["old"] or instead["old2"], (instead["new"] or instead["new2"]).removeprefix("是"), text
        )
    if not _PRONOUN.search(bare):
        return ()
    latest = next((fact for fact in reversed(known) if fact.subject != USER), None)
    if latest is None:
        return ()
    named = latest.subject if latest.subject != latest.role else ""
    last = Subject(latest.subject, f"我{latest.role}{named}", latest.role)
    return tuple(sentence_facts(bare, text, lambda: people_of(known), last=last))


def _replaced(known: Sequence[Fact], old: str, new: str, said: str) -> tuple[Fact, ...]:
    for fact in reversed(known):
        if old in fact.value and not fact.slot.endswith("!"):
            value = fact.value.replace(old, new, 1)
            return (replace(fact, text=fact.text.replace(old, new, 1), value=value, said=said),)
    return ()
