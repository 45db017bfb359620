# ruff: noqa: E501  # a pattern is easier to check in one piece
"""Parse a Chinese question: its target, and the facts about the person it is about."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from dragoman.core.caches import text_cache
from dragoman.decision.chinese.words import canonical
from dragoman.decision.facts import Situation, situation
from dragoman.decision.numerals import normalise
from dragoman.decision.subjects import USER, is_person, same, subject_of_fact
from dragoman.decision.values import LONGEST_FACT
from dragoman.text import lazy_re as re

Target: TypeAlias = Literal["discount", "free", "pay", "price", "require", "permit", "choice", "other"]

_TARGETS: tuple[tuple[Target, re.Pattern[str]], ...] = (
    ("price", re.compile("几成|(?<!有)多少[？?]?$|(?:报|报销|退|扣|罚|赔|交|付|给|加|减|省|补)[^，。]{0,4}多少|多少钱|多少元|几块钱|价格|租金.{0,6}多少|[费票金].{0,4}多少|要给多少|得花多少|花多少|怎么收费|怎么卖|几折")),
    ("discount", re.compile("优惠|打折|折扣|半价|(?<!最)便宜|少[交付收给]|减免|减[一半]")),
    ("pay", re.compile("要[^，。]{0,6}[费钱金](?:吗|不|么|$)|(?:要|用|得|需要)(?:不要|不用)?(?:另外|再|额外)?(?:买|购|付|花|交|收|给)[^，。]{0,4}[票钱费金]|收费|收钱|要钱|要票|要付|花钱|用买")),
    ("free", re.compile("免费|免票|不要钱|不收钱")),
    ("choice", re.compile("哪|什么[^，。]{0,6}(?:适合|合适)|(?:适合|合适)[^，。]{0,6}什么")),
    ("other", re.compile("几点|什么|谁|为什么|怎么|多久|多长|多远|几[个天次岁]|多大|多高")),
    ("require", re.compile("必须|需要|要不要|需不需要|用不用|得不得|(?<!想)(?<!只)要[^，。]{1,10}[吗么不]")),
)  # fmt: skip
_ASKED_ACT = re.compile(
    "(?:能不能|可不可以|可以|能|准|让)(?:自己|单独|一起|直接|免费|再|也|先|跟我|带他|带她){0,2}(?P<act>[^，。？?吗么不呢吧了]{1,8})"
)
_CALLED = re.compile("叫(?:做)?([一-龥]{1,4}?)(?=[，。！]|$)")


@dataclass(frozen=True, slots=True)
class UserCase:
    """A question with the user's facts that concern it."""

    situation: Situation
    facts: tuple[str, ...]
    """The facts about whom the question is about."""
    question: str
    """The question, with what it names by a name alone: "布丁能进吗" is about a dog."""
    original: str = ""
    """The question as the user wrote it."""
    pet: str = ""
    """The fact about the animal that the question names."""
    all_facts: tuple[str, ...] = ()
    """All facts, also those about others."""


def target(question: str) -> Target:
    """Return what a Chinese question asks for."""
    plain = normalise(question[:LONGEST_FACT])
    return next((name for name, pattern in _TARGETS if pattern.search(plain)), "permit")


def asked_verb(question: str) -> str:
    """The verb that a question for permission asks about: 退 in "学费能退吗"."""
    match = _ASKED_ACT.search(question)
    return match["act"][0] if match else ""


@text_cache(maxsize=64)
def user_case(facts: tuple[str, ...], question: str) -> UserCase:
    """The facts about the person of a question; 他 and 她 mean the person of the last fact that is not about the user."""
    read = situation(facts, question)
    subjects = [subject_of_fact(normalise(fact), read.people, USER) for fact in facts]
    subject = read.subject
    others = [keys for keys in subjects if keys != USER]
    if subject == USER and re.search("[他她它]", question) and others:
        subject = others[-1]
    anyone = subject == USER and not re.search("我|咱|本人", question)
    facts_about = tuple(
        fact
        for fact, keys in zip(facts, subjects, strict=True)
        if same(keys, subject)
        or (anyone and keys != USER)
        or (subject == USER and fact.startswith("我") and not is_person(keys, read.people))
    )
    clauses = tuple(part for part in re.split("[，,。]", question)[:-1] if re.match("我|咱", part))
    pets = [
        (fact, kind)
        for fact in facts
        if (name := _CALLED.search(fact)) and name[1] in question
        for kind in ("狗", "猫")
        if kind in canonical(fact)
    ]
    full = f"{question}（{pets[0][1]}，宠物）" if pets else question
    own_facts = (*facts_about, *clauses)
    return UserCase(replace(read, subject=subject), own_facts, full, question, pets[0][0] if pets else "", facts)
