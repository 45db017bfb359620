"""The questions that a turn asks one after the other: "Is there parking, and what does it cost?"."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.core.caches import text_cache
from dragoman.text import lazy_re as re
from dragoman.text.form import SOCIAL, form
from dragoman.text.language import language
from dragoman.text.query import told_and_wished
from dragoman.text.sentences import sentences

MOST_PARTS = 3
_LONGEST = 400
_SHORTEST = 3
"""How many words a part has at least; "what and when" is one question."""
_WHO = r"(?:i|we|he|she|they|it|there|you|my|our|the|a|an|this|that)\b"
_AND = re.compile(
    r",? (?:and|but) (?:also |then |if so,? )?(?="
    r"(?:(?:at|until|till|from|for|by|in|on) )?(?:what|which|when|where|who|whom)\b"
    r"|how (?:much|many|long|late|early|far|often|old|do|can|is|are)\b"
    rf"|(?:do|does|did|can|could|may|is|are|will|would|must|should|am) {_WHO})",
    re.IGNORECASE,
)
_OPENS = re.compile(
    r"(?:(?:at|until|till|from|for|by|in|on) )?(?:what|which|when|where|who|how)\b"
    rf"|(?:do|does|did|can|could|may|is|are|will|would|must|should|am) {_WHO}",
    re.IGNORECASE,
)


_TELLS = re.compile(
    r"(?>(?:(?:hi|hello|hey|hiya|so|well|oh|ok|okay|right|and|also|by the way|btw|just so you know)\b[,.!]? )*)"
    r"(?:i|i['’]m|i['’]ve|i['’]ll|my|we|we['’]re|we['’]ve|our|he|he['’]s|she|she['’]s|they|they['’]re|[A-Z][\w'’-]++"
    r" (?:is|has|was|weighs|needs|lives|turns|turned))\b",
    re.IGNORECASE,
)
"""Begins a statement about the user or theirs."""
_SO = re.compile(
    r"(?:,| -| –|;) (?:and )?(?:so|then) (?=(?:what|which|when|where|who|how|do|does|did|can|could|may|is|are|will"
    r"|would|must|should|am)\b[^?]{6,}\?$)",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"(?:(?:and|but|so|ok|hi|hello|hey|then)\b,? )*(?:what|which|when|where|who|how|why|do|does|did|can|could|may|is"
    r"|are|will|would|must|should|am)\b",
    re.IGNORECASE,
)
_RUN_ON = re.compile(
    r"(?<=[a-z\d]) (?=(?:do|does|can|could|may|am|is|are|should|must) (?:i|we|he|she|they|it|my|our)\b[^.!]{6,200}$)",
    re.IGNORECASE,
)
"""Where a question begins behind a statement without any mark: "im 68 do i pay less"."""
_JOINS = frozenset(
    "and but or so if when where what who how why which that because than as then not know wonder see ask tell say said"
    " whether whatever whoever unless until while".split()
)
_WISHES = re.compile(
    r"\b(?:want|wants|wanted|wanna|would like|would love|['’]d like|['’]d love|wish|wishes|hope|hopes|hoping|plan|plans"
    r"|planning|thinking|wondering|wonder|going to|gonna|intend|looking for|looking to|trying|try|need|needs|fancy"
    r"|prefer|about to|interested|keen|will|['’]ll|if|question|ask|asking|know|understand)\b",
    re.IGNORECASE,
)
"""Says what the question is for, and belongs to it."""


@text_cache(maxsize=1024)
def told_and_asked(text: str) -> tuple[str, str] | None:
    """What an English turn tells of the user and the question after it: "I'm 71. Do I pay the full fare?".

    None where the turn does not do both, or where what it tells says what is wished: "I want to camp. May I?".
    """
    if len(text) > _LONGEST or language(text) == "zh":
        return None
    wished = told_and_wished(text)
    if wished is not None:
        return wished if form(wished[0]).act == "statement" else None
    units = [unit for unit in _with_conclusion(sentences(text)) if form(unit).act not in SOCIAL]
    told = [unit for unit in units if not unit.rstrip(" )\"'”’").endswith("?")]
    asked = units[len(told) :]
    if not told or not asked or told != units[: len(told)]:
        return None
    if any(form(unit).act != "statement" or not _TELLS.match(unit) or _WISHES.search(unit) for unit in told):
        return None
    return " ".join(told), " ".join(asked)


def _with_conclusion(units: Sequence[str]) -> list[str]:
    """The sentences of a turn, the last parted where it tells first and then asks: "I'm 71, so what do I pay?"."""
    if not units:
        return []
    joint = _SO.search(units[-1]) or _RUN_ON.search(units[-1])
    if joint is None:
        return list(units)
    asked = units[-1][joint.end() :]
    before = units[-1][: joint.start()].split()
    if not before or before[-1].lower().strip(",") in _JOINS or _QUESTION.match(units[-1]):
        return list(units)
    asked = asked if asked.rstrip().endswith("?") else f"{asked.rstrip(' .!')}?"
    return [*units[:-1], f"{units[-1][: joint.start()]}.", asked[:1].upper() + asked[1:]]


@text_cache(maxsize=1024)
def question_parts(text: str) -> tuple[str, ...]:
    """The questions of an English turn in their order, each with the statements before it; one where it asks one."""
    if len(text) > _LONGEST or "?" not in text or language(text) == "zh":
        return (text,)
    parts: list[str] = []
    before = ""
    for sentence in sentences(text):
        if not sentence.rstrip(" )\"'”’").endswith("?"):
            before = f"{before} {sentence}".strip()
            continue
        for piece in _coordinated(sentence):
            parts.append(f"{before} {piece}".strip())
            before = ""
    if before or not 1 < len(parts) <= MOST_PARTS or any(form(part).act != "question" for part in parts):
        return (text,)
    return tuple(parts)


def _coordinated(sentence: str) -> list[str]:
    """A question, parted where a second one with a subject of its own is joined to it."""
    joint = _AND.search(sentence)
    if joint is None:
        return [sentence]
    first, second = sentence[: joint.start()].strip(), sentence[joint.end() :].strip()
    opening = first.rpartition(", ")[2] if not _OPENS.match(first) else first
    if min(len(first.split()), len(second.split())) < _SHORTEST or not _OPENS.match(opening):
        return [sentence]
    return [f"{first}?", f"{second[:1].upper()}{second[1:]}"]
