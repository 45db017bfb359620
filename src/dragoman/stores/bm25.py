"""Okapi BM25 over rows of tokens, exact: the reference for every lexical search of a store.

score(q, d) = sum over t in q of idf(t) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * |d| / average))

idf(t) = log(1 + (N - n + 0.5) / (n + 0.5)), never negative. The papers' own variant for a few candidates is in
`retriever/ranking.py`: an idf that may be negative, with a floor, other constants, and sums in another order.
k1 = 1.2 and b = 0.75 are the values that the sidecar index is built with, so that a source which grows
past its threshold keeps its scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import log
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Postings: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float64]]

K1 = 1.2
B = 0.75
_NEXT = "\n"  # between rows; no token holds white space


def lucene_idf(rows: int, containing: int) -> float:
    """The inverse document frequency of a token that occurs in `containing` of `rows` rows."""
    return log(1 + (rows - containing + 0.5) / (containing + 0.5))


def saturation(frequencies: Floats, lengths: Floats, average: float, *, k1: float = K1, b: float = B) -> Floats:
    """The term-frequency factor of BM25 for tokens with these counts in rows of these lengths."""
    norm = k1 * (1 - b + b * lengths / (average or 1.0))
    return frequencies * (k1 + 1) / (frequencies + norm)


class Bm25:
    """BM25 scores of queries against a small pool of rows. Tokens must not hold white space."""

    def __init__(self, rows: Sequence[Sequence[str]], *, k1: float = K1, b: float = B) -> None:
        self._prepare([" ".join(row) for row in rows], list(map(len, rows)), k1, b)

    @classmethod
    def of_lines(cls, lines: Sequence[str], lengths: Sequence[int]) -> Bm25:
        """Build from rows whose tokens are already joined by spaces, with the number of tokens of each."""
        bm25 = cls.__new__(cls)
        bm25._prepare(lines, lengths, K1, B)
        return bm25

    def _prepare(self, lines: Sequence[str], lengths: Sequence[int], k1: float, b: float) -> None:
        self._k1, self._b = k1, b
        self._lengths = np.array(lengths, dtype=np.float64)
        self._average = float(self._lengths.mean()) if lines else 0.0
        # One text with a space of its own on either side of each token: finding text in it finds tokens, and a
        # search along it is quicker than an index until there are thousands of rows.
        self._text = f" {_NEXT.join(lines).replace(' ', '  ').replace(_NEXT, f' {_NEXT} ')} "
        gaps = np.maximum(self._lengths - 1, 0) + 3
        self._ends = np.cumsum(np.fromiter(map(len, lines), dtype=np.int64, count=len(lines)) + gaps)
        self._postings: dict[str, Postings] = {}

    @property
    def size(self) -> int:
        """The approximate size in bytes."""
        return 2 * len(self._text) + 100 * len(self._lengths)

    def __len__(self) -> int:
        return len(self._lengths)

    def containing(self, token: str) -> int:
        """The number of rows that hold a token."""
        return len(self._posting(token)[0])

    def scores(self, query: Sequence[str]) -> Floats:
        """One score per row; a token that the query repeats counts each time."""
        counted = ((token, times, self.containing(token)) for token, times in Counter(query).items())
        rows = len(self._lengths)
        return self.weighted({token: times * lucene_idf(rows, among) for token, times, among in counted if among})

    def weighted(self, weights: Mapping[str, float], average: float | None = None) -> Floats:
        """Scores with token weights and an average length that come from a larger set of rows."""
        scores = np.zeros(len(self._lengths))
        average = self._average if average is None else average
        for token, weight in weights.items():
            rows, frequencies = self._posting(token)
            if len(rows):
                scores[rows] += weight * saturation(frequencies, self._lengths[rows], average, k1=self._k1, b=self._b)
        return scores

    def _posting(self, token: str) -> Postings:
        posting = self._postings.get(token)
        if posting is None:
            needle, places = f" {token} ", []
            place = self._text.find(needle) if token.split() == [token] else -1
            while place >= 0:
                places.append(place)
                place = self._text.find(needle, place + len(needle))
            counts = np.bincount(np.searchsorted(self._ends, places, side="right"), minlength=len(self._ends))
            rows = np.flatnonzero(counts)
            posting = rows, counts[rows].astype(np.float64)
            if places:  # cache only tokens of the rows, never words that occur in queries alone
                self._postings[token] = posting
        return posting
