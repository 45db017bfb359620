# ruff: noqa: E501  # a pattern is easier to check in one piece
"""Find the facts that an English question about the user's own plans and things asks for: "When do I arrive?".

Documents speak of arrivals, stays and passes too, so where no fact fits, nothing is found here, and they may answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dragoman.core.values import Fact, Passage
from dragoman.memory.subjects import USER
from dragoman.text import lazy_re as re

_I = r"(?:(?:do|did|am|are|will|can|shall|have) (?:i|we)|(?:i|we)(?: am| are| will|['’](?:m|re|ll))?)(?: be)?(?: planning to| going to)?"
_TAIL = r"(?: (?:here|there|again|exactly|along|home|to|in|at|with|on)(?>(?: [\w-]{2,20}+){0,4}))?"
_ASKED = tuple(
    (frozenset(relations.split()), re.compile(pattern, re.IGNORECASE))
    for relations, pattern in (
        ("return", rf"when {_I} (?:com\w*|return\w*|fly\w*|get\w*|go\w*|travel\w*|driv\w*) ?back{_TAIL}"),
        ("arrival", rf"(?:when|(?:on )?(?:what|which) (?:day|date)|(?:at )?what time) {_I} (?:arriv\w*|com\w*|check\w* in|travel\w*|visit\w*|fly\w*|get\w* (?:in|there|here)){_TAIL}"),
        ("departure return stay", rf"(?:when|(?:on )?(?:what|which) (?:day|date)|(?:at )?what time) {_I} (?:leav\w*|depart\w*|check\w* out|go\w* home){_TAIL}"),
        ("stay", rf"(?:how long|until when|till when|how many (?:nights|days|weeks)) {_I} (?:stay\w*|visit\w*|here|there|in \w+){_TAIL}"),
        ("party", r"how many (?:people |persons |of us )?(?:are|will) (?:we|there of us|be coming|come|us)(?: be)?(?: in (?:our|my) (?:group|party))?|how many of us are (?:there|coming)|how (?:big|large) is (?:my|our) (?:group|party)"),
        ("companion", rf"(?:with whom|who(?:m)?) (?:{_I} (?:com\w*|travel\w*|arriv\w*|bring\w*|visit\w*){_TAIL}|(?:is|are) (?:coming|travelling|traveling) with (?:me|us))"),
        ("household", r"(?:with whom|whom?) (?:do|are) (?:i|we) (?:live|living|share (?:a|my|our|the) (?:house|home|flat|apartment))(?: with)?|who(?: else)? (?:lives|is living) (?:with (?:me|us)|at (?:my|our) (?:home|house|place))|who (?:is|are) in (?:my|our) (?:household|home|house|family)"),
        ("brings companion", rf"what {_I} (?:bring\w*|carry\w*){_TAIL}"),
        ("transport", rf"how {_I} (?:com\w*|travel\w*|arriv\w*|get\w* (?:in|there|here)){_TAIL}"),
        ("condition allergy aid fear", r"what(?:['’]s| is) (?:wrong|the matter|up) with (?P<who>.+)|what (?:illness|illnesses|disease|condition|conditions) (?:do|does) (?P<who2>.+?) (?:have|suffer from)"),
        ("aid wears", r"what (?:do|does) (?P<who>.+?) (?:use|need|wear)(?: (?:to|for) walk\w*)?"),
        ("birthday age", r"when (?:do|does|will|is|am) (?P<who>.+?) (?:turn|turning|be)(?: \d{1,3})?"),
        ("income job", r"(?:how much|what) (?:do|does) (?P<who>.+?) (?:earn|make)(?: (?:a|per|each) (?:month|year|week|hour))?"),
        ("weight", r"how (?:heavy is|much (?:do|does)) (?P<who>.+?)(?: weigh)?"),
        ("height size length width", r"how (?:tall|high|long|big|wide|large) (?:am|is|are) (?P<who>.+)"),
        ("avoids dislikes allergy diet", r"what(?: \w+)? (?:(?:do|does|can|may|should|must|would)(?:n['’]?t| not)|can['’]?t|cannot) (?P<who>.+?) (?:like|love|eat|drink|have|tolerate|enjoy|touch)"),
        ("avoids dislikes allergy diet", r"what(?: \w+)? (?:do|does|can|may|should|must|would) (?P<who>.+?) (?:not|never) (?:like|love|eat|drink|have|tolerate|enjoy|touch)"),
        ("avoids dislikes allergy diet", r"what(?: \w+)? (?:do|does|should|must) (?P<who>.+?) (?:avoid|hate|dislike)"),
        ("likes dislikes favourite", r"what (?:do|does) (?P<who>.+?) (?:like|love|hate|dislike|prefer|enjoy)"),
        ("language", r"(?:which|what) languages? (?:do|does) (?P<who>.+?) (?:speak|know)"),
        ("studies status", r"what (?:do|does|am|are|is) (?P<who>.+?) (?:study|studying|learning)"),
    )
)  # fmt: skip
"""Relations of the facts that answer, and the question; without `who` it is the user's own."""
_WHEN = re.compile(
    r"(?:when|(?:at )?what time|(?:on )?(?:which|what) (?:day|date))(?:['’]s| is| was| are| were) (?:my|our) (?P<thing>.+)",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day|\b(?:jan|febr)uary|\bmarch\b|\bapril\b|\bmay\b|\bju(?:ne|ly)\b|\baugust\b|\b(?:sept|nov|dec)ember"
    r"|\boctober\b|\btomorrow\b|\bmorning\b|\bevening\b|\bafternoon\b|\bnoon\b",
    re.IGNORECASE,
)
_COUNT = re.compile(r"how many (?P<thing>[\w -]{2,24}?) (?:do (?:i|we) (?:have|own)|have (?:i|we) got)", re.IGNORECASE)
_WHICH = re.compile(
    r"(?:which|what)(?: kinds? of| sort of)? (?P<thing>[\w -]{2,24}?) (?:(?:do|did) (?:i|we) (?:have|own|use|drive|take|need|bring|hold|book|reserve)|have (?:i|we) (?:got|booked))",
    re.IGNORECASE,
)
_WHO = re.compile(
    r"who(?: of us| in my family)?(?:['’]s| is| has| eats?| uses?| lives?| works?| speaks?) (?P<thing>[\w -]{3,40})",
    re.IGNORECASE,
)
_HAVE = re.compile(
    r"(?:do|did|have|has|does|am|are) (?:i|we) (?:still |already |really |currently )?(?:have|own|got|use|take|bring|wear|drive|hold|carry|bringing|taking|using|wearing)"
    r" (?!to\b)(?P<thing>.+)",
    re.IGNORECASE,
)
_IS = re.compile(
    r"(?:is|are|has|have|does|do|was|did) (?P<who>(?:my|our) [\w-]+(?: (?-i:[A-ZÀ-Þ])[\w'’-]+?)?|(?-i:[A-ZÀ-Þ])[\w-]+)(?:['’]s)? (?:still |already |really )?(?P<thing>[\w' -]{3,60})",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:no|not|never|without|lost|sold|gave up|cancelled)\b|n['’]t\b", re.IGNORECASE)
_ATTRIBUTES = frozenset(
    "diet allergy condition aid job language hobby origin home studies nationality fear swims drives smokes".split()
)

Row = tuple[Passage, Fact]


def facts_asked_for(
    question: str,
    known: Sequence[Row],
    analyse: Callable[[str], tuple[str, ...]],
    keys_of: Callable[[str], frozenset[str]],
) -> list[Passage]:
    """The facts that answer a question without its greeting and mark; `keys_of` gives the subjects that words name."""
    for relations, pattern in _ASKED:
        match = pattern.fullmatch(question)
        if match is not None:
            groups = match.groupdict()
            who = groups.get("who") or groups.get("who2")
            keys = keys_of(who) if who else frozenset((USER,))
            found = [row for row, fact in known if fact.subject.casefold() in keys and fact.relation in relations]
            if found or not who:
                return found
            return []
    for pattern, fits in ((_WHEN, _has_time), (_COUNT, _is_owned), (_WHICH, _is_owned), (_WHO, _is_attribute)):
        match = pattern.fullmatch(question)
        if match is not None:
            stems = set(analyse(match["thing"]))
            return [row for row, fact in known if stems and fits(fact) and stems <= _stems(row, fact, analyse)]
    return []


def whether_so(
    question: str,
    known: Sequence[Row],
    analyse: Callable[[str], tuple[str, ...]],
    keys_of: Callable[[str], frozenset[str]],
) -> tuple[bool, Passage] | None:
    """Whether the user has, or somebody of theirs is, what a question asks; with the fact that says so.

    None where nothing was told that has all its words.
    """
    match = _HAVE.fullmatch(question) or _IS.fullmatch(question)
    if match is None:
        return None
    stems, who = set(analyse(match["thing"])), match.groupdict().get("who")
    keys = keys_of(who) if who else frozenset((USER,))
    for row, fact in reversed(known):
        if stems and fact.subject.casefold() in keys and stems <= _stems(row, fact, analyse):
            return not _DENIED.search(row.text), row
    return None


def _stems(row: Passage, fact: Fact, analyse: Callable[[str], tuple[str, ...]]) -> set[str]:
    return {*analyse(row.text), *analyse(fact.slot)}


def _has_time(fact: Fact) -> bool:
    return _TIME.search(fact.text) is not None


def _is_owned(fact: Fact) -> bool:
    return fact.subject == USER and fact.relation not in ("likes", "dislikes", "avoids", "hobby")


def _is_attribute(fact: Fact) -> bool:
    return fact.relation in _ATTRIBUTES
