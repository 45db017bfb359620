# ruff: noqa: E501  # a pattern is easier to check in one piece
"""English corrections told in passing, of what the turn before told: "it's the small one actually", "sorry, petrol".

Such a turn names neither whom nor what it corrects. It may give another kind of the same thing ("a small one"), take
the kind back ("not a full one, we only took the half"), deny the whole ("that was wrong, he isn't"), or give only the
new value, which then must be near in meaning to the old one ("petrol" for "a diesel").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from dragoman.core.values import Fact
from dragoman.memory.subjects import USER
from dragoman.text import lazy_re as re
from dragoman.text.language import language
from dragoman.text.spelling import spelt

NEAR = 0.28
"""How alike the vectors of a new value and the old one must be."""
_MOST_WORDS, _LONGEST = 16, 160
_MOST_VALUE_WORDS = 5
_LEAD = re.compile(
    r"(?:(?:oh|ah|oops|sorry|no|nope|wait|hang on|hold on|well|hm+|correction|actually|rather|or rather|scratch that|strike that|make that"
    r"|make it|i (?:mean|meant)(?: to say)?|i should have said|my (?:mistake|bad)|not quite|(?:that|it) was (?:wrong|a mistake|not right)"
    r"|that['’]?s (?:wrong|not right|not quite right|not true)|i (?:got|had|said|told you) (?:that|it|this)(?: all)? wrong|i was wrong"
    r"|(?:it['’]?s |that['’]?s )?spel(?:led|t)|i(?: have|['’]ve)? made a mistake|that is (?:wrong|not right|not true))\b[\s,.:;!–—-]{0,4})+",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"(?:[\s,]{1,3}(?:actually|really|in fact|to be (?:precise|exact|honest|fair)|i mean|sorry|my mistake|my bad|rather)){1,4}$",
    re.IGNORECASE,
)
_BE = r"(?:(?:it|that|this|there)(?:['’]?s| is| was)|(?:they|these|those)(?:['’]re| are| were)|i (?:mean|meant)|we (?:mean|meant))"
_ONLY = r"(?:only |just |really |actually |more like ){0,3}"
_ANOTHER = re.compile(
    rf"(?P<be>{_BE} )?(?P<only>{_ONLY})(?P<det>an?|the) (?P<kind>[\w’'-]+(?: [\w’'-]+)?) ones?", re.IGNORECASE
)
_NO_SUCH = re.compile(
    rf"(?:{_BE} |(?:it|that|this) is|(?:it|that|this)(?=n['’]t))?(?:n['’]t|not)(?: really| actually| even)? (?P<det>an?|the) (?P<kind>[\w’'-]+(?: [\w’'-]+)?) ones?(?:\s?[,;:–—-]\s?|\s|$)"
    r"(?P<rest>.*)",
    re.IGNORECASE,
)
_VALUE = re.compile(
    rf"(?P<be>(?:{_BE}|(?P<who>he|she|i|we)(?:['’]?s|['’]?m|['’]?re| is| am| are)) )?(?P<only>{_ONLY})(?P<value>\S.*)",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"(?P<who>i|we|he|she|it|they|that|this)(?: (?:am|is|are|was|has|have|can|will|do|does) not|['’](?:m|s|re|ve|ll) not|(?: is| are| was| has| have| ca| will| do| does| wo)n['’]t"
    r"| (?:isn|aren|wasn|hasn|haven|can|don|doesn|won)['’]?t)(?: (?:any ?more|yet|so|true|right))?",
    re.IGNORECASE,
)
_VERB = re.compile(r"\b(?P<verb>is|am|are|was|were|can|will|has been|have been)\b(?! not\b)", re.IGNORECASE)
_HAS = re.compile(r"\b(?:has|have)\b", re.IGNORECASE)
_NO_VALUE = re.compile(
    r"\b(?:i|you|we|he|she|they|me|us|who|what|when|where|why|how|which|if|please|thanks?|thank|yes|yeah|no|ok|okay|sure|nothing|something|anything"
    r"|question|problem|idea|wrong|right|late|sorry|that|this|it|so|too|also|and|but|because|is|are|was|were|do|does|did|can|could|will|would|have|has|had"
    r"|nice|good|great|bad|fine|all|more|again|never|one|ones|wait|day|matter)\b",
    re.IGNORECASE,
)
_NOUN_PHRASE = re.compile(
    r"\b(?P<det>an?|the|my|our|one|two|three|\d+) (?P<kind>(?:[\w’'-]+ ){0,2})(?P<noun>[\w’'-]+)$", re.IGNORECASE
)
_INSTEAD = re.compile(
    r"(?:[^,;:]{0,40}?(?:\b(?:is|are|am|has|have)|['’](?:s|m|re)) )?(?P<new>[^,;:]{1,30}?),? (?:and |but )?not (?P<old>[^,;:]{1,30})",
    re.IGNORECASE,
)
_PREPOSITION = re.compile(r"(?:at|in|on|from|to|until|till|near|by|for|with|around|about)\b ?", re.IGNORECASE)
_LAST_PREPOSITION = re.compile(r"\b(?:at|in|on|from|to|until|till|near|by|for|with|around|about) $", re.IGNORECASE)
_DETERMINER = re.compile(r"(?:an?|the) ", re.IGNORECASE)
_SIGN = re.compile(
    rf"^(?:{_LEAD.pattern})|(?:{_TAIL.pattern})|\bones?\b|\bnot\b|n['’]?t\b|\b(?:only|just|more like)\b", re.IGNORECASE
)
_QUESTION = re.compile(
    r"(?:is|are|can|could|may|do|does|did|will|would|should|what|how|when|where|which|who|why)\b", re.IGNORECASE
)


def may_correct_in_passing(text: str) -> bool:
    """Whether a turn looks like such a correction: most turns are told apart by a word."""
    said = text.strip()
    return (
        len(said) <= _LONGEST
        and len(said.split()) <= _MOST_WORDS
        and not said.endswith("?")
        and _SIGN.search(said) is not None
    )


def told_in(turn: str, known: Iterable[Fact]) -> list[Fact]:
    """The facts among the `known` that a turn told, oldest first."""
    words = _plain(turn)
    return [fact for fact in known if (said := _plain(fact.said)) and said in words]


def passing_correction(text: str, told: Sequence[Fact], alike: Callable[[str, str], float]) -> tuple[Fact, ...]:
    """The fact of the turn before, as a turn corrects it in passing; none where it corrects nothing.

    `told` are the facts of that turn, oldest first; `alike` compares two texts by meaning.
    """
    said = text.strip()
    if not told or language(said) != "en" or not may_correct_in_passing(said):
        return ()
    lead = _LEAD.match(said)
    rest = said[lead.end() :] if lead else said
    tail = _TAIL.search(rest.rstrip(" .!"))
    rest = (rest[: tail.start()] if tail else rest).strip(" .!,;–—-")
    if not rest or _QUESTION.match(rest):
        return ()
    latest = [fact for fact in reversed(told) if not fact.slot.endswith("!")]
    changes = [_without_kind, _denied, _instead]
    other = _ANOTHER.fullmatch(rest)
    if other is not None and (lead or tail or other["be"]):
        changes.append(_of_another_kind)
    for change in changes:
        for fact in latest:
            text = change(fact, rest)
            if text:
                return (_corrected(fact, text, said),)
    return _with_value(latest, rest, said, alike, is_marked=bool(lead or tail))


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", spelt(text).casefold()))


def _corrected(fact: Fact, text: str, said: str, value: str = "") -> Fact:
    statement = f"{text.rstrip(' .')}."
    return replace(fact, text=statement, value=value or statement.rstrip("."), said=said, corrects=fact.text)


def _of_another_kind(fact: Fact, rest: str) -> str:
    """ "It's the small one" after "We rented the large boat"."""
    match, thing = _ANOTHER.fullmatch(rest), _NOUN_PHRASE.search(fact.text.rstrip("."))
    if match is None or thing is None or not thing["kind"]:
        return ""
    return f"{fact.text[: thing.start()]}{match['det']} {match['kind']} {thing['noun']}"


def _without_kind(fact: Fact, rest: str) -> str:
    """ "It's not a full one, we only took the half" after "We booked a full cabin"."""
    match = _NO_SUCH.fullmatch(rest)
    old = (
        re.search(rf"\b(?P<det>an?|the) {re.escape(match['kind'])} (?P<noun>[\w’'-]+)", fact.text, re.I)
        if match
        else None
    )
    if match is None or old is None:
        return ""
    instead = re.sub(r"^(?:but|and) ", "", match["rest"])
    other = _ANOTHER.fullmatch(instead)
    before, after = fact.text[: old.start()], fact.text[old.end() :].rstrip(".")
    if other is not None:
        return f"{before}{other['det']} {other['kind']} {old['noun']}{after}"
    article = "the" if old["det"].lower() == "the" else "an" if old["noun"][0].lower() in "aeiou" else "a"
    plain = f"{before}{article} {old['noun']}{after}, not {match['det']} {match['kind']} one"
    return f"{plain}: {instead}" if instead else plain


def _instead(fact: Fact, rest: str) -> str:
    """ "The neighbour is deaf, not blind" after "My neighbour Jon is blind"."""
    match = _INSTEAD.fullmatch(rest)
    if match is None or _NO_VALUE.search(match["new"]):
        return ""
    old = re.search(rf"(?<![\w’'-]){re.escape(match['old'])}(?![\w’'-])", fact.text, re.IGNORECASE)
    return f"{fact.text[: old.start()]}{match['new']}{fact.text[old.end() :]}" if old else ""


def _denied(fact: Fact, rest: str) -> str:
    """ "That was wrong, he isn't" after "My dog is vaccinated"."""
    match = _DENIED.fullmatch(rest)
    if match is None or not _may_mean(match["who"].lower(), fact):
        return ""
    verb = _VERB.search(fact.text)
    if verb is not None:
        return f"{fact.text[: verb.end()]} not{fact.text[verb.end() :]}"
    has = _HAS.search(fact.text)
    if has is None:
        return ""
    does = "does" if has[0].lower() == "has" else "do"
    return f"{fact.text[: has.start()]}{does} not have{fact.text[has.end() :]}"


def _may_mean(who: str, fact: Fact) -> bool:
    if who in ("that", "this"):
        return True
    if who in ("i", "we"):
        return fact.subject == USER
    return fact.subject != USER or fact.text.startswith(("My ", "Our ", "The "))


def _with_value(
    latest: Sequence[Fact], rest: str, said: str, alike: Callable[[str, str], float], *, is_marked: bool
) -> tuple[Fact, ...]:
    """ "Sorry, petrol" after "My car is a diesel": the value of the turn before that is nearest in meaning."""
    match = _VALUE.fullmatch(rest)
    if match is None or not (is_marked or (match["be"] and match["only"])):
        return ()
    value = match["value"]
    if len(value.split()) > _MOST_VALUE_WORDS or _NO_VALUE.search(value) or re.search(r"[,;:?]", value):
        return ()
    fitting = [
        (near, -nth, old, fact)
        for nth, fact in enumerate(latest)
        if (match["who"] is None or _may_mean(match["who"].lower(), fact))
        and (old := _old_value(fact))
        and old.casefold() != value.casefold()
        and (near := alike(old, value)) >= NEAR
    ]
    if not fitting:
        return ()
    _, _, old, fact = max(fitting, key=lambda one: one[:2])
    start = fact.text.rindex(old)
    before = fact.text[:start]
    opens = _PREPOSITION.match(value)
    if opens is not None:  # "near Leeds" takes the place of "in Leeds" as well
        before = _LAST_PREPOSITION.sub("", before)
    elif own := _PREPOSITION.match(old):  # "Monday" is "until Monday"
        value = f"{own[0]}{value}"
    if _DETERMINER.match(value):  # "a season ticket" whose value is "season ticket"
        before = re.sub(r"\b(?:an?|the) $", "", before, flags=re.IGNORECASE)
    return (_corrected(fact, f"{before}{value}{fact.text[start + len(old) :]}", said, value),)


def _old_value(fact: Fact) -> str:
    """The words of a fact that another value takes the place of; none where they do not stand in it as they are."""
    if fact.value and fact.value in fact.text and fact.value != fact.text.rstrip("."):
        return fact.value
    thing = _NOUN_PHRASE.search(fact.text.rstrip("."))
    return thing[0] if thing is not None else ""
