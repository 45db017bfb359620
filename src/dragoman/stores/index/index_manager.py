"""The indexes of a store's shared sources: updated before each search, purged before rows are deleted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeAlias

from dragoman.core.errors import StoreLockedError
from dragoman.core.private_files import tighten_tree
from dragoman.core.values import SHARED_USER, Scope, SourceName
from dragoman.stores.index.feed import VECTORS, WORDS, Feed, T
from dragoman.stores.index.files import exclusive, sidecar_folder
from dragoman.stores.index.open_shards import P
from dragoman.stores.index.shards import IndexManifest, RowSpan
from dragoman.stores.index.sidecar import Sidecar
from dragoman.stores.index.vector_index import VectorIndex, VectorPart, VectorView
from dragoman.stores.index.word_index import WordIndex, WordPart, Words

if TYPE_CHECKING:
    from dragoman.stores.engine import Engine, ScopedRows

Purge: TypeAlias = Callable[[SourceName, Sequence[int]], None]
Progress: TypeAlias = Callable[[str, int, int], None]
"""Callback with the kind of index (words or vectors), the shards built, and the shards in all."""

_PATIENCE = 600.0  # seconds that a search waits for another process to build the index
_ROUNDS = 10  # attempts of a build that fails because rows were removed meanwhile

_PLACE = """SELECT counter, live, length, encoder, encoding FROM places
    WHERE tenant = :tenant AND user = :user AND source = :source"""
_PLACES = "SELECT source FROM places WHERE tenant = :tenant AND user = :user ORDER BY source"
_WIDTH = """SELECT length(vector) / 4 FROM vectors
    WHERE tenant = :tenant AND user = :user AND source = :source ORDER BY seq DESC LIMIT 1"""


class SourceState(NamedTuple):
    """The state of one source in one scope: its last change, its live rows and their tokens, and its vectors' encoder.

    `encoding` is `clear` or `fill` while another encoder's vectors are replaced (`stores.encoder_change`).
    """

    counter: int = 0
    live: int = 0
    length: int = 0
    encoder: str = ""
    encoding: str = ""

    def has_vectors_of(self, encoder: str) -> bool:
        """Whether its vectors may be compared with those of an encoder; an unknown one may be any."""
        if not encoder or not self.encoder:
            return True
        return self.encoder == encoder and self.encoding != "clear"


@dataclass(frozen=True, slots=True)
class IndexState:
    """The state of a source's index compared with the store; None for an index that has not been needed yet."""

    source: SourceName
    rows: int
    words_current: bool | None
    vectors_current: bool | None
    problems: tuple[str, ...] = ()
    word_shards: int = 0
    vector_shards: int = 0

    @property
    def is_indexed(self) -> bool:
        """Whether either index has files."""
        return self.words_current is not None or self.vectors_current is not None


@dataclass(frozen=True, slots=True)
class SourceIndex(Generic[T, P]):
    """One of a source's two indexes, with the feed of its rows."""

    scope: Scope
    source: SourceName
    index: Sidecar[T, P]
    feed: Feed[T]
    width: int = 0


class IndexManager:
    """Two indexes, words and vectors, for each shared source that is large enough."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self._engine = engine
        self._folder = folder
        self._lock = Lock()
        self._known: dict[tuple[str, SourceName], tuple[WordIndex, VectorIndex]] = {}

    @cached_property
    def _store(self) -> str:
        return self._engine.identity()

    def place(self, scope: Scope, source: SourceName) -> SourceState:
        """The state of a source as last committed by anyone."""
        with self._engine.reading(scope) as rows:
            cells = rows.rows(_PLACE, source=source)
        if not cells:
            return SourceState()
        counter, live, length, encoder, encoding = cells[0]
        return SourceState(int(counter or 0), int(live or 0), int(length or 0), str(encoder), str(encoding))

    @staticmethod
    def sources(rows: ScopedRows) -> list[SourceName]:
        """Every source that has rows in a scope."""
        return [str(cells[0]) for cells in rows.rows(_PLACES)]

    def words(self, scope: Scope, source: SourceName) -> Words:
        """The word index of a source, up to date."""
        return Words(self._fresh(self._word_side(scope, source)))

    def vectors(self, scope: Scope, source: SourceName, width: int) -> VectorView:
        """The vector index of a source for vectors of `width` dimensions, up to date."""
        return VectorView(self._fresh(self._vector_side(scope, source, width)))

    def prepare(self, scope: Scope, source: SourceName) -> None:
        """Update both indexes now instead of in the next search."""
        self._fresh(self._word_side(scope, source), ready=True)
        if width := self._width(scope, source):
            self._fresh(self._vector_side(scope, source, width), ready=True)

    def rebuild(self, scope: Scope, source: SourceName, progress: Progress | None = None) -> None:
        """Rebuild both indexes from the store; searches use the old ones until then."""
        self._replace(self._word_side(scope, source), progress)
        if width := self._width(scope, source):
            self._replace(self._vector_side(scope, source, width), progress)
        self.prepare(scope, source)

    def _fresh(self, side: SourceIndex[T, P], *, ready: bool = False) -> tuple[P, ...]:
        """The open shards, up to date; long builds run without blocking writers."""
        parts = side.index.parts(self.place(side.scope, side.source).counter, side.width)
        if parts is not None and not ready:
            return parts
        for _ in range(_ROUNDS):
            missing, parts = self._refreshed(side, ready=ready)
            if parts is not None:
                return parts
            with self._building(side):
                # The previous holder of the lock may have built the missing shards.
                missing, parts = self._refreshed(side, ready=ready)
                if parts is not None:
                    return parts
                workers = min(4, os.cpu_count() or 1)
                held = partial(self._holding, side.scope)
                side.index.build(side.feed, missing, width=side.width, workers=workers, held=held)
        raise self._never_done()

    def _refreshed(self, side: SourceIndex[T, P], *, ready: bool) -> tuple[list[RowSpan], tuple[P, ...] | None]:
        # The tenant's lock comes before an index's own, here as in `purging`: the other order could deadlock.
        with self._holding(side.scope), side.index.lock:
            self._drop_outdated(side)
            missing = side.index.refresh(side.feed, width=side.width, save=ready)
            return missing, None if missing else side.index.opened()

    def _replace(self, side: SourceIndex[T, P], progress: Progress | None = None) -> None:
        index, feed, held = side.index, side.feed, partial(self._holding, side.scope)
        report = partial(progress, index.folder.name) if progress is not None else None
        with self._building(side):
            with held():
                index.discard_drafts()
            spans = feed.spans(0, index.capacity)
            for _ in range(_ROUNDS):
                index.build(feed, spans, width=side.width, held=held, progress=report)
                with held(), index.lock:
                    if index.swap(spans, width=side.width, counter=feed.counter()):
                        return
        raise self._never_done()

    def _never_done(self) -> StoreLockedError:
        return StoreLockedError(
            f"The search index in '{self._folder}' cannot be built: rows are removed faster than it can be read.",
            remedy="Try again when fewer rows are being removed.",
        )

    def _holding(self, scope: Scope) -> AbstractContextManager[None]:
        return exclusive(self._folder, scope, seconds=_PATIENCE)

    def _building(self, side: SourceIndex[T, P]) -> AbstractContextManager[None]:
        building = f"{side.source}/{side.index.folder.name}"
        return exclusive(self._folder, side.scope, seconds=_PATIENCE, building=building)

    def _drop_outdated(self, side: SourceIndex[T, P]) -> None:
        """Drop shards whose rows another machine removed: a removal purges only the files of its own machine.

        Does nothing by default: processes that share an SQLite file share the index folder too.
        """

    def _width(self, scope: Scope, source: SourceName) -> int:
        with self._engine.reading(scope) as rows:
            width = rows.rows(_WIDTH, source=source)
        return int(width[0][0] or 0) if width else 0

    @contextmanager
    def purging(self, scope: Scope, *, seconds: float) -> Iterator[Purge]:
        """Lock a scope's indexes while its rows change; the yielded function removes rows from them first."""
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
        """Delete a source's indexes; the caller holds their lock through `purging`."""
        pair = self._pair(scope, source)
        for index in pair:
            with index.lock:
                index.drop()
        if pair[0].folder.parent.exists():
            shutil.rmtree(pair[0].folder.parent)

    def drop_vectors(self, scope: Scope, source: SourceName) -> None:
        """Delete a source's vector index; the next search by vectors builds it anew."""
        index = self._pair(scope, source)[1]
        with self._holding(scope), index.lock:
            index.drop()

    def close(self) -> None:
        """Close the files; a later search opens them again."""
        with self._lock:
            self._known.clear()

    def states(self, scope: Scope) -> tuple[IndexState, ...]:
        """The state of the indexes of each source of a scope."""
        states = []
        with self._engine.reading(scope) as rows:
            sources = self.sources(rows)
        for source in sources:
            place = self.place(scope, source)
            pair = self._pair(scope, source)
            words, vectors = (_is_current(index.manifest(), place) if index.folder.exists() else None for index in pair)
            problems = tuple(problem for index in pair for problem in index.problems())
            shards = [_built(index.manifest()) for index in pair]
            states.append(IndexState(source, place.live, words, vectors, problems, *shards))
        return tuple(states)

    def _pair(self, scope: Scope, source: SourceName) -> tuple[WordIndex, VectorIndex]:
        store, key = self._store, (scope.tenant, source)
        with self._lock:
            if key not in self._known:
                words, vectors = (sidecar_folder(self._folder, scope, source, kind) for kind in ("words", "vectors"))
                tighten_tree(words.parent)  # an older version left the files readable for everyone
                self._known[key] = (WordIndex(words, store), VectorIndex(vectors, store))
            return self._known[key]

    def _word_side(self, scope: Scope, source: SourceName) -> SourceIndex[str, WordPart]:
        return SourceIndex(scope, source, self._pair(scope, source)[0], Feed(self._engine, scope, source, WORDS))

    def _vector_side(self, scope: Scope, source: SourceName, width: int) -> SourceIndex[bytes, VectorPart]:
        return SourceIndex(
            scope, source, self._pair(scope, source)[1], Feed(self._engine, scope, source, VECTORS), width
        )


def _is_current(manifest: IndexManifest | None, place: SourceState) -> bool:
    return manifest is not None and manifest.counter == place.counter and not manifest.missing()


def _built(manifest: IndexManifest | None) -> int:
    return sum(bool(shard.name) for shard in manifest.shards) if manifest is not None else 0
