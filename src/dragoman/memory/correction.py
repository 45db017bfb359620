"""Corrections that give only the new value: "sorry, I meant Thursday" changes the day of the latest fact with one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dragoman.core.values import Fact
from dragoman.memory.patterns import fragment
from dragoman.memory.roles import fits
from dragoman.memory.subjects import USER
from dragoman.text import lazy_re as re
from dragoman.text.claims import numbers
from dragoman.text.language import language
from dragoman.text.patterns import Lazy

_LEAD = re.compile(
    r"(?:(?:oh|sorry|no|oops|wait|correction|actually|i mean|i meant|i meant to say|make that|make it|scratch that|"
    r"strike that|typo|my mistake|my bad|i was wrong|change of plans?|we(?:'ve| have) changed (?:our|the) plans?|"
    r"i should have said|it is|it's|its|that should be|rather|instead)\b[\s,:.!-]*)+",
    re.IGNORECASE,
)
_CHINESE_LEAD = re.compile(r"(?:(?:不对|不是|不|抱歉|对不起|更正|说错了|我是说|我说的是|应该是|是)[\s，,：:]*)+")
_WHO = re.compile(
    rf"(?:(?P<who>he|she|they|it|we|i)|(?:the|my|our) (?P<noun>[a-z]{{2,20}})|(?P<name>[A-Z][\w'-]{{1,20}}))"
    rf"(?: is| are| am|'s|'re|'m) (?=\d|(?:{fragment('number')})\b|[a-z]+[,.]? not\b)",
    re.IGNORECASE,
)
"""Whose value is corrected: "they are", "the twins are", "Lea is"."""
_MONTH = "january|february|march|april|may|june|july|august|september|october|november|december"
_KINDS = Lazy(
    {
        "weekday": r"(?:next |this )?(?:mon|tues|wednes|thurs|fri|satur|sun)day\b",
        "date": rf"\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTH})\b",
        "ordinal": r"(?:the )?\d{1,2}(?:st|nd|rd|th)\b",
        "day": r"(?:下|这|本)?个?(?:周|星期|礼拜)[一二三四五六日天]",
        "number": rf"(?<![\w.]){fragment('number')}(?:岁|\b)(?! ?(?:{_MONTH}))",
    }
)
_COUNTED = re.compile(rf"(?P<number>{fragment('number')}) (?P<noun>[a-z]{{3,}})", re.IGNORECASE)
_INSTEAD = re.compile(
    r"(?P<new>[^,]{1,30}?),? (?:and )?not (?P<old>[^,]{1,30})$"
    r"|not (?P<old2>[^,]{1,30}?),? (?:but )?(?P<new2>[^,]{1,30})$",
    re.IGNORECASE,
)
_AROUND = re.compile(r"^(?:(?:on|at|in|the|it is|it's|to) )+|(?: now| instead| after all){1,2}$", re.IGNORECASE)
_PROPER = re.compile(
    r"(?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|(?:January|February|March|April|May|June|July|August|September"
    r"|October|November|December|Yes|No|Ok|Okay|Thanks|Sorry)\b)[A-ZÀ-Þ][\w'’-]+(?: [A-ZÀ-Þ][\w'’-]+)?"
)
_MOST_WORDS = 8


def may_correct(text: str) -> bool:
    """Whether a turn looks like a correction, judged without the known facts."""
    said = text.strip()
    if language(said) == "zh" or _LEAD.match(said) or _CHINESE_LEAD.match(said):
        return True
    rest = said.strip(" .!。！")
    who = _WHO.match(rest)
    return len(rest.split()) <= _MOST_WORDS and _INSTEAD.match(rest[who.end() :] if who else rest) is not None


def corrected(text: str, known: Sequence[Fact]) -> tuple[Fact, ...]:  # noqa: PLR0911 - one return a kind
    """Return the latest fact with a value of the same kind, with the new value in it; none if nothing is corrected."""
    said = text.strip()
    if language(said) == "zh":
        from dragoman.memory import chinese_correction  # its patterns take a while to compile

        anew = chinese_correction.corrected(said, known)
        if anew:
            return anew
    lead = _LEAD.match(said) or _CHINESE_LEAD.match(said)
    rest = said[lead.end() :].strip(" .!。！,，") if lead else said.strip(" .!。！")
    if len(rest.split()) > _MOST_WORDS or not rest or rest.endswith(("?", "？")):
        return ()
    who = _WHO.match(rest)
    candidates = [fact for fact in known if who is None or _is_meant(who, fact)]
    if who is not None:
        rest = rest[who.end() :]
    instead = _INSTEAD.match(rest)
    if instead:
        new, old = (_bare(instead["new"] or instead["new2"]), _bare(instead["old"] or instead["old2"]))
        if _PROPER.fullmatch(old) and not _PROPER.fullmatch(new):
            return ()  # "Zara who has asthma, not Noor" gives no new name
        return _replaced(candidates, _occurrence(old), new, said)
    if lead is None:
        return ()
    if _PROPER.fullmatch(rest):
        return _replaced([fact for fact in known if fact.type in ("place", "name")], _PROPER, rest, said)
    bare = _bare(rest)
    counted = _COUNTED.fullmatch(bare)
    if counted:
        noun = counted["noun"].lower().removesuffix("s")
        pattern = re.compile(rf"(?<!\w){fragment('number')} {re.escape(noun)}\w*", re.IGNORECASE)
        return _replaced(candidates, pattern, bare, said)
    for kind in _KINDS.values():
        if kind.fullmatch(bare):
            return _replaced(candidates, kind, bare, said)
    return ()


def _bare(value: str) -> str:
    return _AROUND.sub("", value.strip()).strip()


def _is_meant(who: re.Match[str], fact: Fact) -> bool:
    """Whether a pronoun, a noun or a name can refer to the subject of a fact."""
    word = who["noun"] or who["name"]
    if word:
        return re.search(rf"\b{re.escape(word)}\b", f"{fact.subject} {fact.role}", re.IGNORECASE) is not None
    pronoun = who["who"].lower()
    if pronoun in ("i", "we"):
        return fact.subject == USER
    if fact.subject == USER:
        return pronoun == "it"
    return pronoun not in ("he", "she") or fits(fact.role, pronoun)


def _occurrence(old: str) -> re.Pattern[str]:
    """Where an old value stands, be it in digits or in words."""
    value = numbers(old)
    if len(value) == 1 and re.fullmatch(fragment("number"), old, re.IGNORECASE):
        spelt = "|".join(_spellings(next(iter(value))))
        return re.compile(rf"(?<![\w.])(?:{spelt})(?!\w)", re.IGNORECASE)
    return re.compile(rf"(?<!\w){re.escape(old)}(?!\w)", re.IGNORECASE)


def _spellings(number: str) -> list[str]:
    tens = "twenty thirty forty fifty sixty seventy eighty ninety".split()
    units = (
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen"
    ).split()
    if not number.isdigit() or int(number) > 99:
        return [re.escape(number)]
    value = int(number)
    if value < len(units):
        return [number, units[value]]
    ten, unit = divmod(value, 10)
    word = tens[ten - 2] + (f"[- ]{units[unit]}" if unit else "")
    return [number, word]


def _replaced(known: Sequence[Fact], pattern: re.Pattern[str], new: str, said: str) -> tuple[Fact, ...]:
    for fact in reversed(known):
        old = pattern.search(fact.value)
        if old is None or fact.slot.endswith("!") or old[0].casefold() == new.casefold():
            continue
        if " and " in fact.value and pattern.search(fact.value, old.end()):
            continue  # "4 and 7": it is unclear which one is meant
        value = fact.value[: old.start()] + new + fact.value[old.end() :]
        text = fact.text.replace(fact.value, value, 1) if fact.value in fact.text else pattern.sub(new, fact.text, 1)
        return (replace(fact, text=text, value=value, said=said, corrects=fact.text),)
    return ()
