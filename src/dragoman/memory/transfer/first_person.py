"""Statements about "the user" in the words of the user: "User lives in Bern" is "I live in Bern."."""

from __future__ import annotations

import re

_USER = re.compile(r"(?:the |this )?user(?P<own>['’]s)? (?P<rest>.+)", re.IGNORECASE)
_HEADLESS = re.compile(
    r"(?P<verb>is|has|likes|loves|enjoys|prefers|lives|works|wants|owns|speaks|plays|hates|dislikes|needs|studies|drives"
    r"|eats|drinks|was|visited|moved|started|uses|avoids|has been|plans)\b(?P<rest>.+)",
    re.IGNORECASE,
)
_TRAIT = re.compile(
    r"(?P<trait>name|age|birthday|job|hometown|favou?rite \w{2,20}|occupation|diet) (?P<rest>is .+)", re.I
)
_CHINESE = re.compile("(?:该|这位)?用户(?P<rest>.+)")
_IRREGULAR = {
    "is": "am",
    "has": "have",
    "was": "was",
    "studies": "study",
    "doesn't": "don't",
    "does": "do",
    "goes": "go",
}
_POSSESSIVE = re.compile(r"\b(?:his|her|their)\b(?= \w)", re.IGNORECASE)


def first_person(text: str) -> str:
    """A statement as the user would say it; unchanged where it is not about "the user"."""
    plain = text.strip()
    if chinese := _CHINESE.fullmatch(plain):
        return f"我{chinese['rest']}"
    if trait := _TRAIT.fullmatch(plain):
        return _closed(f"My {trait['trait'].lower()} {trait['rest']}")
    if user := _USER.fullmatch(plain):
        rest = user["rest"]
        return _closed(f"My {rest}" if user["own"] else f"I {_own(rest)}")
    if headless := _HEADLESS.fullmatch(plain):
        return _closed(f"I {_own(headless[0])}")
    return plain


def _own(predicate: str) -> str:
    """A predicate of the third person in the first: "lives with his dog" is "live with my dog"."""
    verb, _, rest = predicate.partition(" ")
    return f"{_first(verb.lower())} {_POSSESSIVE.sub('my', rest)}".strip()


def _first(verb: str) -> str:
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("ies"):
        return f"{verb[:-3]}y"
    if verb.endswith(("sses", "shes", "ches", "xes")):
        return verb[:-2]
    return verb[:-1] if verb.endswith("s") and not verb.endswith("ss") else verb


def _closed(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
