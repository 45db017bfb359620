"""What a question about a user's facts is about: whose fact, and which slot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dragoman.core.values import Passage
from dragoman.memory.patterns import words
from dragoman.memory.reconcile import fact_of
from dragoman.memory.roles import canonical
from dragoman.text import lazy_re as re
from dragoman.text.patterns import Lazy

_SLOTS = Lazy(
    {
        "home": r"\b(?:liv(?:e|es|ed|ing)|home|address|mov(?:e|ed)|reside[sd]?|hometown)\b|住|搬|地址|住址",
        "job": r"\b(?:work(?:s|ed|ing)?|job|employer|employed|profession|company|for a living)\b"
        r"|\bwhat (?:do|did|does) [\w ]{1,30} do\b"
        "|工作|上班|职业|公司|任职|入职",
        "name": r"\b(?:called|name)\b|名字|叫什么",
        "birthday": r"\b(?:birthday|born)\b|生日|出生",
        "diet": r"\b(?:diet|vegetarian|vegan)\b|饮食|吃素",
        "allergy": r"\ballerg(?:y|ic|ies)\b|过敏",
        "hobby": r"\bhobb(?:y|ies)\b|爱好",
        "pet": r"\bpets?\b|宠物",
        "age": r"\bhow old\b|\bage\b|几岁|多大",
        "budget": r"\bbudget\b|预算",
        "lodging": r"\b(?:hotel|stay(?:ed|ing)?|lodging)\b|酒店",
        "studies": r"\bstud(?:y|ied|ying)\b|学习|专业",
        "marital status": r"\b(?:married|single|divorced)\b|结婚",
    }
)
_OWN = re.compile(r"\b(?:my|our) (?P<whom>[\w-]+?)(?:['’]s|s['’])?(?![\w-])", re.IGNORECASE)
_WORD = re.compile(r"[a-z][a-z'-]{2,}", re.IGNORECASE)
_PLAIN = frozenset(
    "the and what was were did where when who how which before that this you your mine have has had does for with from "
    "about tell told know favourite favorite long since until till old new previous former last name".split()
)


@dataclass(frozen=True, slots=True)
class Topic:
    """What a question about the past is about: a slot of a subject, and perhaps a value that its `text` names."""

    slot: str
    subject: str = "user"
    text: str = ""

    def of(self, rows: Sequence[Passage]) -> list[Passage]:
        """The rows of this topic; only those with the value that the question names, where it names one."""
        chosen = [row for row in rows if self._fits(row)]
        return self.named(chosen) or chosen

    def named(self, rows: Sequence[Passage]) -> list[Passage]:
        """The rows whose value the question names."""
        return [row for row in rows if _mentions(self.text, row.meta.get("value", ""))]

    def names_value(self, rows: Sequence[Passage]) -> bool:
        return bool(self.named([row for row in rows if self._fits(row)]))

    def _fits(self, row: Passage) -> bool:
        fact = fact_of(row)
        return fact.subject == self.subject and fact.relation.rstrip("!") == self.slot and not fact.slot.endswith("!")


def topic_of(
    text: str, rows: Sequence[Passage], analyse: Callable[[str], tuple[str, ...]], *, slot: str = ""
) -> Topic | None:
    """Return the topic of a question; None if no stored fact is about it."""
    subject = _subject(text, rows)
    slots = {fact_of(row).relation.rstrip("!") for row in rows if fact_of(row).subject == subject}
    if slot:
        return Topic(slot, subject, text)
    tokens = set(analyse(text))
    named = [each for each in slots if each and (words := set(analyse(each))) and words <= tokens]
    if named:
        return Topic(max(named, key=len), subject, text)
    for each, pattern in _SLOTS.items():
        if each in slots and pattern.search(text):
            return Topic(each, subject, text)
    for row in rows:
        fact = fact_of(row)
        if fact.subject == subject and fact.relation and _mentions(text, fact.value):
            return Topic(fact.relation.rstrip("!"), subject, text)
    return None


def _subject(text: str, rows: Sequence[Passage]) -> str:
    """Return the subject of a question: a person by name or role, known or not, else the user."""
    named = {canonical(word.casefold().removesuffix("'s")) for word in _WORD.findall(text)}
    for row in rows:
        fact = fact_of(row)
        for name in (fact.subject, fact.role):
            if (
                fact.subject != "user"
                and name
                and (canonical(name.casefold()) in named or (not name.isascii() and name in text))
            ):
                return fact.subject
    own = (match["whom"].casefold() for match in _OWN.finditer(text))
    return next((whom for whom in own if whom in words("roles") | words("pets")), "user")


def _mentions(text: str, value: str) -> bool:
    """Whether a question contains an uncommon word of a value."""
    if not value or not text:
        return False
    if not value.isascii():
        return value in text or value.removesuffix("工作").removesuffix("上班") in text
    said = {word.casefold() for word in _WORD.findall(text)} - _PLAIN
    return any(word.casefold() in said for word in _WORD.findall(value) if word.casefold() not in _PLAIN)
