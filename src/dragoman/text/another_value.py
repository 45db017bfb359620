"""The question before, asked with another day, time or measure: "And on Friday?", "and one of 38 cm?"."""

from __future__ import annotations

from dragoman.core.values import Context
from dragoman.text import lazy_re as re
from dragoman.text.form import form
from dragoman.text.language import language
from dragoman.text.spelling import spelt

_FURTHEST = 6
"""How many of the user's turns before the last may hold the question."""
_PART = r"(?: (?:morning|afternoon|evening|night)s?)?"
_DAY = rf"(?:next |this )?(?:mon|tues|wednes|thurs|fri|satur|sun)days?{_PART}|tomorrow{_PART}|today|tonight"
_MONTH = r"january|february|march|april|may|june|july|august|september|october|november|december"
_NUMBER = r"\d{1,6}(?:[.,]\d{1,3})?"
_VALUES = {
    "day": rf"(?:{_DAY}|weekends?)",
    "date": rf"(?:\d{{1,2}}(?:st|nd|rd|th)? (?:of )?)?(?:{_MONTH})(?: \d{{1,2}}(?:st|nd|rd|th)?)?",
    "time": r"(?:\d{1,2}(?:[:.]\d\d)? ?(?:am|pm|a\.m\.|p\.m\.|o'clock)|\d{1,2}:\d\d|noon|midnight)",
    "length": rf"{_NUMBER} ?(?:cm|mm|km|m|centimetres|centimeters|metres|meters|feet|ft|inches)",
    "mass": rf"{_NUMBER} ?(?:kg|g|kilos?|grams?|lbs?|pounds|tonnes)",
    "age": rf"{_NUMBER}(?:-| )years?(?:-| )olds?",
    "people": rf"(?:{_NUMBER}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
    r" (?:people|persons|adults|kids|children|friends|guests|of us)",
    "time span": rf"(?:{_NUMBER}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
    r" (?:minutes|hours?|days?|nights?|weeks?|months?|years?)",
}
_EITHER = "|".join(f"(?P<v{place}>{value})" for place, value in enumerate(_VALUES.values()))
_FRAGMENT = re.compile(
    r"(?:(?:ok|okay|alright|right|so|oh|well|cool|great|thanks)\b[,.!]? )?(?:(?:and|but|or)\b ?)?"
    r"(?:(?:what|how) about )?"
    r"(?:if (?:it is|it's|it was|we are|there are) )?(?:(?:on|at|in|for|with|from|by|after|before|until) )?"
    r"(?:(?:an?|the|one of|one that is|one with|some) )?"
    rf"(?:{_EITHER})(?: (?:then|instead|though|too|high|long|tall|wide))?\s?\?*",
    re.IGNORECASE,
)
_FOUND = {kind: re.compile(rf"\b{value}\b", re.IGNORECASE) for kind, value in _VALUES.items()}


def with_another_value(context: Context) -> str | None:
    """The question before with the day, time or measure that the last turn names; None for every other turn."""
    match = _FRAGMENT.fullmatch(spelt(context.last.strip()))
    if match is None or language(context.last) == "zh":
        return None
    kind, value = next((kind, match[f"v{n}"]) for n, kind in enumerate(_VALUES) if match[f"v{n}"])
    turns = [spelt(turn.text) for turn in context.history if turn.speaker == "user"][-_FURTHEST:]
    asked = next((text for text in reversed(turns) if _FRAGMENT.fullmatch(text.strip()) is None), "")
    named = list(_FOUND[kind].finditer(asked))
    if len(named) != 1 or form(asked).act != "question":
        return None
    return " ".join(f"{asked[: named[0].start()]}{value}{asked[named[0].end() :]}".split())
