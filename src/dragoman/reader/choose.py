"""Which sentence of the evidence answers best: the topic by words, the matter by meaning, the kind of answer by form."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from dragoman.core.protocols import Encoder
from dragoman.core.values import Context, Evidence
from dragoman.text.expect import offers, wants
from dragoman.text.language import is_cjk, language
from dragoman.text.patterns import groups
from dragoman.text.query import standalone
from dragoman.text.reference import zh_content
from dragoman.text.sentences import sentences

Analyse: TypeAlias = Callable[[str], tuple[str, ...]]
_PARTICULAR = re.compile(
    r"\d[\d.:]*|(?<![.!?] )(?<!^)\b(?!I\b|I')[A-Z][\w'-]+|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
    r"|\b(?:january|february|march|april|june|july|august|september|october|november|december)\b"
    r"|\b(?:winter|summer|spring|autumn|weekend|weekends|christmas|easter)\b",
)
WEIGHTS = {
    "matter": 0.75,
    "setting": 0.25,
    "topic": 0.25,
    "details": 0.2,
    "kind": 0.3,
    "relevance": 0.15,
    "length": -0.1,
}
"""What makes a sentence the one to quote, tuned on the agents of `benchmarks/agents` (`benchmarks/answers.py`)."""

ANSWERS = {"bias": -4.32, "matter": 3.11, "setting": 3.39, "topic": 1.46}
"""Log-odds that the best sentence answers at all, printed by `benchmarks/answers.py`."""
ANSWERS_CHINESE = {"bias": -2.6, "matter": 4.0, "topic": 1.5}
"""The same for Chinese, by words alone, since the default encoder reads English; set by hand."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of a passage, how well it answers beside the others, and the probability that it answers."""

    text: str
    evidence: Evidence
    score: float
    probability: float
    features: Mapping[str, float]


def rank(
    context: Context,
    evidence: Sequence[Evidence],
    *,
    encoder: Encoder,
    analyse: Analyse,
    known: str = "",
) -> list[Quote]:
    """Every sentence of the evidence, best first; `known` is what the user told that the question rests on."""
    units = [(piece, sentence) for piece in evidence for sentence in sentences(piece.text)]
    if not units:
        return []
    query = standalone(context)
    asked, turn = f"{known} {query.text}".strip(), query.turn
    said = " ".join(context.last.split())
    placed = [f"{_path(piece)}\n{sentence}" for piece, sentence in units]
    vectors = encoder.encode([asked, turn, said, *placed, *(sentence for _, sentence in units)])
    chinese = language(turn) == "zh"
    setting = vectors[3 : 3 + len(units)] @ vectors[0]  # the sentence under its headings, to the whole question
    matter = (vectors[3 + len(units) :] @ vectors[1:3].T).max(axis=1)  # the bare sentence, to what this turn asks
    if chinese:  # the default encoder reads English: what a Chinese sentence means is judged by its characters
        setting = matter = _characters(turn, asked, [sentence for _, sentence in units], placed)
    words = [frozenset(analyse(text)) for text in placed]
    topic = _shares(frozenset(analyse(turn)), frozenset(analyse(asked)), words, _alternatives(analyse))
    details = _details(f"{known} {context.last}", analyse)
    kinds = wants(turn)
    model = ANSWERS_CHINESE if chinese else ANSWERS
    quotes = []
    for i, (piece, sentence) in enumerate(units):
        features = {
            "matter": float(matter[i]),
            "setting": float(setting[i]),
            "topic": topic[i],
            "details": len(details & words[i]) / len(details) if details else 0.5,
            "kind": 0.5 if not kinds else float(bool(kinds & offers(sentence))),
            "relevance": piece.relevance,
            "length": min(2.0, len(sentence) / 100),
        }
        score = sum(weight * features[name] for name, weight in WEIGHTS.items())
        quotes.append(Quote(sentence, piece, score, _probability(features, model), features))
    return sorted(quotes, key=lambda quote: -quote.score)


def _probability(features: Mapping[str, float], model: Mapping[str, float]) -> float:
    odds = sum(weight * features.get(name, 1.0) for name, weight in model.items())  # the bias has no feature
    return 1.0 / (1.0 + math.exp(-odds))


def _path(piece: Evidence) -> str:
    return " ".join((piece.passage.title, *piece.passage.headings))


def _characters(turn: str, asked: str, texts: Sequence[str], placed: Sequence[str]) -> list[float]:
    """The share of a Chinese question's telling characters, by rarity among the texts, that each text holds:
    those of the turn in the sentence, and those of the whole question in the sentence under its headings."""
    shares = []
    for question, each in ((turn, texts), (asked, placed)):
        telling = frozenset(char for run in zh_content(question) for char in run if is_cjk(char) or char.isalnum())
        shares.append(_shares(telling, telling, [frozenset(text) for text in each], {}))
    return [0.7 * bare + 0.3 * under for bare, under in zip(*shares, strict=True)]


def _details(question: str, analyse: Analyse) -> frozenset[str]:
    """The particulars of a question, which its answer shares: names, numbers, days and months."""
    return frozenset(token for word in _PARTICULAR.findall(question) for token in analyse(word))


@cache
def _alternatives(analyse: Analyse) -> Mapping[str, frozenset[str]]:
    """For each word that has synonyms, its tokens and theirs."""
    found: dict[str, frozenset[str]] = {}
    for group in groups("synonyms"):
        tokens = frozenset(token for word in group.split() for token in analyse(word))
        found.update(dict.fromkeys(tokens, tokens))
    return found


def _shares(
    own: frozenset[str],
    asked: frozenset[str],
    units: Sequence[frozenset[str]],
    alternatives: Mapping[str, frozenset[str]],
) -> list[float]:
    """The share of the asked words, weighted by how rare they are among the units, that each unit holds.

    A word of the turn itself counts twice one that it carries from before: "and for a child?" asks for children.
    """
    count = len(units)
    meant = {word: alternatives.get(word, frozenset((word,))) for word in asked}
    holding = {word: [not meant[word].isdisjoint(unit) for unit in units] for word in asked}
    weight = {word: math.log(1.0 + (count - sum(held) + 0.5) / (sum(held) + 0.5)) for word, held in holding.items()}
    total = sum(weight.values())
    return [sum(weight[word] for word in asked if holding[word][i]) / total if total else 0.0 for i in range(count)]
