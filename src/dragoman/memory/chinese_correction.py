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
_NUMBER = r"(?:\d+(?:\.\d+)?|[零一二两三四五六七八九十百半]+)"
_VALUE = re.compile(
    rf"(?:应该|其实|就)?(?:是|才|只有|有)?(?P<value>{_NUMBER}(?P<unit>岁半?|公斤|斤|厘米|个月|个人|个|位|级|周|天|号|点|月|块|元))了?$"
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
    value = _VALUE.fullmatch(bare)
    if value and bare != text.strip(" 。！!"):  # a word of correction stood before it
        return _replaced_number(known, value["value"], value["unit"], text)
    if not _PRONOUN.search(bare):
        return ()
    latest = next((fact for fact in reversed(known) if fact.subject != USER), None)
    if latest is None:
        return ()
    named = latest.subject if latest.subject != latest.role else ""
    last = Subject(latest.subject, f"我{latest.role}{named}", latest.role)
    return tuple(sentence_facts(bare, text, lambda: people_of(known), last=last))


def _replaced_number(known: Sequence[Fact], new: str, unit: str, said: str) -> tuple[Fact, ...]:
    """The latest fact with a number of this unit, with the new number in it."""
    for fact in reversed(known):
        old = re.search(f"{_NUMBER}{unit}", fact.value)
        if old and not fact.slot.endswith("!"):
            return _replaced([fact], old[0], new, said)
    return ()


def _replaced(known: Sequence[Fact], old: str, new: str, said: str) -> tuple[Fact, ...]:
    for fact in reversed(known):
        if old in fact.value and not fact.slot.endswith("!"):
            value = fact.value.replace(old, new, 1)
            return (replace(fact, text=fact.text.replace(old, new, 1), value=value, said=said),)
    return ()
