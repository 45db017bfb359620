"""Search in the SQLite store: exact over a pool in memory, or through the sidecar index for a large shared source."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

import numpy as np

from dragoman.core.values import SHARED_USER, Hit, Query, Scope, SourceName
from dragoman.stores.bm25 import lucene_idf, saturation
from dragoman.stores.index import Sidecar, exclusive, sidecar_folder
from dragoman.stores.index_vectors import VectorIndex
from dragoman.stores.index_words import WordIndex
from dragoman.stores.pool import Entry, Found, PoolCache, VectorPool, WordPool, best
from dragoman.stores.rows import COLUMNS, Cell, from_cells, spaced
from dragoman.stores.vectors import unit

if TYPE_CHECKING:
    from dragoman.stores.database import Database

S = TypeVar("S", WordIndex, VectorIndex)
Purge: TypeAlias = Callable[[SourceName, Sequence[int]], None]

_NARROW = 2000  # so few rows under the wanted parents are scored one by one
_PAGE = 2000
_PATIENCE = 600.0  # how long a search waits for another process that is building the index

_PLACE = """SELECT counter, live, length FROM places
    WHERE tenant = :tenant AND user = :user AND source = :source"""
_PLACES = "SELECT source FROM places WHERE tenant = :tenant AND user = :user ORDER BY source"
_WORDS = """SELECT seq, id, parent, tokens FROM passages
    WHERE tenant = :tenant AND user = :user AND source = :source AND superseded_by IS NULL ORDER BY seq"""
_VECTORS = """SELECT v.seq, p.id, p.parent, v.vector FROM vectors AS v CROSS JOIN passages AS p
    WHERE v.tenant = :tenant AND v.user = :user AND v.source = :source
    AND p.tenant = :tenant AND p.user = :user AND p.seq = v.seq AND p.superseded_by IS NULL ORDER BY v.seq"""
# NOT INDEXED: by their row numbers, which no index of ours is quicker than.
_WORDS_OF = """SELECT seq, id, parent, tokens FROM passages NOT INDEXED
    WHERE tenant = :tenant AND user = :user AND source = :source AND superseded_by IS NULL
    AND seq IN (SELECT value FROM json_each(:keys)) ORDER BY seq"""
_VECTORS_OF = """SELECT p.seq, p.id, p.parent, v.vector FROM passages AS p NOT INDEXED CROSS JOIN vectors AS v
    WHERE p.tenant = :tenant AND p.user = :user AND p.source = :source AND p.superseded_by IS NULL
    AND v.tenant = :tenant AND v.user = :user AND v.source = :source AND v.seq = p.seq
    AND p.seq IN (SELECT value FROM json_each(:keys)) ORDER BY p.seq"""
_UNDER = f"""SELECT seq FROM passages
    WHERE tenant = :tenant AND user = :user AND source = :source
    AND parent IN (SELECT value FROM json_each(:parents)) LIMIT {_NARROW + 1}"""
_PASSAGES_OF = f"""SELECT seq, {COLUMNS} FROM passages NOT INDEXED
    WHERE tenant = :tenant AND user = :user AND seq IN (SELECT value FROM json_each(:keys))"""
_WORD_FEED = f"""SELECT seq, changed, tokens FROM passages
    WHERE tenant = :tenant AND user = :user AND source = :source AND (changed, seq) > (:after, :last)
    AND changed <= :upto AND superseded_by IS NULL ORDER BY changed, seq LIMIT {_PAGE}"""
_VECTOR_FEED = f"""SELECT p.seq, p.changed, v.vector FROM passages AS p CROSS JOIN vectors AS v
    WHERE p.tenant = :tenant AND p.user = :user AND p.source = :source AND (p.changed, p.seq) > (:after, :last)
    AND p.changed <= :upto AND p.superseded_by IS NULL
    AND v.tenant = :tenant AND v.user = :user AND v.source = :source AND v.seq = p.seq
    ORDER BY p.changed, p.seq LIMIT {_PAGE}"""


class Place(NamedTuple):
    """The state of one source in one scope."""

    counter: int = 0
    live: int = 0
    length: int = 0


@dataclass(frozen=True, slots=True)
class IndexState:
    """How a source's index stands beside the store; None where an index has not been needed yet."""

    source: SourceName
    rows: int
    words_current: bool | None
    vectors_current: bool | None


class Search:
    """Everything that finds rows; it never writes to the store."""

    def __init__(self, database: Database, folder: Path, *, threshold: int) -> None:
        self._database = database
        self._folder = folder
        self._threshold = threshold
        self._pools = PoolCache()
        self._sidecars: dict[tuple[type, str, SourceName], WordIndex | VectorIndex] = {}
        self._lock = Lock()

    def lexical(self, query: Query) -> list[Hit]:
        """BM25: only rows that share a token with the query."""
        place = self.place(query.scope, query.source)
        tokens = spaced(query.tokens)
        if not tokens or query.k <= 0:
            return []
        if not self._is_large(query.scope, place):
            return self._hits(query, self._words(query.scope, query.source, place).search(query))
        index = self._fresh(WordIndex, query.scope, query.source)
        weights = {
            token: times * lucene_idf(place.live, min(index.containing(token), place.live))
            for token, times in Counter(tokens).items()
        }
        return self._candidates(
            query, partial(index.search, tokens), lambda keys: self._score_words(query, keys, weights, place)
        )

    def nearest(self, query: Query) -> list[Hit]:
        """Cosine: only rows that have vectors of the query's dimensions."""
        if query.vector is None or query.k <= 0:
            return []
        place = self.place(query.scope, query.source)
        if not self._is_large(query.scope, place):
            return self._hits(query, self._vectors(query.scope, query.source, place).search(query))
        direction = unit(query.vector)
        index = self._fresh(VectorIndex, query.scope, query.source, width=len(direction))
        return self._candidates(
            query, partial(index.search, direction), lambda keys: _vector_pool(self._of(query, _VECTORS_OF, keys)).search(query)
        )

    def frequencies(self, scope: Scope, source: SourceName, tokens: Sequence[str]) -> tuple[int, Mapping[str, int]]:
        """The number of rows of a source, and in how many of them each token occurs."""
        place = self.place(scope, source)
        if self._is_large(scope, place):
            index = self._fresh(WordIndex, scope, source)
            return place.live, {token: index.containing(token) for token in tokens}
        pool = self._words(scope, source, place)
        return len(pool.entries), {token: pool.bm25.containing(token) for token in tokens}

    def place(self, scope: Scope, source: SourceName) -> Place:
        """The state of a source as last committed by anyone."""
        with self._database.reading(scope) as rows:
            found = rows.rows(_PLACE, source=source)
        return Place(*(int(cell or 0) for cell in found[0])) if found else Place()

    @contextmanager
    def purging(self, scope: Scope, *, seconds: float) -> Iterator[Purge]:
        """Hold the indexes of a scope while rows are changed or removed, and take them out by the function given."""
        if scope.user != SHARED_USER:
            yield lambda source, keys: None
            return
        settle: list[Callable[[], None]] = []

        def purge(source: SourceName, keys: Sequence[int]) -> None:
            for sidecar in (self._sidecar(WordIndex, scope, source), self._sidecar(VectorIndex, scope, source)):
                with sidecar.lock:
                    settle.append(sidecar.purge(keys))

        with exclusive(self._folder, scope, seconds=seconds):
            yield purge
            for done in settle:
                done()

    def drop(self, scope: Scope) -> None:
        """Let go of what is cached of a scope."""
        self._pools.drop(scope)

    def drop_index(self, scope: Scope, source: SourceName) -> None:
        """Remove a source's index; whoever calls holds it through `purging`."""
        for sidecar in (self._sidecar(WordIndex, scope, source), self._sidecar(VectorIndex, scope, source)):
            with sidecar.lock:
                sidecar.drop()
                if sidecar.folder.parent.exists() and not any(sidecar.folder.parent.iterdir()):
                    sidecar.folder.parent.rmdir()

    def rebuild(self, scope: Scope, source: SourceName) -> None:
        """Make a source's index anew, where it is large enough to have one."""
        with exclusive(self._folder, scope, seconds=_PATIENCE):
            self.drop_index(scope, source)
        self.prepare(scope, source)

    def prepare(self, scope: Scope, source: SourceName) -> None:
        """Bring a source's index up to date now, so that no search has to wait for it."""
        if self._is_large(scope, self.place(scope, source)):
            self._fresh(WordIndex, scope, source)
            if width := self._width(scope, source):
                self._fresh(VectorIndex, scope, source, width=width)

    def states(self, scope: Scope) -> tuple[IndexState, ...]:
        """How the index of each source of a scope stands."""
        with self._database.reading(scope) as rows:
            sources = [str(cells[0]) for cells in rows.rows(_PLACES)]
        states = []
        for source in sources:
            place = self.place(scope, source)
            current: list[bool | None] = []
            for sidecar in (self._sidecar(WordIndex, scope, source), self._sidecar(VectorIndex, scope, source)):
                manifest = sidecar.manifest()
                exists = sidecar.folder.exists()
                current.append(manifest is not None and manifest.counter == place.counter if exists else None)
            states.append(IndexState(source, place.live, current[0], current[1]))
        return tuple(states)

    def _is_large(self, scope: Scope, place: Place) -> bool:
        return scope.user == SHARED_USER and place.live > self._threshold

    def _words(self, scope: Scope, source: SourceName, place: Place) -> WordPool:
        def load() -> WordPool:
            with self._database.reading(scope) as rows:
                found = rows.rows(_WORDS, source=source)
            return WordPool([Entry(*cells[:3]) for cells in found], [str(cells[3]).split(" ") for cells in found])  # type: ignore[arg-type]  # as selected

        return self._pools.get(WordPool, scope, source, place.counter, load)

    def _vectors(self, scope: Scope, source: SourceName, place: Place) -> VectorPool:
        def load() -> VectorPool:
            with self._database.reading(scope) as rows:
                return _vector_pool(rows.rows(_VECTORS, source=source))

        return self._pools.get(VectorPool, scope, source, place.counter, load)

    def _candidates(self, query: Query, propose: Callable[[int], list[int]], score: Callable[[Sequence[int]], Found]) -> list[Hit]:
        """Score what an index proposes, or all rows under the wanted parents; ask for more until k pass the filters."""
        if query.parents is not None:
            with self._database.reading(query.scope) as rows:
                under = rows.rows(_UNDER, source=query.source, parents=json.dumps(sorted(query.parents)))
            if len(under) <= _NARROW:
                return self._hits(query, score([int(cells[0] or 0) for cells in under]))
        wanted = max(4 * query.k, 32) + len(query.without)
        while True:
            keys = propose(wanted)
            found = score(keys)
            if len(found) >= query.k or len(keys) < wanted:
                return self._hits(query, found)
            wanted *= 4

    def _score_words(self, query: Query, keys: Sequence[int], weights: Mapping[str, float], place: Place) -> Found:
        rows = self._of(query, _WORDS_OF, keys)
        tokens = [str(cells[3]).split(" ") for cells in rows]
        lengths = np.array([len(row) for row in tokens], dtype=np.float64)
        scores = np.zeros(len(rows))
        for token, weight in weights.items():
            frequencies = np.array([row.count(token) for row in tokens], dtype=np.float64)
            scores += weight * saturation(frequencies, lengths, place.length / place.live)
        return best([Entry(*cells[:3]) for cells in rows], scores, query, above=0.0)  # type: ignore[arg-type]  # as selected

    def _of(self, query: Query, sql: str, keys: Sequence[int]) -> list[tuple[Cell, ...]]:
        with self._database.reading(query.scope) as rows:
            return rows.rows(sql, source=query.source, keys=json.dumps(keys))

    def _hits(self, query: Query, found: Found) -> list[Hit]:
        with self._database.reading(query.scope) as rows:
            cells = rows.rows(_PASSAGES_OF, keys=json.dumps([key for key, _ in found])) if found else []
        passages = {row[0]: from_cells(row[1:]) for row in cells}
        return [Hit(passages[key], score) for key, score in found if key in passages]

    def _sidecar(self, kind: type[S], scope: Scope, source: SourceName) -> S:
        with self._lock:
            key = (kind, scope.tenant, source)
            if key not in self._sidecars:
                name = "words" if kind is WordIndex else "vectors"
                folder = sidecar_folder(self._folder, scope, source, name)
                self._sidecars[key] = kind(folder, self._database.identity())
            sidecar = self._sidecars[key]
        assert isinstance(sidecar, kind)
        return sidecar

    def _fresh(self, kind: type[S], scope: Scope, source: SourceName, *, width: int = 0) -> S:
        """An index brought up to date; rows written while it is come with the next search."""
        sidecar = self._sidecar(kind, scope, source)
        with sidecar.lock:
            if sidecar.is_fresh(self.place(scope, source).counter, width):
                return sidecar
        with exclusive(self._folder, scope, seconds=_PATIENCE), sidecar.lock:
            counter = self.place(scope, source).counter
            sql, none = (_WORD_FEED, str) if kind is WordIndex else (_VECTOR_FEED, bytes)
            sidecar.refresh(counter, partial(self._feed, scope, source, sql, none), width=width)
        return sidecar
