"""Facts of a Chinese sentence: cut at its commas, each clause with the subject that it names or shares."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from dragoman.core.values import Fact
from dragoman.memory.patterns import RULES, Rule, around, value_type, words
from dragoman.memory.subjects import USER, Subject

_AROUND = around({"lead": "^(?:{})", "supposed": "^(?:{})", "instruction": "{}"})
_CUT = re.compile(r"[，,；;、：:]\s*|\s{1,9}(?=我|他|她|它)")
_ADVERBS = re.compile(
    r"(?:现在|目前|如今|今年|已经|也|还|都|很|一直|最近|刚刚?|其实|就|又|真的|确实|平时(?=不)|而且|并且|同时|另外|因为|所以|但是?|不过)+"
)
_ROLE = "|".join(sorted(words("roles_zh") | words("pets_zh"), key=len, reverse=True))
_MATTER = "|".join(sorted(words("matters_zh"), key=len, reverse=True))
_SUBJECT = re.compile(
    rf"(?:我|我们)(?:的|家的?)?(?P<role>{_ROLE})|(?P<we>我们|咱们)(?!的|家)|(?:我|我们)(?:家)?的?(?P<matter>{_MATTER})"
    r"|(?P<me>我)|(?P<it>他们|她们|他|她|它)"
)
_MENTION = re.compile(
    rf"(?:我的?|带着?|和|跟)(?:我的?)?(?P<role>{_ROLE})(?P<name>[^，。；！？,.!?的来去一是有]{{0,3}})(?=来|去|一起|$)"
)
_OWNED = re.compile(rf"(?:养|有)(?:了)?(?:[一两二三四五六\d几]+[只条匹个位对])?[^，。]{{0,3}}?(?P<role>{_ROLE})$")
_ASKED = re.compile(
    r"什么|啥|咋|多大|多久|多远|谁|哪|吗|呢$|几[个岁点]|多少|怎么|能不能|可不可以|是不是|有没有|好不好|[？?]"
)
_CORRECTION = re.compile(r"^(?:不是?|不对|错了|更正|说错了|抱歉|对不起)[，,。\s]*")
_NOT_IN_NAME = frozenset("的是也都今很不会有在对喜叫姓刚已现要住没能坐用最爱怀来了家说就还")
_MATTERS = {
    "预算": "budget",
    "生日": "birthday",
    "身高": "height",
    "体重": "weight",
    "职业": "job",
    "工作": "job",
    "地址": "home",
    "名字": "name",
    "母语": "language",
}
_LONGEST_NAME = 3


def sentence_facts(text: str, said: str, people: Callable[[], Mapping[str, str]]) -> Iterator[Fact]:
    """The facts that a Chinese sentence states."""
    bare = _CORRECTION.sub("", _AROUND["lead"].sub("", text).strip())
    if not bare or _AROUND["supposed"].match(bare) or _AROUND["instruction"].search(bare):
        return
    current: Subject | None = None
    last: Subject | None = None
    for cut in _CUT.split(bare.rstrip("。！!.～~ ")):
        clause = _ADVERBS.sub("", cut.strip(), count=1) if _ADVERBS.match(cut.strip()) else cut.strip()
        if not clause or _ASKED.search(clause) or _AROUND["supposed"].match(clause):
            continue
        subject, predicate = _subject(clause, current, last, people)
        if subject is None:
            continue
        if subject.key != USER:
            last = subject
        mentioned = _MENTION.search(clause)
        if mentioned:
            role, name = mentioned["role"], mentioned["name"]
            last = Subject(name or role, f"我{role}{name}", role)
        owned = _OWNED.search(predicate) if subject.key == USER else None
        if owned and not mentioned:
            last = Subject(owned["role"], f"我的{owned['role']}", owned["role"])
        current = subject
        fact = _match(subject, predicate, said)
        if fact is not None:
            yield fact


def _subject(  # noqa: PLR0911 - one return a kind of subject
    clause: str, current: Subject | None, last: Subject | None, people: Callable[[], Mapping[str, str]]
) -> tuple[Subject | None, str]:
    """The subject of a clause and what is said of it."""
    match = _SUBJECT.match(clause)
    if match is None and last is not None and clause.startswith(("叫", "名叫", "名字叫", "名字是")):
        return last, clause
    if match is None:
        for name, role in people().items() if not clause.isascii() else ():
            if name and clause.startswith(name):
                return Subject(name, name, role), clause[len(name) :]
        return current, clause
    rest = clause[match.end() :]
    if match["me"]:
        return Subject(USER, "我"), rest
    if match["we"]:
        return Subject(USER, "我们", plural=True), rest
    if match["it"]:
        return last, rest
    if match["matter"]:
        return Subject(USER, "我的"), f"{match['matter']}{rest}"
    role = match["role"]
    for length in range(_LONGEST_NAME + 1):
        name = rest[:length]
        if _NOT_IN_NAME.intersection(name):
            break
        if _first(rest[length:], "other") is not None:
            return Subject(name or role, match[0] + name, role), rest[length:]
    return Subject(role, match[0], role), rest


def _first(predicate: str, who: str) -> tuple[Rule, re.Match[str]] | None:
    adverbs = _ADVERBS.match(predicate)
    bare = predicate[adverbs.end() :] if adverbs else predicate
    for rule in RULES["zh"]:
        if rule.who and rule.who != who:
            continue
        match = rule.pattern.match(bare)
        if match:
            return rule, match
    return None


def _match(subject: Subject, predicate: str, said: str) -> Fact | None:
    found = _first(predicate, "user" if subject.key == USER else "other")
    if found is None:
        return _matter(subject, predicate, said)
    rule, match = found
    groups = match.groupdict()
    value = next((groups[key] for key in ("x", "y", "z") if groups.get(key)), "").strip()
    value = rule.value.format(x=value) if rule.value else value
    if not value or _ASKED.search(value):
        return None
    relation = rule.slot.format(k=groups.get("k") or "").strip() if "{k}" in rule.slot else rule.slot
    return _fact(subject, relation + ("!" if rule.ended else ""), value, f"{subject.phrase}{predicate}", said)


def _matter(subject: Subject, predicate: str, said: str) -> Fact | None:
    """What "我的房间号是12" says: the noun is the slot; of a person, what they are."""
    match = re.match(r"(?P<k>[^是，,]{0,6}?)是(?P<x>[^，。；！？,.!?]+)", predicate)
    if match is None:
        return None
    matter, value = match["k"], match["x"]
    if subject.key != USER and not matter:
        return _fact(subject, "about", value, f"{subject.phrase}{predicate}", said)
    if subject.phrase == "我的" and matter in words("matters_zh"):
        return _fact(subject, _MATTERS.get(matter, matter), value, f"{subject.phrase}{predicate}", said)
    return None


def _fact(subject: Subject, relation: str, value: str, text: str, said: str) -> Fact:
    if subject.key == USER:
        slot = relation
    else:
        slot = f"{subject.key}的名字" if relation == "name" else f"{subject.key}'s {relation}"
    role = "" if subject.key == USER else subject.role
    return Fact(text.rstrip(" 。！!") + "。", slot, value, said, subject.key, value_type(relation), role)
