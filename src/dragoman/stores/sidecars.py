"""The indexes of a store's shared sources: fed from its rows, brought up to date before use, purged before removal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from dragoman.core.values import SHARED_USER, Scope, SourceName
from dragoman.stores.index import exclusive, sidecar_folder
from dragoman.stores.index_vectors import VectorIndex
from dragoman.stores.index_words import WordIndex

if TYPE_CHECKING:
    from dragoman.stores.engine import Engine, Rows
    from dragoman.stores.rows import Cell

Purge: TypeAlias = Callable[[SourceName, Sequence[int]], None]

_PAGE = 2000
_PATIENCE = 600.0  # how long a search waits for another process that is building the index

_PLACE = """SELECT counter, live, length FROM places
    WHERE tenant = :tenant AND user = :user AND source = :source"""
_PLACES = "SELECT source FROM places WHERE tenant = :tenant AND user = :user ORDER BY source"
_WIDTH = """SELECT length(vector) / 4 FROM vectors
    WHERE tenant = :tenant AND user = :user AND source = :source ORDER BY seq DESC LIMIT 1"""
_WORD_FEED = f"""SELECT seq, changed, tokens FROM passages
    WHERE tenant = :tenant AND user = :user AND source = :source AND (changed, seq) > (:after, :last)
    AND changed <= :upto AND superseded_by IS NULL ORDER BY changed, seq LIMIT {_PAGE}"""
_VECTOR_FEED = f"""SELECT p.seq, p.changed, v.vector FROM passages AS p CROSS JOIN vectors AS v
    WHERE p.tenant = :tenant AND p.user = :user AND p.source = :source AND (p.changed, p.seq) > (:after, :last)
    AND p.changed <= :upto AND p.superseded_by IS NULL
    AND v.tenant = :tenant AND v.user = :user AND v.source = :source AND v.seq = p.seq
    ORDER BY p.changed, p.seq LIMIT {_PAGE}"""


class Place(NamedTuple):
    """The state of one source in one scope: its last change, its live rows and the tokens in them."""

    counter: int = 0
    live: int = 0
    length: int = 0


@dataclass(frozen=True, slots=True)
class IndexState:
    """How a source's index stands beside the store; None where one has not been needed yet."""

    source: SourceName
    rows: int
    words_current: bool | None
    vectors_current: bool | None


class Sidecars:
    """Two indexes, words and vectors, for each shared source that is large enough."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self._engine = engine
        self._folder = folder
        self._lock = Lock()
        self._known: dict[tuple[str, SourceName], tuple[WordIndex, VectorIndex]] = {}

    @cached_property
    def _store(self) -> str:
        return self._engine.identity()

    def place(self, scope: Scope, source: SourceName) -> Place:
        """The state of a source as last committed by anyone."""
        with self._engine.reading(scope) as rows:
            found = rows.rows(_PLACE, source=source)
        return Place(*(int(cell or 0) for cell in found[0])) if found else Place()

    @staticmethod
    def sources(rows: Rows) -> list[SourceName]:
        """Every source that has rows in a scope."""
        return [str(cells[0]) for cells in rows.rows(_PLACES)]

    def words(self, scope: Scope, source: SourceName) -> WordIndex:
        """The words of a source, up to date."""
        index = self._pair(scope, source)[0]
        with index.lock:
            if index.is_fresh(self.place(scope, source).counter, 0):
                return index
        # The tenant's lock comes before an index's own, here as in `purging`: the other order could deadlock.
        with exclusive(self._folder, scope, seconds=_PATIENCE), index.lock:
            counter = self.place(scope, source).counter
            self._drop_outdated(scope, source, index)
            index.refresh(counter, lambda after, upto: self._word_feed(scope, source, after, upto))
        return index

    def _drop_outdated(self, scope: Scope, source: SourceName, index: WordIndex) -> None:
        """Drop an index that rows were removed from elsewhere: whoever removes purges the files of this folder only.

        Nothing to do where all who write share the folder, as they do beside a file.
        """

    def vectors(self, scope: Scope, source: SourceName, width: int) -> VectorIndex:
        """The vectors of a source that have so many dimensions, up to date."""
        index = self._pair(scope, source)[1]
        with index.lock:
            if index.is_fresh(self.place(scope, source).counter, width):
                return index
        with exclusive(self._folder, scope, seconds=_PATIENCE), index.lock:
            counter = self.place(scope, source).counter
            index.refresh(counter, lambda after, upto: self._vector_feed(scope, source, after, upto), width=width)
        return index

    def prepare(self, scope: Scope, source: SourceName) -> None:
        """Bring both indexes up to date now, so that no search has to wait."""
        self.words(scope, source)
        with self._engine.reading(scope) as rows:
            width = rows.rows(_WIDTH, source=source)
        if width:
            self.vectors(scope, source, int(width[0][0] or 0))

    @contextmanager
    def purging(self, scope: Scope, *, seconds: float) -> Iterator[Purge]:
        """Hold a scope's indexes while its rows are changed or removed; the function given takes them out first."""
        if scope.user != SHARED_USER:
            yield lambda source, keys: None
            return
        settle: list[Callable[[], None]] = []

        def purge(source: SourceName, keys: Sequence[int]) -> None:
            for index in self._pair(scope, source):
                with index.lock:
                    settle.append(index.purge(keys))

        with exclusive(self._folder, scope, seconds=seconds):
            yield purge
            for done in settle:
                done()

    def drop(self, scope: Scope, source: SourceName) -> None:
        """Remove a source's indexes; whoever calls holds them through `purging`."""
        pair = self._pair(scope, source)
        for index in pair:
            with index.lock:
                index.drop()
        if pair[0].folder.parent.exists():
            pair[0].folder.parent.rmdir()

    def close(self) -> None:
        """Let go of open files; a later search opens them again."""
        with self._lock:
            self._known.clear()

    def states(self, scope: Scope) -> tuple[IndexState, ...]:
        """How the indexes of each source of a scope stand."""
        states = []
        with self._engine.reading(scope) as rows:
            sources = self.sources(rows)
        for source in sources:
            place = self.place(scope, source)
            words, vectors = (
                (manifest := index.manifest()) is not None and manifest.counter == place.counter
                if index.folder.exists()
                else None
                for index in self._pair(scope, source)
            )
            states.append(IndexState(source, place.live, words, vectors))
        return tuple(states)

    def _pair(self, scope: Scope, source: SourceName) -> tuple[WordIndex, VectorIndex]:
        store = self._store
        with self._lock:
            return self._known.setdefault(
                (scope.tenant, source),
                (
                    WordIndex(sidecar_folder(self._folder, scope, source, "words"), store),
                    VectorIndex(sidecar_folder(self._folder, scope, source, "vectors"), store),
                ),
            )

    def _word_feed(self, scope: Scope, source: SourceName, after: int, upto: int) -> Iterator[tuple[int, str]]:
        return ((key, str(tokens)) for key, tokens in self._feed(_WORD_FEED, scope, source, after, upto))

    def _vector_feed(self, scope: Scope, source: SourceName, after: int, upto: int) -> Iterator[tuple[int, bytes]]:
        for key, vector in self._feed(_VECTOR_FEED, scope, source, after, upto):
            if isinstance(vector, bytes):
                yield key, vector

    def _feed(self, sql: str, scope: Scope, source: SourceName, after: int, upto: int) -> Iterator[tuple[int, Cell]]:
        last = 2**62  # past every row of the change `after` itself
        while True:
            with self._engine.reading(scope) as rows:
                page = rows.rows(sql, source=source, after=after, last=last, upto=upto)
            for key, changed, content in page:
                last, after = int(key or 0), int(changed or 0)
                yield last, content
            if len(page) < _PAGE:
                return
