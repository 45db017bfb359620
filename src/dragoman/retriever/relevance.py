"""Calibrated relevance: how probable it is that a passage helps to answer a query, in [0, 1].

A small logistic model over what is known at search time: the cosine of query and passage, and how much
of the query's rare words the passage holds. The constants are data, fitted on real dialogues.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

CARRIED_WEIGHT = 0.5
"""How much a word counts that a follow-up carries from the turns before, beside one of its own."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The words of a query with their weights in a source: idf, lower for what was carried."""

    weights: Mapping[str, float]
    carried: Mapping[str, float]

    @classmethod
    def of(cls, own: Sequence[str], carried: Sequence[str], rows: int, frequencies: Mapping[str, int]) -> Terms:
        def weight(token: str) -> float:
            return idf(rows, frequencies.get(token, 0))

        words = {token: weight(token) for token in own}
        return cls(words, {token: weight(token) for token in carried if token not in words})


def idf(rows: int, frequency: int) -> float:
    """Okapi's inverse document frequency, kept above zero."""
    return math.log(1.0 + (rows - frequency + 0.5) / (frequency + 0.5))
