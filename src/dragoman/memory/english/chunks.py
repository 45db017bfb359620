"""Pieces of an English sentence between commas, conjunctions and relative pronouns, and what they look like."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.memory.patterns import VERBS, fragment
from dragoman.memory.subjects import noun_phrase, text_of
from dragoman.text import lazy_re as re
from dragoman.text.patterns import Lazy

RELATIVE = frozenset(("who", "which"))
_TOKEN = re.compile(r"\d+:\d+[^\s,;:()]*|\d+,\d{3}(?!\d)[^\s,;:()]*|[,;:()]|[^\s,;:()]+")
_CUTS = frozenset(", ; : ( ) and but so because although though while plus - – —".split())
_LISTING = frozenset(("and", ",", "", "(", ")", "plus"))
_ADVERBS = frozenset(
    "also now currently actually really still just recently both then already only usually often always mostly even "
    "myself certainly definitely probably basically sometimes generally normally all too".split()
)
_ASKING = frozenset(
    "what who whom whose where when which why how can could may might must shall should will would do does did is are "
    "am was were has have any don't doesn't isn't aren't can't".split()
)
_AUXILIARY = frozenset("am is are was were have has do does did can could will".split())
_ASKED = frozenset(
    "i we you he she they it my our your the there a an this that these those any anyone anybody "
    "someone somebody everyone dogs children students".split()
)
_HYPOTHETICAL = frozenset("if unless whether suppose imagine assuming".split())
_SUBORDINATE = frozenset("when whenever where wherever until once before after why how what than".split())
_BEFORE_DATES = frozenset(("until", "before", "after"))
_SUBJECTS = frozenset("i we he she they it my our you the there".split())
_OPENING = frozenset(
    "since after because due as at in on for from now this last next every during until till with".split()
)
_LONGEST_OPENING, _LONGEST_ITEM, _LONGEST_AGES = 7, 8, 60
_SHARED = Lazy(
    {
        "complement": fragment("complement"),
        "age": rf"(?:aged? )?(?:{fragment('age')})(?:(?:, | and )(?:{fragment('age')}))*$",
    }
)


def chunks(sentence: str) -> list[tuple[str, list[str]]]:
    """The pieces of a sentence, each with what joins it to the one before."""
    parts: list[tuple[str, list[str]]] = []
    joint = ""
    piece: list[str] = []
    tokens = _TOKEN.findall(sentence)
    names_end = -1
    for i, token in enumerate(tokens):
        low = token.lower()
        if low in ("my", "our"):
            _, names_end = noun_phrase(tokens, i)
        is_last = i + 1 == len(tokens)
        if low == "aged" and piece and not is_last and tokens[i + 1][:1].isdigit():
            parts.append((joint, piece))
            joint, piece = ",", [token]
        elif low in RELATIVE and (piece or joint) and not is_last:
            if piece:
                parts.append((joint, piece))
            joint, piece = low, []
        elif low not in _CUTS or i < names_end or (low == "and" and tokens[max(0, i - 2)].lower() == "between"):
            piece.append(token)
        elif piece:
            parts.append((joint, piece))
            joint, piece = low, []
        elif low != "," or not joint:
            joint = low
    if piece:
        parts.append((joint, piece))
    return parts


def without_condition(tokens: list[str]) -> tuple[list[str], bool]:
    """The words before a condition or a subordinate clause, and whether a condition was cut off."""
    for i, token in enumerate(tokens):
        low = token.lower()
        if low in _HYPOTHETICAL:
            return tokens[:i], True
        if i and low in _SUBORDINATE and i + 1 < len(tokens):
            following = tokens[i + 1].lower()
            if following in _SUBJECTS and not (low in _BEFORE_DATES and following in ("the", "there", "my", "our")):
                return tokens[:i], False
    return tokens, False


def opening(tokens: Sequence[str]) -> int:
    """Where the subject stands, behind adverbs and behind "since my stroke" or "in May"."""
    start = 0
    while start < len(tokens) - 1 and tokens[start].lower() in _ADVERBS:
        start += 1
    if tokens[start].lower() in _OPENING:
        for i in range(start + 1, min(len(tokens) - 1, start + _LONGEST_OPENING)):
            if tokens[i].lower() in ("i", "we"):
                return i
    return start


def is_question(tokens: Sequence[str]) -> bool:
    """Whether a piece begins as a question does."""
    first = tokens[0].lower()
    if first in _AUXILIARY and len(tokens) > 1:
        return tokens[1].lower() in _ASKED or tokens[1][:1].isupper()
    return first in _ASKING


def is_age(tokens: Sequence[str]) -> bool:
    """Whether a piece is nothing but an age, or several."""
    return len(tokens) <= _LONGEST_AGES and bool(_SHARED["age"].match(text_of(tokens)))


def is_complement(tokens: Sequence[str]) -> bool:
    """Whether a piece can share the "be" of the clause before: "allergic to nuts", "a student"."""
    return bool(_SHARED["complement"].match(text_of(tokens)))


def continues(joint: str, tokens: Sequence[str]) -> bool:
    """Whether words are more of the list before: "cheese, peppers and mushroom"; a clause of its own is not."""
    if joint not in _LISTING or len(tokens) > _LONGEST_ITEM:
        return False
    plain = [token.lower() for token in tokens[:3] if token.lower() not in ("called", "named")]  # "a dog called Rex"
    return not any(VERBS.get(token) and not token.endswith("ing") for token in plain)


def verb_of(tokens: Sequence[str], start: int = 0) -> str:
    """The basic form of the first verb at `start`, adverbs left out; empty where there is none."""
    for token in tokens[start : start + 4]:
        low = token.lower()
        if low not in _ADVERBS and low not in ("never", "no", "longer", "not"):
            return VERBS.get(low, "")
    return ""
