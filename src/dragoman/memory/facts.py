"""Facts that a turn states about the user, by the rules of `memory/patterns`.

A fact has a slot, which names what it is about. A slot of one value (where somebody lives) is replaced
by a newer fact; a slot of many (what somebody likes) is joined by it. A slot that ends in `!` belongs
to a fact that says that an earlier one no longer holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.core.values import Fact
from dragoman.memory.patterns import RULES, around, like, never
from dragoman.text.form import form
from dragoman.text.language import language
from dragoman.text.sentences import sentences
from dragoman.text.spelling import spelt

MANY = frozenset({"avoids", "likes", "dislikes", "allergy", "pet", "language", "hobby", "family", "has", "about"})
"""Slots that hold several values at once."""
_MATTERS = frozenset({"question", "turn", "point", "problem", "mistake", "bad", "pleasure", "guess", "idea"})
_AROUND = around({"lead": "^(?:{})", "afterthought": "(?:{})+$", "supposed": "^(?:{})", "fleeting": "{}"})
_NO_NAME, _NOT_HAD = never("name"), never("has")
_ASKED = re.compile(r"什么|谁|哪|吗$|呢$|几[个岁]|多少|\b(?:what|who|where|which)\b", re.IGNORECASE)
_COMMA = re.compile(r"[,，;；]\s*(?:so |and |but )?")
_CLAUSE = re.compile(
    r"(?:,\s*|\s+)(?:and|but)\s+(?=(?:i\b|i'|my\b|our\b))|,\s+(?=(?:i\b|i'|my\b))|[，,、](?=(?:也|还|而且)?我)",
    re.IGNORECASE,
)


def facts(text: str) -> tuple[Fact, ...]:
    """The facts that a text states about its speaker, each as a sentence of its own."""
    found: dict[tuple[str, str], Fact] = {}
    for sentence in sentences(spelt(text)):
        bare = _AROUND["lead"].sub("", sentence).strip()
        if not bare or _AROUND["supposed"].match(bare):
            continue
        asks = form(sentence).act == "question"
        for clause in _told(bare) if asks else _clauses(bare):
            for fact in _match(clause):
                found.setdefault((fact.slot, fact.value.casefold()), fact)
    return tuple(found.values())


def ends(fact: Fact) -> bool:
    """Whether a fact says that an earlier one no longer holds."""
    return fact.slot.endswith("!")


def holds_many(slot: str) -> bool:
    """Whether a slot holds several values at once: what one likes, and what one says of a sister or a dog."""
    return slot in MANY or ("'s " not in slot and "的" not in slot and like(slot) in ("family", "pet"))


def is_lasting(text: str) -> bool:
    """Whether a statement could hold beyond today."""
    return not _AROUND["fleeting"].search(text)


def _told(question: str) -> Iterator[str]:
    """What a question tells on its way: "I'm vegetarian, what could I eat?"."""
    *told, _ = _COMMA.split(question)
    for part in told:
        if form(part).act == "statement":
            yield from _clauses(part)


def _clauses(sentence: str) -> Iterator[str]:
    """The sentence cut before each new "I ..." or "my ...", so that every fact keeps its own words."""
    for cut in _CLAUSE.split(sentence):
        clause = cut.strip(" ,，")
        if clause:
            yield clause


def _match(clause: str) -> Iterator[Fact]:
    spoken = language(clause)
    for rule in RULES[spoken]:
        match = rule.pattern.search(clause)
        if not match:
            continue
        groups = match.groupdict()
        value = next((groups[key] for key in ("x", "y", "z") if groups.get(key)), "")
        value = _AROUND["afterthought"].sub("", value).strip(" '\"“”")
        key = (groups.get("k") or "").strip().casefold()
        slot = rule.slot.format(k=key) if "{k}" in rule.slot else (f"{rule.slot} {key}" if key else rule.slot)
        if not _plausible(slot, value):
            continue
        yield Fact(_sentence(clause, chinese=spoken == "zh"), slot + ("!" if rule.ended else ""), value, clause)
        return


def _plausible(slot: str, value: str) -> bool:
    words = value.casefold().split()
    if slot == "name":
        return 0 < len(words) <= 3 and words[0] not in _NO_NAME
    if slot == "has":
        return bool(value) and words[-1] not in _NOT_HAD
    if slot in _MATTERS or _ASKED.search(value):
        return False
    return bool(value) or slot == "hobby"


def _sentence(clause: str, *, chinese: bool) -> str:
    text = clause[0].upper() + clause[1:]
    text = re.sub(r"^(?:And|But|Also) ", "", text)
    text = re.sub(r"\b(?:i|im)\b(?!')", lambda word: "I'm" if word[0].lower() == "im" else "I", text)
    text = re.sub(r"\bi(?=['’])", "I", text)
    return text.rstrip(" .!。！") + ("。" if chinese else ".")
