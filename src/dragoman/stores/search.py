"""Search in a store over tables: exact over a pool in memory, or through the sidecar index of a large shared source."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.core.values import SHARED_USER, Hit, Query, Scope, SourceName
from dragoman.stores.bm25 import Bm25, lucene_idf
from dragoman.stores.index.index_manager import IndexManager, SourceState
from dragoman.stores.index.word_index import Proposed
from dragoman.stores.pool import Entry, Found, PoolCache, VectorPool, WordPool, best
from dragoman.stores.rows import COLUMNS, Cell, from_cells, spaced
from dragoman.stores.vectors import unit

if TYPE_CHECKING:
    from dragoman.stores.engine import Engine

_MOST_SURE = 16  # beyond this factor the remaining candidates have equal scores, and the first of them will do
_NARROW = 2000  # up to this many rows under the wanted parents are scored directly, without the index

_WORDS = """SELECT seq, id, parent, tokens, length FROM passages
    WHERE tenant = :tenant AND user = :user AND source = :source AND superseded_by IS NULL ORDER BY seq"""
_VECTORS = """SELECT seq, id, parent, vector FROM vectors
    WHERE tenant = :tenant AND user = :user AND source = :source AND superseded = 0 ORDER BY seq"""
# NOT INDEXED: go by the row numbers, which is quicker than any of our indexes.
_WORDS_OF = """SELECT seq, id, parent, tokens, length FROM passages NOT INDEXED
    WHERE tenant = :tenant AND user = :user AND source = :source AND superseded_by IS NULL
    AND seq IN (SELECT value FROM json_each(:keys)) ORDER BY seq"""
_VECTORS_OF = """SELECT seq, id, parent, vector FROM vectors
    WHERE tenant = :tenant AND user = :user AND source = :source AND superseded = 0
    AND seq IN (SELECT value FROM json_each(:keys)) ORDER BY seq"""
_UNDER = f"""SELECT seq FROM passages
    WHERE tenant = :tenant AND user = :user AND source = :source
    AND parent IN (SELECT value FROM json_each(:parents)) LIMIT {_NARROW + 1}"""
_IN_PERIOD = "moment <> '' AND moment >= :since AND (:until = '' OR moment < :until)"
_OF_PERIOD = f"""SELECT seq FROM passages
    WHERE tenant = :tenant AND user = :user AND source = :source AND {_IN_PERIOD}"""
_KEYS_OF_PERIOD = f"""SELECT seq FROM passages NOT INDEXED
    WHERE tenant = :tenant AND user = :user AND seq IN (SELECT value FROM json_each(:keys)) AND {_IN_PERIOD}"""
_PASSAGES_OF = f"""SELECT seq, {COLUMNS} FROM passages NOT INDEXED
    WHERE tenant = :tenant AND user = :user AND seq IN (SELECT value FROM json_each(:keys))"""


class StoreSearch:
    """Lexical and vector search; never writes to the store."""

    def __init__(self, engine: Engine, folder: Path, *, threshold: int) -> None:
        self.sidecars = IndexManager(engine, folder)
        self.pools = PoolCache()
        self._engine = engine
        self._threshold = threshold

    def lexical(self, query: Query) -> list[Hit]:
        """BM25: only rows that share a token with the query."""
        tokens = spaced(query.tokens)
        if not tokens or query.k <= 0:
            return []
        place = self.sidecars.place(query.scope, query.source)
        if not self.is_large(query.scope, place):
            return self._hits(query, self._words(query.scope, query.source, place).search(query, self._within(query)))
        words = self.sidecars.words(query.scope, query.source).asked(tokens)
        weights = {
            token: times * lucene_idf(place.live, min(words.containing(token), place.live))
            for token, times in Counter(tokens).items()
        }
        average = place.length / place.live
        score = partial(self._score_words, query, weights, average)
        return self._candidates(query, partial(words.search, weights, average), score, more=query.k // 2 + 10)

    def nearest(self, query: Query, encoder: str = "") -> list[Hit]:
        """Cosine: only rows that have vectors of the query's dimensions, and of the same encoder."""
        if query.vector is None or query.k <= 0:
            return []
        place = self.sidecars.place(query.scope, query.source)
        if not place.has_vectors_of(encoder):
            return []
        if not self.is_large(query.scope, place):
            return self._hits(query, self._vectors(query.scope, query.source, place).search(query, self._within(query)))
        direction = unit(query.vector)
        vectors = self.sidecars.vectors(query.scope, query.source, len(direction))
        score = partial(self._score_vectors, query)
        more = max(22, min(3 * query.k, 50))
        return self._candidates(query, lambda n: Proposed(vectors.search(direction, n), -math.inf), score, more=more)

    def frequencies(self, scope: Scope, source: SourceName, tokens: Sequence[str]) -> tuple[int, Mapping[str, int]]:
        """The number of rows of a source, and in how many of them each token occurs."""
        place = self.sidecars.place(scope, source)
        if self.is_large(scope, place):
            words = self.sidecars.words(scope, source).asked(tokens)
            return place.live, {token: words.containing(token) for token in tokens}
        pool = self._words(scope, source, place)
        return len(pool.entries), {token: pool.bm25.containing(token) for token in tokens}

    def is_large(self, scope: Scope, place: SourceState) -> bool:
        """Whether to search a source through its index; below the threshold exact search is as quick."""
        return scope.user == SHARED_USER and place.live > self._threshold

    def _words(self, scope: Scope, source: SourceName, place: SourceState) -> WordPool:
        def load() -> WordPool:
            with self._engine.reading(scope) as rows:
                word_rows = rows.rows(_WORDS, source=source)
            return WordPool(_entries(word_rows), _bm25(word_rows))

        return self.pools.get(WordPool, scope, source, place.counter, load)

    def _vectors(self, scope: Scope, source: SourceName, place: SourceState) -> VectorPool:
        def load() -> VectorPool:
            with self._engine.reading(scope) as rows:
                return _vector_pool(rows.rows(_VECTORS, source=source))

        return self.pools.get(VectorPool, scope, source, place.counter, load)

    def _candidates(
        self, query: Query, propose: Callable[[int], Proposed], score: Callable[[Sequence[int]], Found], *, more: int
    ) -> list[Hit]:
        """Score candidates of an index, or all rows under the wanted parents; fetch more until k are certain."""
        if query.parents is not None:
            with self._engine.reading(query.scope) as rows:
                under = rows.rows(_UNDER, source=query.source, parents=json.dumps(sorted(query.parents)))
            if len(under) <= _NARROW:
                return self._hits(query, score(self._timed(query, [int(cells[0] or 0) for cells in under])))
        elif query.is_timed and (few := self._of_period(query, most=_NARROW)) is not None:
            return self._hits(query, score(few))
        first = count = query.k + more + len(query.without)
        while True:
            keys, ceiling = propose(count)
            scored = score(self._timed(query, keys))
            sure = len(scored) >= query.k and (scored[-1][1] > ceiling or count >= _MOST_SURE * first)
            if sure or len(keys) < count:
                return self._hits(query, scored)
            count *= 4

    def _score_words(self, query: Query, weights: Mapping[str, float], average: float, keys: Sequence[int]) -> Found:
        rows = self._of(query, _WORDS_OF, keys)
        return best(_entries(rows), _bm25(rows).weighted(weights, average), query, above=0.0)

    def _score_vectors(self, query: Query, keys: Sequence[int]) -> Found:
        return _vector_pool(self._of(query, _VECTORS_OF, keys)).search(query)

    def _of(self, query: Query, sql: str, keys: Sequence[int]) -> list[tuple[Cell, ...]]:
        with self._engine.reading(query.scope) as rows:
            return rows.rows(sql, source=query.source, keys=json.dumps(keys))

    def _within(self, query: Query) -> frozenset[int] | None:
        """The rows of the query's period; None where it has none."""
        return frozenset(self._of_period(query) or ()) if query.is_timed else None

    def _of_period(self, query: Query, most: int | None = None) -> list[int] | None:
        """The rows of a period, superseded ones included; None where there are more than `most`."""
        bounds: dict[str, Cell] = {"source": query.source, "since": query.since, "until": query.until}
        limit = f" LIMIT {most + 1}" if most is not None else ""
        with self._engine.reading(query.scope) as rows:
            keys = [int(cells[0] or 0) for cells in rows.rows(_OF_PERIOD + limit, **bounds)]
        return keys if most is None or len(keys) <= most else None

    def _timed(self, query: Query, keys: Sequence[int]) -> Sequence[int]:
        """The rows that fall into the query's period."""
        if not query.is_timed or not keys:
            return keys
        bounds: dict[str, Cell] = {"since": query.since, "until": query.until, "keys": json.dumps(list(keys))}
        with self._engine.reading(query.scope) as rows:
            return [int(cells[0] or 0) for cells in rows.rows(_KEYS_OF_PERIOD, **bounds)]

    def _hits(self, query: Query, scored: Found) -> list[Hit]:
        if not scored:
            return []
        with self._engine.reading(query.scope) as rows:
            cells = rows.rows(_PASSAGES_OF, keys=json.dumps([key for key, _ in scored]))
        passages = {row[0]: from_cells(row[1:]) for row in cells}
        # A row may be deleted after its pool was read.
        return [Hit(passages[key], score) for key, score in scored if key in passages]


def _entries(rows: Sequence[tuple[Cell, ...]]) -> list[Entry]:
    return list(map(itemgetter(0, 1, 2), rows))


def _bm25(rows: Sequence[tuple[Cell, ...]]) -> Bm25:
    return Bm25.of_lines([cells[3] for cells in rows], [cells[4] for cells in rows])  # type: ignore[misc]  # as selected


def _vector_pool(rows: Sequence[tuple[Cell, ...]]) -> VectorPool:
    return VectorPool(_entries(rows), [cells[3] for cells in rows])  # type: ignore[misc]  # a BLOB
