"""Whether a question asks for what the user told ("Which tablets do I take?"), by a small trained classifier.

Questions to documents use the same words ("May I take my tablets along?"), so patterns cannot tell the two apart. A
logistic regression does, over the encoder's vector of a question (of a Chinese one's gloss in English words) and over
its words or Chinese characters. `benchmarks/memory/asked_memory.py` trains it on written questions and measures it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dragoman.decision.chinese.gloss import gloss
from dragoman.memory.linear import dot, is_of_encoder, weights_of
from dragoman.memory.roles import canonical
from dragoman.text import lazy_re as re
from dragoman.text.language import language
from dragoman.text.spelling import spelt

if TYPE_CHECKING:
    from dragoman.core.protocols import Encoder

ASKS = 0.5
"""From which probability on a question asks memory."""
MAY_ASK = 0.25
"""The same where a fact fits the question well."""
SURE = 0.9
"""From which probability on memory says that it was not told, where no fact fits."""
LONGEST = 160
_WORDS = "asked_memory"
_TOKEN = re.compile(r"[\w'’]+|[?!]")
_OWN = re.compile(
    r"\b(?:my|our) (?P<owner>[\w-]+)(?:(?:['’]s?)? (?P<noun>[\w-]+)(?=[\s?.!]*$)|(?=['’]))?", re.IGNORECASE
)
_NAMED = re.compile(
    r"\b(?i:is|are|was|were|does|do|did|has|have|had|can|will|should|must) (?P<one>[A-ZÀ-Þ][\w-]{1,40})"
    r"|\b(?P<owner>[A-ZÀ-Þ][\w-]{1,40})['’]s\b"
)
"""Somebody whom a question names as its subject."""
_NUMBER = re.compile(r"\d+")
_NO_NAMES = frozenset("I What Who Where When Which How That It There Here".split())
_MARKS = re.compile(r"[\s，。？?！!.]")


def speaks_of_the_same(question: str, fact: str, analyse: Callable[[str], tuple[str, ...]]) -> bool:
    """Whether a fact names what an English question calls the user's own: no phone answers "my flight number"."""
    told, roles = {*analyse(fact)}, {canonical(word) for word in _TOKEN.findall(fact.lower())}
    named = {match["one"] or match["owner"] for match in _NAMED.finditer(question)} - _NO_NAMES
    if not all(set(analyse(name)) <= told for name in named):  # "How old is Aline?" is not answered by "I am 41."
        return False
    return all(
        canonical(word.lower()) in roles or set(analyse(word)) <= told
        for match in _OWN.finditer(question)
        for word in filter(None, (match["owner"], match["noun"]))
    )


class AskedMemory:
    """Says how probably a question asks for what the user told."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._known: bool | None = None

    def chance(self, text: str) -> float:
        """The probability; 0 where the encoder is not the one of the weights."""
        if not text.strip() or len(text) > LONGEST:
            return 0.0
        weights = weights_of(_WORDS)
        if not self._is_trained_for(weights):
            return 0.0
        named = word_features(text)
        words: Mapping[str, float] = weights["words"]
        score = float(weights["bias"]) + sum(words.get(word, 0.0) for word in named) / math.sqrt(len(named))
        score += dot(weights["text"], self._encoder.encode([encoded_as(text)])[0])
        return 1 / (1 + math.exp(-score))

    def _is_trained_for(self, weights: Mapping[str, Any]) -> bool:
        if self._known is None:
            self._known = is_of_encoder(weights, self._encoder)
        return self._known


def encoded_as(text: str) -> str:
    """Return the text for the encoder, which knows only English: a Chinese text is replaced by its English gloss."""
    return gloss(text) if language(text) == "zh" else spelt(text).strip()


def word_features(text: str) -> list[str]:
    """The words of a text in runs of one to three, the characters of a Chinese one in runs of one to four."""
    chinese = language(text) == "zh"
    plain = _NUMBER.sub("0", spelt(text).lower())
    tokens = ["^", *(list(_MARKS.sub("", plain)) if chinese else _TOKEN.findall(plain)), "$"]
    joint, longest = ("", 4) if chinese else (" ", 3)
    return sorted({joint.join(tokens[i : i + n]) for n in range(1, longest + 1) for i in range(len(tokens) - n + 1)})
