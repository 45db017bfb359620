# ruff: noqa: E501  # a pattern is easier to check in one piece
"""Corrections in Chinese: "是季卡不是月卡" changes the latest such fact, "他其实才六岁" that of a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dragoman.core.values import Fact
from dragoman.memory.chinese import bare_statement, sentence_facts
from dragoman.memory.facts import holds_many
from dragoman.memory.people import people_of
from dragoman.memory.subjects import USER, Subject
from dragoman.text import lazy_re as re

_INSTEAD = re.compile(
    r"(?:应该|其实)?是?(?P<new>[^，,。是不]{1,12})[，,]?\s*(?:而)?不是(?P<old>[^，,。]{1,12})$"
    r"|不是(?P<old2>[^，,。是]{1,12})[，,]?\s*(?:而)?(?:应该)?是(?P<new2>[^，,。]{1,12})$"
)
_NOT_BUT = re.compile(
    r"(?:^|[，,。！!～~ ])(?:其实|应该)?不是(?P<old>[^，,。是]{1,12})[，,。]?\s?(?:而|应该|其实)?是(?P<new>[^，,。！!]{1,12})[。！!]?$"
)
_CHANGED = re.compile(
    "把?(?P<old>[^，,。我把]{1,8})(?:已经)?(?:升级|换|改|转|变|升)(?:成|为|到)了?(?P<new>[^，,。了啦]{1,8})[了啦]?"
)
_OTHER_KIND = re.compile(
    "(?:应该|其实|就)?是(?P<new>[^，,。的]{1,5})$|(?:改|换|变)(?:成|为|到)了?(?P<changed>[^，,。了]{1,8})了?$"
)
_OVER = re.compile(
    "(?:我的?)?(?P<what>[^，,。我的]{2,6}?)(?:已经|早就|也|都|刚)?(?P<how>过期|到期|作废|注销|退|取消|丢|没)了$"
)
_NUMBER = r"(?:(?<!\d)\d++(?:\.\d++)?|(?<![零一二两三四五六七八九十百半])[零一二两三四五六七八九十百半]++)"
_VALUE = re.compile(
    rf"(?P<says>(?:应该|其实|就|实际上?)?(?:是|才|只有|有)|(?:改|换|变)(?:成|为)了?|[^，。\d]{{0,2}}[长瘦胖降涨增减]到)?(?P<value>{_NUMBER}(?P<unit>岁半?|公斤|斤|厘米|米(?:{_NUMBER}|半)?|个月|个人|人|个|位|级|周|天|年|号|点|月|块|元|分|度|层|楼|公里|)) ?(?:大|高|重)?了?$"
)
_LAST = re.compile("[，,。！!～~ ]")
_PRONOUN = re.compile("^(?:他|她|它)(?!们)|[，,。！!](?:他|她|它)(?!们)")


def corrected(text: str, known: Sequence[Fact]) -> tuple[Fact, ...]:  # noqa: PLR0911 - one return a kind of correction
    """Return the corrected facts of a turn that gives only new values or names the subject by 他, 她 or 它."""
    bare = bare_statement(text).strip(" 。！!")
    if not bare or bare.endswith(("？", "?", "吗")):
        return ()
    instead = _INSTEAD.match(bare)
    if instead:
        return _replaced(
            known, instead["old"] or instead["old2"], (instead["new"] or instead["new2"]).removeprefix("是"), text
        )
    instead = _NOT_BUT.search(text)
    if instead and (facts := _replaced(known, instead["old"], instead["new"], text)):
        return facts
    changed = _CHANGED.search(bare)
    if changed and (facts := _replaced(known, changed["old"], changed["new"], text, ends=True)):
        return facts
    # Either a correction word precedes it, or the last clause states a new quantity with "is".
    value = _VALUE.fullmatch(bare) or _VALUE.fullmatch(_LAST.split(bare)[-1])
    if value and (bare != text.strip(" 。！!") or value["says"]):
        return _replaced_number(known, value["value"], value["unit"], text)
    other = _OTHER_KIND.fullmatch(_LAST.split(bare)[-1])
    if other and (bare != text.strip(" 。！!") or other["changed"]):
        return _of_one_kind(known, other["new"] or other["changed"], text)
    over = _OVER.fullmatch(_LAST.split(bare)[-1])
    if over:
        return tuple(
            replace(
                fact,
                text=f"我没有能用的{over['what']}：{over['what']}{over['how']}了。",
                value=f"没有{over['what']}",
                said=text,
            )
            for fact in known
            if fact.subject == USER and over["what"] in fact.value
        )[-1:]
    if not _PRONOUN.search(bare):
        return ()
    # A Chinese pronoun does not refer to a subject that was only mentioned in English.
    latest = next((fact for fact in reversed(known) if fact.subject != USER and not fact.role.isascii()), None)
    if latest is None:
        return ()
    named = latest.subject if latest.subject != latest.role else ""
    last = Subject(latest.subject, f"我{latest.role}{named}", latest.role)
    return tuple(sentence_facts(bare, text, lambda: people_of(known), last=last))


def _replaced_number(known: Sequence[Fact], new: str, unit: str, said: str) -> tuple[Fact, ...]:
    """The latest fact with a number of this unit, with the new number in it."""
    metres = "米" in unit
    for fact in reversed(known):
        halves = "岁半?" if unit.startswith("岁") else unit
        old = re.search(f"{_NUMBER}米(?:{_NUMBER}|半)?" if metres else f"{_NUMBER}{halves}", fact.value)
        if not unit and old and old[0] != fact.value:
            continue  # a bare number replaces a bare number
        if old and not fact.slot.endswith("!"):
            return _replaced([fact], old[0], new, said)
    return ()


def _of_one_kind(known: Sequence[Fact], new: str, said: str) -> tuple[Fact, ...]:
    """The latest fact whose value is of the same kind, by its last character: "年卡" and "次卡", "周六" and "周日"."""
    for fact in reversed(known):
        day = re.search("(?:周|星期|礼拜)[一二三四五六日天]", fact.value) if re.match("周|星期|礼拜", new) else None
        if day:
            return _replaced([fact], day[0], new, said)
        if fact.value and len(new) > 1 and fact.value[-1] == new[-1] and fact.value != new:
            return _replaced([fact], fact.value, new, said)
    return ()


def _replaced(known: Sequence[Fact], old: str, new: str, said: str, *, ends: bool = False) -> tuple[Fact, ...]:
    for fact in reversed(known):
        if old in fact.value and not fact.slot.endswith("!"):
            value = fact.value.replace(old, new, 1)
            newer = replace(fact, text=fact.text.replace(old, new, 1), value=value, said=said)
            if not (ends and holds_many(fact)):
                return (replace(newer, corrects=fact.text),)
            # With several cards, the new fact would not replace the right old one.
            whose = "我" if fact.subject == USER else fact.text.partition(fact.value)[0]
            return (replace(fact, text=f"{whose}没有{fact.value}了。", slot=f"{fact.slot}!", said=said), newer)
    return ()
