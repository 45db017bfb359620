"""Okapi BM25 over rows of tokens, exact: the reference for every lexical search of a store.

score(q, d) = sum over t in q of idf(t) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * |d| / average))

`idf="lucene"` is log(1 + (N - n + 0.5) / (n + 0.5)), never negative. `idf="okapi"` is the original
log((N - n + 0.5) / (n + 0.5)), where a negative one becomes a quarter of the vocabulary's average.
k1 = 1.2 and b = 0.75 are the values that the sidecar index is built with, so that a source which grows
past its threshold keeps its scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Postings: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float64]]

Idf: TypeAlias = Literal["lucene", "okapi"]

K1 = 1.2
B = 0.75
_FLOOR = 0.25
_SCANNED = 256


def lucene_idf(rows: int, containing: int) -> float:
    """The weight of a token that `containing` of `rows` rows hold."""
    return log(1 + (rows - containing + 0.5) / (containing + 0.5))


def saturation(frequencies: Floats, lengths: Floats, average: float, *, k1: float = K1, b: float = B) -> Floats:
    """How much a token counts in rows of these lengths when it occurs this often."""
    norm = k1 * (1 - b + b * lengths / (average or 1.0))
    return frequencies * (k1 + 1) / (frequencies + norm)


class Bm25:
    """The scores of any query against a small pool of token lists."""

    def __init__(self, rows: Sequence[Sequence[str]], *, k1: float = K1, b: float = B, idf: Idf = "lucene") -> None:
        self._rows = rows
        self._k1, self._b, self._idf = k1, b, idf
        self._lengths = np.fromiter(map(len, rows), dtype=np.float64, count=len(rows))
        self._average = float(self._lengths.mean()) if rows else 0.0
        self._postings: dict[str, Postings] = {}
        # Scanning a few rows for a query's tokens beats indexing them all; many rows are indexed once.
        self._complete = False
        if idf == "okapi" or len(rows) > _SCANNED:
            self._index()
        self._okapi_floor = self._average_okapi() * _FLOOR if idf == "okapi" else 0.0

    def __len__(self) -> int:
        return len(self._rows)

    def containing(self, token: str) -> int:
        """In how many rows a token occurs."""
        return len(self._posting(token)[0])

    def scores(self, query: Sequence[str]) -> Floats:
        """One score a row; a token that the query repeats counts as often as it is there."""
        scores = np.zeros(len(self._rows))
        for token, times in Counter(query).items():
            rows, frequencies = self._posting(token)
            if len(rows):
                weight = self._weight(len(rows)) * times
                scores[rows] += weight * saturation(
                    frequencies, self._lengths[rows], self._average, k1=self._k1, b=self._b
                )
        return scores

    def _posting(self, token: str) -> Postings:
        found = self._postings.get(token)
        if found is None:
            counts = [] if self._complete else [(i, n) for i, row in enumerate(self._rows) if (n := row.count(token))]
            found = _arrays(counts)
            if not self._complete:
                self._postings[token] = found
        return found

    def _index(self) -> None:
        counts: dict[str, list[tuple[int, int]]] = {}
        for i, row in enumerate(self._rows):
            for token, n in Counter(row).items():
                counts.setdefault(token, []).append((i, n))
        self._postings = {token: _arrays(pairs) for token, pairs in counts.items()}
        self._complete = True

    def _weight(self, containing: int) -> float:
        if self._idf == "lucene":
            return lucene_idf(len(self._rows), containing)
        weight = self._okapi(containing)
        return weight if weight >= 0 else self._okapi_floor

    def _okapi(self, containing: int) -> float:
        return log(len(self._rows) - containing + 0.5) - log(containing + 0.5)

    def _average_okapi(self) -> float:
        weights = [self._okapi(len(rows)) for rows, _ in self._postings.values()]
        return sum(weights) / len(weights) if weights else 0.0


def _arrays(counts: Sequence[tuple[int, int]]) -> Postings:
    rows = np.fromiter((i for i, _ in counts), dtype=np.int64, count=len(counts))
    return rows, np.fromiter((n for _, n in counts), dtype=np.float64, count=len(counts))
