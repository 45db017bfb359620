"""Which sentence of the evidence answers best: the topic by words, the matter by meaning, the kind of answer by form."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dragoman.core.protocols import Encoder
from dragoman.core.values import Context, Evidence
from dragoman.text.expect import offers, wants
from dragoman.text.form import form, unwrapped
from dragoman.text.language import language
from dragoman.text.query import standalone
from dragoman.text.sentences import sentences

WEIGHTS = {"matter": 0.75, "setting": 0.25, "topic": 0.25, "kind": 0.25, "relevance": 0.15, "length": -0.1}
"""What makes a sentence the one to quote, tuned on the agents of `benchmarks/agents` (`benchmarks/answers.py`)."""

ANSWERS = {"bias": -4.43, "matter": 2.76, "setting": 3.97, "topic": 1.4}
"""Log-odds that the best sentence answers at all, printed by `benchmarks/answers.py`."""
ANSWERS_CHINESE = {"bias": -2.0, "topic": 4.0}
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
    analyse: Callable[[str], tuple[str, ...]],
    known: str = "",
) -> list[Quote]:
    """Every sentence of the evidence, best first; `known` is what the user told that the question rests on."""
    units = [(piece, sentence) for piece in evidence for sentence in sentences(piece.text)]
    if not units:
        return []
    asked = f"{known} {standalone(context).text}".strip()
    turn = unwrapped(form(context.last).core)
    placed = [f"{_path(piece)}\n{sentence}" for piece, sentence in units]
    vectors = encoder.encode([asked, turn, *placed, *(sentence for _, sentence in units)])
    setting = vectors[2 : 2 + len(units)] @ vectors[0]  # the sentence under its headings, to the whole question
    matter = vectors[2 + len(units) :] @ vectors[1]  # the bare sentence, to what this turn asks
    topic = _shares(frozenset(analyse(asked)), [frozenset(analyse(text)) for text in placed])
    kinds = wants(turn)
    model = ANSWERS_CHINESE if language(turn) == "zh" else ANSWERS
    quotes = []
    for i, (piece, sentence) in enumerate(units):
        features = {
            "matter": float(matter[i]),
            "setting": float(setting[i]),
            "topic": topic[i],
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


def _shares(asked: frozenset[str], units: Sequence[frozenset[str]]) -> list[float]:
    """The share of the asked words, weighted by how rare they are among the units, that each unit holds."""
    count = len(units)
    weight = {
        word: math.log(1.0 + (count - held + 0.5) / (held + 0.5))
        for word in asked
        for held in (sum(word in unit for unit in units),)
    }
    total = sum(weight.values())
    return [sum(weight[word] for word in asked & unit) / total if total else 0.0 for unit in units]
