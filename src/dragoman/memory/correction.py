"""Corrections that give only the new value: "sorry, I meant Thursday" changes the day of the latest fact with one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from dragoman.core.values import Fact
from dragoman.memory import chinese_correction
from dragoman.memory.patterns import fragment
from dragoman.text.language import language
from dragoman.text.patterns import Lazy

_LEAD = re.compile(
    r"(?:(?:oh|sorry|no|oops|wait|correction|actually|i mean|i meant|i meant to say|make that|i should have said|it is|"
    r"it's|that should be|rather)\b[\s,:.!]*)+",
    re.IGNORECASE,
)
_CHINESE_LEAD = re.compile(r"(?:(?:不对|不是|不|抱歉|对不起|更正|说错了|我是说|我说的是|应该是|是)[\s，,：:]*)+")
_MONTH = "january|february|march|april|may|june|july|august|september|october|november|december"
_KINDS = Lazy(
    {
        "weekday": r"(?:next |this )?(?:mon|tues|wednes|thurs|fri|satur|sun)day\b",
        "date": rf"\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTH})\b",
        "day": r"(?:下|这|本)?个?(?:周|星期|礼拜)[一二三四五六日天]",
        "number": rf"(?<![\w.]){fragment('number')}(?:岁|\b)(?! ?(?:{_MONTH}))",
    }
)
_INSTEAD = re.compile(
    r"(?P<new>[^,]{1,30}?),? not (?P<old>[^,]{1,30})$|not (?P<old2>[^,]{1,30}?),? (?:but )?(?P<new2>[^,]{1,30})$",
    re.IGNORECASE,
)
_PROPER = re.compile(
    r"(?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|(?:January|February|March|April|May|June|July|August|September"
    r"|October|November|December|Yes|No|Ok|Okay|Thanks|Sorry)\b)[A-ZÀ-Þ][\w'’-]+(?: [A-ZÀ-Þ][\w'’-]+)?"
)
_MOST_WORDS = 6


def corrected(text: str, known: Sequence[Fact]) -> tuple[Fact, ...]:  # noqa: PLR0911 - one return a form
    """The latest fact whose value is of the kind given, with the new value in it; none where nothing is corrected."""
    said = text.strip()
    if language(said) == "zh":
        anew = chinese_correction.corrected(said, known)
        if anew:
            return anew
    lead = _LEAD.match(said) or _CHINESE_LEAD.match(said)
    rest = said[lead.end() :].strip(" .!。！,，") if lead else said.strip(" .!。！")
    if len(rest.split()) > _MOST_WORDS or not rest or rest.endswith(("?", "？")):
        return ()
    instead = _INSTEAD.match(rest)
    if instead:
        new, old = (instead["new"] or instead["new2"]).strip(), (instead["old"] or instead["old2"]).strip()
        return _replaced(known, re.compile(rf"(?<!\w){re.escape(old)}(?!\w)", re.IGNORECASE), new, said)
    if lead is None:
        return ()
    if _PROPER.fullmatch(rest):
        return _replaced([fact for fact in known if fact.type in ("place", "name")], _PROPER, rest, said)
    for kind in _KINDS.values():
        bare = re.sub(r"^(?:on|at|in|the) ", "", rest, flags=re.IGNORECASE)
        if kind.fullmatch(bare):
            return _replaced(known, kind, bare, said)
    return ()


def _replaced(known: Sequence[Fact], pattern: re.Pattern[str], new: str, said: str) -> tuple[Fact, ...]:
    for fact in reversed(known):
        old = pattern.search(fact.value)
        if old is None or fact.slot.endswith("!") or old[0].casefold() == new.casefold():
            continue
        value = fact.value[: old.start()] + new + fact.value[old.end() :]
        text = fact.text.replace(fact.value, value, 1) if fact.value in fact.text else pattern.sub(new, fact.text, 1)
        return (replace(fact, text=text, value=value, said=said),)
    return ()
