"""Calibrated relevance: the probability that a passage helps to answer a query.

A logistic model over features of the search: the cosine of query and passage, and the share of the query's rare words
in the passage. `benchmarks/retrieval/calibrate.py` fits the constants on real dialogues.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from dragoman.core.values import About

CARRIED = 0.5
"""Weight of a word that a follow-up takes from earlier turns, relative to its own words."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Words of a query with their idf in one source, reduced for carried words."""

    weights: Mapping[str, float]
    own: frozenset[str]
    unseen: float

    @classmethod
    def of(cls, own: Sequence[str], carried: Sequence[str], rows: int, frequencies: Mapping[str, int]) -> Terms:
        mine = frozenset(own)
        weights = {token: idf(rows, frequencies.get(token, 0)) for token in own}
        # A carried word that the source lacks is ignored; an own word that it lacks counts as unseen.
        for token in carried:
            if token not in mine and frequencies.get(token, 0):
                weights[token] = CARRIED * idf(rows, frequencies[token])
        words = dict.fromkeys(own)  # not the set: its order differs between processes, and sums are rounded by order
        total = sum(weights[token] for token in words)
        missing = sum(weights[token] for token in words if not frequencies.get(token, 0))
        return cls(weights, mine, missing / total if total else 0.0)


def idf(rows: int, frequency: int) -> float:
    """Okapi's inverse document frequency, kept above zero."""
    return math.log(1.0 + (max(rows - frequency, 0) + 0.5) / (frequency + 0.5))


def measure(terms: Terms, tokens: Collection[str], cosine: float | None = None) -> dict[str, float]:
    """Return the features of one passage, each in [-1, 1]; without a vector there is no cosine.

    coverage: the share of the query's idf in the passage; rarest: the same for its two rarest own words; unseen: the
    share of the query's own idf that the whole source lacks; numbers: +0.5 if the passage has all numbers of the query,
    -0.5 if it has none, 0 if the query has none; characters: the share of the Han characters of the query's own words
    in the passage, since bigrams also span two words.
    """
    passage_tokens = frozenset(tokens)
    total = sum(terms.weights.values())
    covered = sum(weight for token, weight in terms.weights.items() if token in passage_tokens)
    rarest = sorted(terms.own, key=lambda token: (-terms.weights[token], token))[:2]
    numbers = [token for token in terms.own if any(letter.isdecimal() for letter in token)]
    features = {
        "coverage": covered / total if total else 0.0,
        "rarest": sum(token in passage_tokens for token in rarest) / len(rarest) if rarest else 0.0,
        "unseen": terms.unseen,
        "numbers": sum(token in passage_tokens for token in numbers) / len(numbers) - 0.5 if numbers else 0.0,
    }
    characters = _han(terms.own)
    if characters:
        features["characters"] = len(characters & _han(passage_tokens)) / len(characters)
    if cosine is not None:
        features["cosine"] = cosine
    return features


def _han(tokens: Collection[str]) -> set[str]:
    return {letter for token in tokens if token[0] >= "\u2e80" for letter in token}


@dataclass(frozen=True, slots=True)
class Calibration:
    """A logistic model: P(relevant) = 1 / (1 + exp(-(bias + weights . features)))."""

    bias: float
    weights: Mapping[str, float]

    def log_odds(self, features: Mapping[str, float]) -> float:
        return self.bias + sum(weight * features.get(name, 0.0) for name, weight in self.weights.items())

    def probability(self, features: Mapping[str, float]) -> float:
        odds = self.log_odds(features)
        return 1.0 / (1.0 + math.exp(-odds)) if odds >= 0 else math.exp(odds) / (1.0 + math.exp(odds))


# Printed by `DRAGOMAN_DATA=... python benchmarks/retrieval/calibrate.py`, which also prints how well they hold.
SEMANTIC = Calibration(-5.54, {"cosine": 7.66, "coverage": 3.39, "unseen": -0.63, "numbers": 2.08})
LEXICAL = Calibration(-2.27, {"coverage": 2.63, "rarest": 1.42, "unseen": -1.13, "numbers": 1.83})
CHINESE = Calibration(-2.72, {"characters": 3.18, "numbers": 1.3})
# Set by hand on the shipped conversations and those of benchmarks/agents, the only labelled statements about
# a person.
STATEMENT = Calibration(-6.7, {"cosine": 20.0, "coverage": 1.0})


def calibration_of(*, chinese: bool, semantic: bool, about: About = "world") -> Calibration:
    """Return the model for a query and a source.

    Chinese uses lexical features, since the default encoder is English. Statements about user or bot have their own
    model: they are short, and nearer to any question than passages are.
    """
    if chinese:
        return CHINESE
    if not semantic:
        return LEXICAL
    return SEMANTIC if about == "world" else STATEMENT
