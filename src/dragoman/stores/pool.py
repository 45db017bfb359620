"""Exact search over the live rows of one source in memory, and a bounded cache of such pools."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

import numpy as np

from dragoman.core.values import Query, Scope, SourceName
from dragoman.stores.bm25 import Bm25
from dragoman.stores.rows import spaced
from dragoman.stores.vectors import DTYPE, unit, unpack

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray
    from dragoman.stores.bm25 import Floats

P = TypeVar("P", bound="WordPool | VectorPool")
Found: TypeAlias = list[tuple[int, float]]
"""Keys and scores, best first; equal scores in order of insertion."""


Entry: TypeAlias = tuple[int, str, str | None]
"""The part of a row that a search needs: its number in the store, its id and its parent."""


def allowed(query: Query, id: str, parent: str | None) -> bool:
    """Whether a row passes the filters of a query."""
    return id not in query.without and (query.parents is None or parent in query.parents)


def best(
    entries: Sequence[Entry],
    scores: Floats | FloatArray,
    query: Query,
    *,
    above: float,
    within: Container[int] | None = None,
) -> Found:
    """The k best entries above a score that pass the filters of a query; `within` are the rows of its period."""
    scored: Found = []
    order = np.argsort(-scores, kind="stable")
    if query.parents is None and within is None:
        order = order[: query.k + len(query.without)]  # the filter excludes at most this many entries
    for i, score in zip(order.tolist(), scores[order].tolist(), strict=True):
        if len(scored) >= query.k or score <= above:
            break
        key, id_, parent = entries[i]
        if (within is None or key in within) and allowed(query, id_, parent):
            scored.append((key, score))
    return scored


class WordPool:
    """BM25 over every row of a pool; returns only rows that share a token with the query."""

    def __init__(self, entries: Sequence[Entry], bm25: Bm25) -> None:
        self.entries = entries
        self.bm25 = bm25
        self.size = bm25.size + 200 * len(entries)

    def search(self, query: Query, within: Container[int] | None = None) -> Found:
        tokens = spaced(query.tokens)
        if not tokens or not self.entries:
            return []
        return best(self.entries, self.bm25.scores(tokens), query, above=0.0, within=within)


class VectorPool:
    """Cosine over every row of a pool whose vector has as many dimensions as the query's."""

    def __init__(self, entries: Sequence[Entry], vectors: Sequence[bytes]) -> None:
        sizes = list(map(len, vectors))
        self._matrices: dict[int, tuple[Sequence[Entry], FloatArray]] = {}
        widths = set(sizes)
        for size in widths:
            width = size // DTYPE.itemsize
            if len(widths) == 1:  # all of one width unless the encoder changed
                self._matrices[width] = entries, unpack(vectors, width)
            else:
                mine = [i for i, other in enumerate(sizes) if other == size]
                self._matrices[width] = [entries[i] for i in mine], unpack([vectors[i] for i in mine], width)
        self.size = sum(sizes) + 200 * len(entries)

    def search(self, query: Query, within: Container[int] | None = None) -> Found:
        if query.vector is None:
            return []
        direction = unit(query.vector)
        entries, matrix = self._matrices.get(len(direction), ([], None))
        if matrix is None:
            return []
        return best(entries, matrix @ direction, query, above=-np.inf, within=within)


class PoolCache:
    """A least-recently-used cache of pools by scope and source, each valid for one state of its source."""

    def __init__(self, limit: int = 64 * 2**20) -> None:
        self._limit = limit
        self._lock = Lock()
        self._pools: OrderedDict[tuple[type, Scope, SourceName], tuple[int, WordPool | VectorPool]] = OrderedDict()
        self._size = 0

    def get(self, kind: type[P], scope: Scope, source: SourceName, counter: int, load: Callable[[], P]) -> P:
        """The pool of a source at a change counter; reloaded if the cached one has another counter."""
        key = (kind, scope, source)
        with self._lock:
            present = self._pools.get(key)
            if present is not None and present[0] == counter:
                self._pools.move_to_end(key)
                return cast(P, present[1])
        pool = load()
        with self._lock:
            self._drop([key])
            self._pools[key] = (counter, pool)
            self._size += pool.size
            while self._size > self._limit and len(self._pools) > 1:
                self._drop([next(iter(self._pools))])
        return pool

    def drop(self, scope: Scope | None = None) -> None:
        """Drop the pools of a scope, or all pools."""
        with self._lock:
            self._drop([key for key in self._pools if scope is None or key[1] == scope])

    def _drop(self, keys: Iterable[tuple[type, Scope, SourceName]]) -> None:
        for key in keys:
            if present := self._pools.pop(key, None):
                self._size -= present[1].size
