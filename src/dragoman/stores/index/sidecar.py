"""The sidecar index of a shared source: files beside the store that can be rebuilt from it at any time.

It lies in shards of consecutive rows (docs/corpora.md). A manifest says up to which change of its source they are
good. Behind the store: only what changed is added. A shard that is missing, damaged or half written is built anew from
its own rows, the others stay. Where rows are removed, the index lets go of their bytes before the store commits, and
their shard counts as missing until it has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from secrets import token_hex

from dragoman.core.errors import StoreError
from dragoman.stores.index.feed import Feed, T
from dragoman.stores.index.open_shards import OpenShards, P
from dragoman.stores.index.shards import (
    DAMAGE,
    IndexManifest,
    IndexShard,
    Span,
    is_sound,
    logger,
    sum_of,
    sweep,
    write_manifest,
)


class Sidecar(OpenShards[T, P]):
    """One index of one source; whoever refreshes or purges it holds the tenant's lock, whoever builds the other."""

    def refresh(self, feed: Feed[T], *, width: int = 0, save: bool = False) -> list[Span]:
        """Open the files and bring them up to date with the store; or the spans that have to be built first."""
        counter = feed.counter()
        manifest = self.manifest()
        # A manifest ahead of the store means that the store was put back to an older state.
        if manifest is None or manifest.width != width or manifest.newest > counter:
            self._forget_files()
            manifest = self._written(IndexManifest(self._store, counter, (IndexShard(0),), width))
        manifest = self._opening(self._with_room(self._adopting(manifest, counter), feed))
        if manifest.missing() and self._built_here(manifest, feed):
            manifest = self._opening(self._adopting(manifest, counter))
        if not manifest.missing():
            manifest = self._catch_up(manifest, counter, feed, save=save)
        return manifest.missing()

    def build(
        self,
        feed: Feed[T],
        spans: Sequence[Span],
        *,
        width: int = 0,
        workers: int = 1,
        held: Callable[[], AbstractContextManager[None]] = nullcontext,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Build spans as drafts, beside whatever is in use; `held` takes the tenant's lock, a refresh adopts them."""
        counter = feed.counter()
        wanted = [span for span in spans if self._drafts.finished(span, width, counter) is None]
        there = len(spans) - len(wanted)
        with ThreadPoolExecutor(max(1, min(workers, len(wanted)))) as pool:
            for i, done in enumerate([pool.submit(self._draft, span, feed, width, held) for span in wanted]):
                if progress is not None:
                    progress(there + i, len(spans))
                done.result()
        if progress is not None:
            progress(len(spans), len(spans))

    def swap(self, spans: Sequence[Span], *, width: int, counter: int) -> bool:
        """Put drafts of all rows in the place of the index in use, unless one was spoilt meanwhile."""
        shards = [self._drafts.finished(span, width, counter) for span in spans]
        whole = tuple(shard for shard in shards if shard is not None)
        if len(whole) < len(spans):
            return False
        for shard in whole:
            self._drafts.adopt(shard, self.folder)
        self._forget()
        manifest = IndexManifest(self._store, min(shard.counter for shard in whole), whole, width)
        sweep(self.folder, self._written(manifest))
        return True

    def purge(self, keys: Sequence[int]) -> Callable[[], None]:
        """Let go of rows before the store does; call the answer once the store has."""
        self._drafts.spoil(keys)
        manifest = self.manifest()
        if manifest is None:
            self._forget_files()
            return lambda: None
        self._current = None
        placed: dict[int, list[int]] = {}
        for key in keys:
            placed.setdefault(manifest.place_of(key), []).append(key)
        purged = self._written(manifest.void(placed))
        for place, mine in placed.items():
            try:
                purged = purged.with_shard(self._without(manifest.shards[place], mine))
            except DAMAGE as error:
                self._tell_damage(manifest.shards[place], error)
        sweep(self.folder, purged)
        return lambda: write_manifest(self.folder, purged)

    def drop(self) -> None:
        """Remove the files; the next refresh makes them anew."""
        self._forget_files()

    def discard_drafts(self) -> None:
        """Begin anew with what is built beside."""
        self._drafts.clear()

    def recount(self, feed: Feed[T], live: int) -> None:
        """Give up the shards that hold other rows than the store: some were removed or changed on another machine."""
        manifest = self.manifest()
        if manifest is None:
            return
        tail, touched, newer = manifest.shards[-1], set(), 0
        for key, changed, _ in feed.changed(manifest.counter, feed.counter()):
            place = manifest.place_of(key)
            if tail.name and key > tail.last:
                newer += 1
            elif changed > manifest.shards[place].counter:
                touched.add(place)
        voided = manifest.void(touched)
        held = sum(shard.rows for shard in voided.shards) + (newer if voided.shards[-1].name else 0)
        if held + sum(map(feed.count, voided.missing())) != live:
            named = (place for place, shard in enumerate(voided.shards) if shard.name)
            touched |= {place for place in named if feed.count(voided.held(place)) != voided.shards[place].rows}
        if touched:
            self._current = None
            sweep(self.folder, self._written(manifest.void(touched)))

    def problems(self) -> tuple[str, ...]:
        """What is wrong with the files, which are read whole."""
        manifest = self.manifest()
        shards = manifest.shards if manifest is not None else ()
        bad = [shard for shard in shards if shard.name and not is_sound(self.folder, shard)]
        kind = self.folder.name
        return tuple(f"the shard of {kind} after row {shard.after} is damaged ({shard.rows:,} rows)" for shard in bad)

    def _with_room(self, manifest: IndexManifest, feed: Feed[T]) -> IndexManifest:
        """Cut many new rows into shards of their own, together with those of a last one that is half empty."""
        tail = manifest.shards[-1]
        kept: tuple[IndexShard, ...] = manifest.shards[:-1]
        after: int = tail.after
        if tail.name:
            since = max(manifest.counter, tail.counter, self._reached.get(after, 0) if tail in self._opened else 0)
            if feed.backlog(since, self.inline + 1) <= self.inline:
                return manifest
            self._opened.pop(tail, None)  # with what was in memory only: those rows go into the shards to be built
            if tail.rows > self.capacity // 2:
                kept, after = manifest.shards, tail.last
        shards = (*kept, *(IndexShard(span.after) for span in feed.spans(after, self.capacity)))
        return manifest if shards == manifest.shards else self._written(replace(manifest, shards=shards))

    def _adopting(self, manifest: IndexManifest, counter: int) -> IndexManifest:
        """Take over the finished drafts of what is missing."""
        adopted = manifest
        for span in manifest.missing():
            shard = self._drafts.finished(span, manifest.width, counter)
            if shard is not None:
                self._drafts.adopt(shard, self.folder)
                adopted = adopted.with_shard(shard)
        return manifest if adopted == manifest else self._written(adopted)

    def _built_here(self, manifest: IndexManifest, feed: Feed[T]) -> bool:
        """Build what is missing at once where that is little."""
        missing, rows = manifest.missing(), 0
        for span in missing:
            rows += feed.count(span)
            if rows > self.inline:
                return False
        for span in missing:
            self._draft(span, feed, manifest.width)
        return True

    def _draft(
        self, span: Span, feed: Feed[T], width: int, held: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> None:
        """Build one draft; it is given up where a row that it may hold was removed meanwhile."""
        # Begun under the lock: between two removals, so that each finds either no draft or one to discard.
        with held():
            counter = feed.counter()
            path = self._drafts.begin(span)
        try:
            rows, last, length = self._make(path, feed.within(span, counter), width)
            shard = IndexShard(span.after, token_hex(8), counter, rows, last, length, sum_of(path))
            self._drafts.finish(span, shard, width)
        except DAMAGE as error:
            if self._drafts.is_begun(span):
                raise StoreError(
                    f"The search index in '{self.folder}' could not be built: {error}.",
                    remedy="Every row is in the store, nothing is lost: mend the cause and search again.",
                ) from error
            logger.info("A draft in %s was given up, as rows of it were removed meanwhile.", self.folder)
