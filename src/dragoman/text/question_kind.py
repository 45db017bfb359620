"""What a question expects: a kind of reply (yes or no, a choice, an amount) and of answer (a price, a time, a name)."""

from __future__ import annotations

from typing import Literal, TypeAlias

from dragoman.core.caches import text_cache
from dragoman.text import lazy_re as re
from dragoman.text.form import form, unwrapped
from dragoman.text.language import language
from dragoman.text.patterns import tables
from dragoman.text.spelling import spelt

QuestionKind: TypeAlias = Literal["polar", "choice", "amount", "open"]

_NAMED = {"who": "person", "where": "place"}
_WANTS = tables("wants")
# People and places are known by the capitals of their names; everything else may be written either way.
_OFFERS = tables("offers", lambda kind: 0 if kind in _NAMED else re.IGNORECASE)
_LEAD = r"^(?:and |but |so |then |or |also |in that case |ok(?:ay)? |well )?"
_POLAR = re.compile(
    _LEAD
    + r"(?:is|are|was|were|am|do|does|did|can|could|may|might|will|would|shall|should|must|has|have|had|isn'?t|aren'?t"
    r"|don'?t|doesn'?t|didn'?t|can'?t|won'?t|any chance|(?:am )?i allowed|allowed)\b",
    re.IGNORECASE,
)
_POLAR_LATER = re.compile(
    r"[,;:.!] *(?:so |then |and |but )?(?:can|could|may|am|is|are|do|does|should|will|would|must) "
    r"(?:i|we|he|she|they|it|my|our|the|there|[A-Z]\w+)\b"
    r"|\b(?:if|whether) (?:i|we|my|he|she) (?:can|could|may|am|have to|need)\b",
    re.IGNORECASE,
)
_POLAR_END = re.compile(
    r"\b(?:ok(?:ay)?|allowed|permitted|fine|possible|all right|alright)\W*$"
    r"|(?:^|(?<=\?))(?>[^?]*?\b[a-z]++ (?:can|may|could|will|is|are|has|have)\b)[^?]*,"
    r" *(?:right|yes|no|correct|ok(?:ay)?|isn'?t (?:it|he|she)|can'?t (?:he|she|we|i|they)|aren'?t (?:we|they))\W*$",
    re.IGNORECASE,
)
"""Ends a question for yes or no that does not open like one: "hot whirlpool ok?", "she can come in, right?"."""
_POLAR_AS_STATED = re.compile(
    r"(?:^|[,.;!] )(?:(?:and|but|so|then|also|ok) )?"
    r"(?:i|we|he|she|they|it|there|my|our|the|your|this|that|[A-Z][\w'’-]*+)\b"
    r"[^?,;.]*?\b(?:can|may|must|will|get|gets|have to|has to|need|needs|am|is|are|pay|pays|allowed)\b[^?]*\?\W*$",
    re.IGNORECASE,
)
"""A statement with a question mark, as learners ask: "My son can go in the course?"."""
_ASKING = re.compile(r"\b(?:what|which|where|when|who|whom|whose|why|how)\b", re.IGNORECASE)
_POLAR_OF = re.compile(
    r"\b(?:ok(?:ay)?|allowed|permitted|fine|possible|good|safe|suitable) (?:for|with|to|in|on)\b", re.IGNORECASE
)
"""Asks for yes or no with few words: "ebike ok for me?"."""
_CHOICE = re.compile(_LEAD + r"(?:which|what|where|who|whose)\b|\bwhich\b", re.IGNORECASE)
_ZH_POLAR = re.compile(r"吗|([\u4e00-\u9fff])[不没]\1|可以不|(?:(?<![什怎多那这])么|[不没])[？?]?$")
_ZH_AMOUNT = re.compile("多少|几")
_ZH_CHOICE = re.compile(r"哪|什么|谁")


@text_cache(maxsize=2048)
def question_kind(text: str) -> QuestionKind:
    """The kind of a question, by its form."""
    core = unwrapped(form(text).core if form(text).act == "question" else spelt(text))
    if language(core) == "zh":
        polar = _ZH_POLAR.search(core) is not None
        if ("price" in wants(core) or "count" in wants(core)) and not (polar and not _ZH_AMOUNT.search(core)):
            return "amount"
        return "polar" if polar else "choice" if _ZH_CHOICE.search(core) else "open"
    if re.search(
        r"\bhow (?:much|many)\b|\bprice\b|\bcosts?\b|\bfee\b|\bfare\b", core, re.IGNORECASE
    ) and not _POLAR.match(core):
        return "amount"
    if (
        _POLAR.match(core)
        or (_POLAR_LATER.search(core) and not re.match(r"(?:which|what|where|when|how)\b", core, re.IGNORECASE))
        or (_POLAR_END.search(core) and not _CHOICE.match(core))
        or (not _ASKING.search(core) and (_POLAR_AS_STATED.search(core) or _POLAR_OF.search(core)))
    ):
        return "polar"
    return "choice" if _CHOICE.search(core) else "open"


@text_cache(maxsize=2048)
def wants(question: str) -> frozenset[str]:
    """The kinds of answer that a question asks for; none for a plain yes or no."""
    kinds = {kind for kind, pattern in _WANTS.items() if pattern.search(question)}
    if "year" in kinds or "day" in kinds:
        kinds.discard("time")
    if "phone" in kinds and re.search(r"\bnumber\b|\bring\b|phone|电话", question, re.IGNORECASE):
        kinds -= {"count", "place", "person"}
    if "price" in kinds:
        kinds -= {"count", "time", "place", "person"}
    return frozenset(kinds)


@text_cache(maxsize=8192)
def offers(sentence: str) -> frozenset[str]:
    """The kinds of answer that a sentence could give."""
    return frozenset(_NAMED.get(kind, kind) for kind, pattern in _OFFERS.items() if pattern.search(sentence))
