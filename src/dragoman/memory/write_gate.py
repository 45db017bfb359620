"""Which parts of a turn tell something about the user that memory should keep, by a small trained classifier.

The rules of `memory.facts` place what they know: an age, an allergy, where somebody lives. People say much more that
decides later questions ("my wallet got nicked on sat", "I only passed my test in April"). A turn is cut into pieces,
and a logistic regression over the encoder's vectors of piece and turn, and over the piece's words, says of each how
probably it is such a statement. What it keeps and no rule placed is remembered in the user's own words.
English only; `benchmarks/write_gate.py` trains it on written turns and prints precision and recall.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from dragoman.core.values import Fact
from dragoman.memory.english.wording import written_out
from dragoman.memory.facts import facts, is_instruction, is_supposed, without_lead
from dragoman.memory.people import people_of
from dragoman.memory.roles import fits
from dragoman.text import lazy_re as re
from dragoman.text.form import form
from dragoman.text.language import language
from dragoman.text.quotations import own_words
from dragoman.text.spelling import spelt

if TYPE_CHECKING:
    from dragoman.core.protocols import Encoder

KEEP = 0.7
"""How probable it must be that a piece tells something to keep (`benchmarks/write_gate.py --keep`)."""
KEEP_NOBODYS = 0.85
"""The same for a piece without "I", "my", "we" or somebody else: "just about 2 months"."""
KEEP_PLACED = 0.3
"""The same for a piece that a rule places once it stands alone."""
_LONGEST = 600
_MOST_PIECES = 24
_PROBE = "I am 34, and my daughter is allergic to nuts."
"""The sentence by whose vector the encoder is recognised: the weights belong to one encoder."""
_SAME = 0.98
_COVERED = 0.6
"""From which share of its words on a piece says nothing that the rules have not placed."""
_SHORTEST = 3
_ME = frozenset("i im i'm ive i've i'd id i'll my me mine we we're we've our us".split())
_YOU = frozenset("you your u ur you're".split())
_SUBJECT = (
    r"(?:i|i['’]?m|i['’]?ve|i['’]?d|i['’]?ll|my|we|we['’]?re|we['’]?ve|our|he|he['’]?s|she|she['’]?s|they|they['’]?re"
    r"|it|it['’]?s|there|there['’]?s|the|you|your|u|ur|this|that|these)"
)
_ASKING = (
    r"(?:is|are|can|could|may|do|does|did|will|would|should|what|whats|how|hows|when|where|wheres|which|who|any|am)"
)
_CUT = re.compile(
    r"(?<=[.?!])['\")]{0,3}\s+|\n|;\s|\s[-–—]{1,2}\s|[–—]|\(|\)"
    r"|[,:]\s(?!(?:is|are|was|were|has|had|who|which|not|aged|now|me and|both|all|each|till?|until|from|born)\b)"
    r"|\s(?=(?:and|but|so(?! (?:u|you) know)|cos|coz|cause|because|since|n|&|although|though|while|plus)\s"
    rf"(?:{_SUBJECT}|{_ASKING})\b)"
    rf"|\s(?={_ASKING}\s(?:i|we|u|you|the|there|my|our|it|that|this|he|she|they|a|an)\b)",
    re.IGNORECASE,
)
_JOINT = re.compile(r"^(?:and|but|so|cos|coz|cause|because|n|&|although|though|plus|also)\s+", re.IGNORECASE)
_AFTER = re.compile(r"\s(?:till?|until|since|from|for|because|as of|come|this|next)\s.*+$", re.IGNORECASE)
_WORD = re.compile(r"[\w'’]+")
_TOKEN = re.compile(r"[\w'’]+|[?!]")
_END = re.compile(r"[.?!]")
_OWN = re.compile(
    r"\b(?:i|i['’]?m|i['’]?ve|my|mine|me|we|we['’]?re|we['’]?ve|our|us|he|hes|she|shes|they|his|her)\b", re.IGNORECASE
)
_BY_USER = re.compile(r"(?:i|i['’]?m|i['’]?ve|i['’]?d|my|we|we['’]?re|we['’]?ve|our)\b(?:\s+\S+){2}", re.IGNORECASE)
"""Begins a statement of its own: "and my dog is not vaccinated"."""
_BY_SOMEBODY = re.compile(
    r"(?:i|i['’]?m|i['’]?ve|i['’]?d|my|we|we['’]?re|we['’]?ve|our|he|he['’]?s|she|she['’]?s|they|they['’]?re)\b(?:\s+\S+){2}",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"(?P<who>he|she|his|her)(?:['’]?s)?\b", re.IGNORECASE)
_UNCLEAR = re.compile(r"(?:he|she|it|they|his|her|its|their|this|that|these|those|the same|so)\b", re.IGNORECASE)
_EMPTY = frozenset(
    "i im i'm ive my me mine we our us is are am was were be been a an the and or to of in on at for with it it's its "
    "that this he she they them him her his their has have had do does did not no just so very really here there will "
    "would can".split()
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a turn, from `start` to `end`, and how probably it tells something to keep."""

    start: int
    end: int
    text: str
    chance: float = 0.0


def pieces(text: str) -> list[Piece]:
    """The clauses of a turn, by punctuation, conjunctions and where a question begins without either."""
    found: list[Piece] = []
    start = 0
    for cut in [*_CUT.finditer(text), None]:
        end = cut.start() if cut else len(text)
        if _WORD.search(text[start:end]):
            found.append(Piece(start, end, text[start:end].strip()))
        start = cut.end() if cut else end
    return found


def word_features(text: str, piece: Piece) -> list[str]:
    """The words of a piece, in runs of one to three; numbers count as one word."""
    words = _TOKEN.findall(re.sub(r"\d++", "0", spelt(piece.text).lower()))
    asks = "?" in text[piece.start : piece.end + 1]
    tokens = ["^", *words, "$?" if asks else "$."]
    return sorted({" ".join(tokens[i : i + n]) for n in (1, 2, 3) for i in range(len(tokens) - n + 1)})


def form_features(text: str, piece: Piece) -> list[float]:
    """Where a piece stands, how long it is, and of whom it speaks."""
    words = [word.replace("’", "'") for word in _WORD.findall(spelt(piece.text).lower())]
    end = _END.search(text, piece.start)
    return [
        float(flag)
        for flag in (
            end is not None and end[0] == "?",
            "?" in piece.text,
            any(character.isdigit() for character in piece.text),
            min(len(words), 20) / 10,
            len(words) < _SHORTEST,
            piece.start == 0,
            bool(_ME & set(words)),
            bool(_YOU & set(words)),
            bool(_ME & set(words[:2])),
            piece.end >= len(text) - 1,
        )
    ]


@cache
def _weights() -> Mapping[str, Any]:
    packed = files("dragoman.memory").joinpath("data", "english_write_gate.json.gz").read_bytes()
    return dict(json.loads(gzip.decompress(packed)))


class WriteGate:
    """Says which pieces of a turn to keep; nothing, where the encoder is not the one that it was trained with."""

    def __init__(self, encoder: Encoder, *, keep: float = KEEP) -> None:
        self._encoder = encoder
        self._keep = keep
        self._known: bool | None = None

    def facts(
        self, text: str, placed: Sequence[Fact] = (), *, people: Callable[[], Mapping[str, str]] = dict
    ) -> tuple[Fact, ...]:
        """What a turn tells beside what the rules `placed`: by the rules where the piece alone fits one, else verbatim.

        `people` gives the people and animals known by name, with what they are to the user.
        """
        told = without_lead(spelt(own_words(text)))
        if not told.strip() or len(told) > _LONGEST or language(told) != "en":
            return ()
        known = {
            word for fact in placed for word in _content(f"{fact.text} {fact.said if fact.value == fact.said else ''}")
        }
        groups: list[list[Piece]] = []
        found: list[Fact] = []
        for piece in self._scored(told, [piece for piece in pieces(told) if _may_tell(piece, known)]):
            if piece.chance < self._least(piece):
                alone = facts(without_lead(piece.text), people=people) if piece.chance >= KEEP_PLACED else ()
                found += [replace(fact, chance=piece.chance) for fact in alone]
            elif (
                groups and not _is_apart(told, groups[-1][-1], piece) and not _BY_USER.match(_JOINT.sub("", piece.text))
            ):
                groups[-1].append(piece)
            else:
                groups.append([piece])
        everyone = {**people_of(placed), **people()} if groups else {}
        for group in groups:
            part = told[group[0].start : group[-1].end]
            if _BY_SOMEBODY.match(_JOINT.sub("", part)) or not _asks(told, group[-1]):
                chance = min(piece.chance for piece in group)
                found += [replace(fact, chance=chance) for fact in _stated(part, lambda: everyone)]
        said = {fact.text for fact in placed}
        return tuple({fact.text: fact for fact in found if fact.text not in said}.values())

    def _least(self, piece: Piece) -> float:
        """How sure a piece must be: surer where it says of nobody of whom it speaks."""
        speaks = _OWN.search(piece.text) is not None
        return self._keep if speaks else max(self._keep, KEEP_NOBODYS)

    def chances(self, text: str) -> list[Piece]:
        """The pieces of a turn with their probabilities; none where nothing can be said."""
        return self._scored(text, pieces(text))

    def _scored(self, text: str, cut: Sequence[Piece]) -> list[Piece]:
        if not cut or len(cut) > _MOST_PIECES or not self.is_trained_for():
            return []
        whole, *parts = self._encoder.encode([spelt(text).strip(), *(spelt(piece.text).strip() for piece in cut)])
        weights = _weights()
        words: Mapping[str, float] = weights["words"]
        scored = []
        for piece, vector in zip(cut, parts, strict=True):
            named = word_features(text, piece)
            score = weights["bias"] + sum(words.get(word, 0.0) for word in named) / math.sqrt(len(named))
            score += _dot(weights["piece"], vector) + _dot(weights["turn"], whole)
            score += _dot(weights["form"], form_features(text, piece))
            scored.append(Piece(piece.start, piece.end, piece.text, 1 / (1 + math.exp(-score))))
        return scored

    def is_trained_for(self) -> bool:
        """Whether the encoder gives the vectors that the weights were trained on."""
        if self._known is None:
            vector, expected = self._encoder.encode([_PROBE])[0], _weights()["probe"]
            self._known = len(vector) == len(expected) and _dot(expected, vector) >= _SAME
        return self._known


def _dot(weights: Sequence[float], values: Sequence[float]) -> float:
    return float(sum(weight * float(value) for weight, value in zip(weights, values, strict=True)))


def _may_tell(piece: Piece, known: set[str]) -> bool:
    """Whether a piece states something that the `known` words do not cover."""
    words = _content(piece.text)
    return bool(words) and len(words & known) < _COVERED * len(words) and form(piece.text).act != "question"


def _asks(text: str, piece: Piece) -> bool:
    """Whether the sentence of a piece asks: what it tells without a subject belongs to the question."""
    end = _END.search(text, piece.start)
    if end is None:
        return False
    tag = text[end.end() :].strip()  # "my girl on the 5-metre board. ok?"
    return end[0] == "?" or (tag.endswith("?") and len(tag.split()) <= _SHORTEST)


def _is_apart(text: str, one: Piece, other: Piece) -> bool:
    """Whether words or the end of a sentence stand between two pieces."""
    return text[one.end - 1] in ".?!" or _WORD.search(text[one.end : other.start]) is not None


def _content(text: str) -> set[str]:
    """The words of a text that tell something, cut to what related forms share."""
    return {word[:5] for word in re.findall(r"[a-z0-9]+", written_out(spelt(text)).lower()) if word not in _EMPTY}


def _stated(text: str, people: Callable[[], Mapping[str, str]]) -> Sequence[Fact]:
    """The facts of a kept part of a turn."""
    said = text.strip(" ,;:-–—")
    plain = without_lead(spelt(said))
    plain = _JOINT.sub("", without_lead(plain)).strip(" ,.;:!-–—")
    if is_supposed(plain) or is_instruction(plain):
        return ()
    whole = _resolved(plain, people)
    if whole is None:
        return ()
    placed = facts(whole, people=people)
    if placed:
        return placed
    sentence = written_out(whole).strip(" .,!?")
    if len(sentence.split()) < _SHORTEST:
        return ()
    full = f"{sentence[:1].upper()}{sentence[1:]}."
    shorter = facts(_AFTER.sub("", whole), people=people)  # "my daughter is 15 until June" is still her age
    if len(shorter) == 1 and shorter[0].relation == "age":
        return (replace(shorter[0], text=full, said=said),)
    return (Fact(full, "about", sentence, said),)


def _resolved(text: str, people: Callable[[], Mapping[str, str]]) -> str | None:
    """A statement that begins with "he" or "she", with whom it speaks of; None where nobody knows."""
    match = _PRONOUN.match(text)
    if match is None:
        return None if _UNCLEAR.match(text) else text
    pronoun = {"his": "he", "her": "she"}.get(match["who"].lower(), match["who"].lower())
    meant = [(name, role) for name, role in people().items() if role and fits(role, pronoun)]
    if not meant:
        return None
    name, role = meant[-1]
    who = f"My {role}" if name == role else f"My {role} {name}"
    owns = match["who"].lower() in ("his", "her")
    verb = " is" if not owns and re.match(r"(?:he|she)['’]?s\b", text, re.IGNORECASE) else ""
    return f"{who}{chr(39) + 's' if owns else verb}{text[match.end() :]}"
