"""BM25 and TF-IDF over candidates or a corpus, indexed once for any number of queries.

Okapi BM25, with Robertson's idf and a floor where it is negative:
score(d, q) = sum over q of idf(q) * f(q, d) * (k1 + 1) / (f(q, d) + k1 * (1 - b + b * |d| / avgdl))
idf(q) = ln(N - n + 0.5) - ln(n + 0.5); where that is negative, epsilon times the mean idf of the vocabulary

Among five candidates most words occur in most of them, so the floor matters more than elsewhere. Sums follow the order
of the query, so that ties of the reference implementation are ties here, to the last bit.

TF-IDF: the cosine of query and row, where a token weighs tf * (1 + ln((1 + N) / (1 + n))).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FEW = 64


class Weighting(Protocol):
    """Scorer of rows for a query, with an upper bound of its scores."""

    def scores(self, query: Sequence[str]) -> list[float]: ...

    def most(self, query: Sequence[str]) -> float: ...


class _Postings:
    """Inverted index: the weight of each token in the rows that contain it; lists for few rows, arrays for many."""

    def __init__(self, count: int, postings: Mapping[str, list[tuple[int, float]]]) -> None:
        self._count = count
        self._postings = postings
        self._arrays = _arrays(postings) if count > _FEW else None

    def sums(self, query: Sequence[str]) -> list[float]:
        """Return one sum per row; a repeated word of the query counts each time."""
        if self._arrays is not None:
            return self._sums_of_many(query, self._arrays)
        sums = [0.0] * self._count
        for token in query:
            for row, value in self._postings.get(token, ()):
                sums[row] += value
        return sums

    def _sums_of_many(
        self, query: Sequence[str], arrays: Mapping[str, tuple[NDArray[np.intp], NDArray[np.float64]]]
    ) -> list[float]:
        import numpy as np

        sums = np.zeros(self._count)
        for token in query:
            if token in arrays:
                rows, values = arrays[token]
                sums[rows] += values
        totals: list[float] = sums.tolist()
        return totals


class Okapi:
    """BM25 of the candidates' tokens."""

    def __init__(
        self, rows: Sequence[Sequence[str]], *, k1: float = 1.5, b: float = 0.75, epsilon: float = 0.25
    ) -> None:
        self._k1 = k1
        counts = [Counter(row) for row in rows]
        self.idf = idf(_containing(counts), len(rows), epsilon)
        average = sum(map(len, rows)) / len(rows) if rows else 0.0
        postings: dict[str, list[tuple[int, float]]] = {}
        for i, row in enumerate(counts):
            for token, times in row.items():
                norm = times + k1 * (1 - b + b * len(rows[i]) / average)
                postings.setdefault(token, []).append((i, self.idf[token] * (times * (k1 + 1) / norm)))
        self._postings = _Postings(len(rows), postings)

    def scores(self, query: Sequence[str]) -> list[float]:
        return self._postings.sums(query)

    def most(self, query: Sequence[str]) -> float:
        """Return the upper bound: the limit of each word's weight at infinite frequency."""
        return sum((self._k1 + 1) * max(0.0, self.idf.get(token, 0.0)) for token in query)


class TfIdf:
    """Cosine of TF-IDF vectors over the candidates' tokens.

    Document frequencies come from the rows, or, if they are a subset, from the caller: `count` rows in all, and the
    number of rows that contain each token (`containing`).
    """

    def __init__(
        self, rows: Sequence[Sequence[str]], *, count: int | None = None, containing: Mapping[str, int] | None = None
    ) -> None:
        counts = [Counter(row) for row in rows]
        self._count = len(rows) if count is None else count
        self._containing = _containing(counts) if containing is None else containing
        postings: dict[str, list[tuple[int, float]]] = {}
        for i, row in enumerate(counts):
            idfs = {token: self._idf(token) for token in row}
            weights = {token: times * idfs[token] for token, times in row.items()}
            length = math.sqrt(sum(weight * weight for weight in weights.values()))
            for token, weight in weights.items():
                postings.setdefault(token, []).append((i, idfs[token] * weight / length))
        self._postings = _Postings(len(rows), postings)

    def _idf(self, token: str) -> float:
        return 1.0 + math.log((1 + self._count) / (1 + self._containing.get(token, 0)))

    def scores(self, query: Sequence[str]) -> list[float]:
        weights = (times * self._idf(token) for token, times in Counter(query).items())
        length = math.sqrt(sum(weight * weight for weight in weights))
        return [value / length if length else 0.0 for value in self._postings.sums(query)]

    def most(self, query: Sequence[str]) -> float:
        return 1.0


def idf(containing: Mapping[str, int], rows: int, epsilon: float) -> dict[str, float]:
    """Return Okapi's idf of each word; negative ones become `epsilon` times the mean, which may itself be negative."""
    values = {token: math.log(rows - n + 0.5) - math.log(n + 0.5) for token, n in containing.items()}
    if not values:
        return values
    total = 0.0
    for value in values.values():  # one by one: sum() rounds otherwise in newer Pythons
        total += value
    floor = epsilon * (total / len(values))
    return {token: floor if value < 0 else value for token, value in values.items()}


def _containing(counts: Sequence[Counter[str]]) -> Counter[str]:
    """Return the document frequency of each token, in order of first occurrence."""
    containing: Counter[str] = Counter()
    for row in counts:
        containing.update(row.keys())
    return containing


def _arrays(
    postings: Mapping[str, list[tuple[int, float]]],
) -> dict[str, tuple[NDArray[np.intp], NDArray[np.float64]]]:
    import numpy as np

    return {
        token: (np.array([row for row, _ in entries], dtype=np.intp), np.array([value for _, value in entries]))
        for token, entries in postings.items()
    }
