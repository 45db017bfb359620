"""BM25 and TF-IDF over a handful of candidates, or a corpus, weighed once for any number of queries.

Okapi BM25, with Robertson's idf and a floor where it is negative:
score(d, q) = sum over q of idf(q) * f(q, d) * (k1 + 1) / (f(q, d) + k1 * (1 - b + b * |d| / avgdl))
idf(q) = ln(N - n + 0.5) - ln(n + 0.5); where that is negative, epsilon times the mean idf of the vocabulary

Words that most candidates hold are the rule among five candidates, so the floor matters more than elsewhere. Sums are
taken in the order of the query, so that candidates which tie elsewhere tie here, to the last bit.

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
    """Scores rows for a query, and says what no row can exceed."""

    def scores(self, query: Sequence[str]) -> list[float]: ...

    def most(self, query: Sequence[str]) -> float: ...


class _Postings:
    """What each token adds to the rows that hold it; plain lists for few rows, arrays for many."""

    def __init__(self, count: int, postings: Mapping[str, list[tuple[int, float]]]) -> None:
        self._count = count
        self._postings = postings
        self._arrays = _arrays(postings) if count > _FEW else None

    def sums(self, query: Sequence[str]) -> list[float]:
        """One sum a row; a word counts as often as the query says it."""
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
        found: list[float] = sums.tolist()
        return found


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
        """Each word of the query said without end."""
        return sum((self._k1 + 1) * max(0.0, self.idf.get(token, 0.0)) for token in query)


class TfIdf:
    """The cosine of TF-IDF over the candidates' tokens.

    Rarity is counted among the rows themselves, or where they are some of many, given: `count` rows in all, and in how
    many of those each token is (`containing`).
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
    """Okapi's idf of each word; those below zero get `epsilon` times the mean, which may itself be negative."""
    found = {token: math.log(rows - n + 0.5) - math.log(n + 0.5) for token, n in containing.items()}
    if not found:
        return found
    total = 0.0
    for value in found.values():  # one by one: sum() rounds otherwise in newer Pythons
        total += value
    floor = epsilon * (total / len(found))
    return {token: floor if value < 0 else value for token, value in found.items()}


def _containing(counts: Sequence[Counter[str]]) -> Counter[str]:
    """In how many rows each token is, in the order in which they first occur."""
    containing: Counter[str] = Counter()
    for row in counts:
        containing.update(row.keys())
    return containing


def _arrays(
    postings: Mapping[str, list[tuple[int, float]]],
) -> dict[str, tuple[NDArray[np.intp], NDArray[np.float64]]]:
    import numpy as np

    return {
        token: (np.array([row for row, _ in found], dtype=np.intp), np.array([value for _, value in found]))
        for token, found in postings.items()
    }
