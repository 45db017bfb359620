"""The search index of a shared source: files beside the store that can be rebuilt from it at any time.

The index consists of shards of consecutive rows (docs/corpora.md). A manifest records the last change that they hold;
an update adds only later changes. A missing, damaged or half-written shard is rebuilt alone from its own rows. Before
the store commits a removal, the index erases the bytes of the rows; their shard counts as missing until the commit.
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
    RowSpan,
    is_sound,
    logger,
    sum_of,
    sweep,
    write_manifest,
)


class Sidecar(OpenShards[T, P]):
    """One index of one source. Refreshing and purging need the tenant's lock, building needs the build lock."""

    def refresh(self, feed: Feed[T], *, width: int = 0, save: bool = False) -> list[RowSpan]:
        """Open the files and update them from the store; return the spans that must be built first, if any."""
        counter = feed.counter()
        manifest = self.manifest()
        # A manifest that is ahead of the store means that an older store was restored.
        if manifest is None or manifest.width != width or manifest.newest > counter:
            self._forget_files()
            manifest = self._save(IndexManifest(self._store, counter, (IndexShard(0),), width))
        manifest = self._opening(self._with_room(self._adopting(manifest, counter), feed))
        if manifest.missing() and self._built_here(manifest, feed):
            manifest = self._opening(self._adopting(manifest, counter))
        if not manifest.missing():
            manifest = self._catch_up(manifest, counter, feed, save=save)
        return manifest.missing()

    def build(
        self,
        feed: Feed[T],
        spans: Sequence[RowSpan],
        *,
        width: int = 0,
        workers: int = 1,
        held: Callable[[], AbstractContextManager[None]] = nullcontext,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Build spans as drafts, which a refresh adopts; `held` takes the tenant's lock."""
        counter = feed.counter()
        missing = [span for span in spans if self._drafts.finished(span, width, counter) is None]
        there = len(spans) - len(missing)
        with ThreadPoolExecutor(max(1, min(workers, len(missing)))) as pool:
            for i, done in enumerate([pool.submit(self._draft, span, feed, width, held) for span in missing]):
                if progress is not None:
                    progress(there + i, len(spans))
                done.result()
        if progress is not None:
            progress(len(spans), len(spans))

    def swap(self, spans: Sequence[RowSpan], *, width: int, counter: int) -> bool:
        """Replace the index in use by drafts of all rows, unless one was discarded meanwhile."""
        shards = [self._drafts.finished(span, width, counter) for span in spans]
        whole = tuple(shard for shard in shards if shard is not None)
        if len(whole) < len(spans):
            return False
        for shard in whole:
            self._drafts.adopt(shard, self.folder)
        self._forget()
        manifest = IndexManifest(self._store, min(shard.counter for shard in whole), whole, width)
        sweep(self.folder, self._save(manifest))
        return True

    def purge(self, keys: Sequence[int]) -> Callable[[], None]:
        """Erase rows before the store deletes them; call the returned function after the store's commit."""
        self._drafts.spoil(keys)
        manifest = self.manifest()
        if manifest is None:
            self._forget_files()
            return lambda: None
        self._current = None
        placed: dict[int, list[int]] = {}
        for key in keys:
            placed.setdefault(manifest.place_of(key), []).append(key)
        purged = self._save(manifest.void(placed))
        for place, mine in placed.items():
            try:
                purged = purged.with_shard(self._without(manifest.shards[place], mine))
            except DAMAGE as error:
                self._tell_damage(manifest.shards[place], error)
        sweep(self.folder, purged)
        return lambda: write_manifest(self.folder, purged)

    def drop(self) -> None:
        """Delete the files; the next refresh rebuilds them."""
        self._forget_files()

    def discard_drafts(self) -> None:
        """Discard all drafts."""
        self._drafts.clear()

    def recount(self, feed: Feed[T], live: int) -> None:
        """Drop shards whose rows differ from the store, since another machine removed or changed some."""
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
        row_count = sum(shard.rows for shard in voided.shards) + (newer if voided.shards[-1].name else 0)
        if row_count + sum(map(feed.count, voided.missing())) != live:
            places = (place for place, shard in enumerate(voided.shards) if shard.name)
            touched |= {place for place in places if feed.count(voided.held(place)) != voided.shards[place].rows}
        if touched:
            self._current = None
            sweep(self.folder, self._save(manifest.void(touched)))

    def problems(self) -> tuple[str, ...]:
        """Damaged shards, found by reading all files."""
        manifest = self.manifest()
        shards = manifest.shards if manifest is not None else ()
        bad = [shard for shard in shards if shard.name and not is_sound(self.folder, shard)]
        kind = self.folder.name
        return tuple(f"the shard of {kind} after row {shard.after} is damaged ({shard.rows:,} rows)" for shard in bad)

    def _with_room(self, manifest: IndexManifest, feed: Feed[T]) -> IndexManifest:
        """Plan new shards for many new rows; a last shard that is half empty is rebuilt together with them."""
        tail = manifest.shards[-1]
        kept: tuple[IndexShard, ...] = manifest.shards[:-1]
        after: int = tail.after
        if tail.name:
            since = max(manifest.counter, tail.counter, self._reached.get(after, 0) if tail in self._opened else 0)
            if feed.backlog(since, self.inline + 1) <= self.inline:
                return manifest
            self._opened.pop(tail, None)  # unsaved rows go too: the new shards will hold them
            if tail.rows > self.capacity // 2:
                kept, after = manifest.shards, tail.last
        shards = (*kept, *(IndexShard(span.after) for span in feed.spans(after, self.capacity)))
        return manifest if shards == manifest.shards else self._save(replace(manifest, shards=shards))

    def _adopting(self, manifest: IndexManifest, counter: int) -> IndexManifest:
        """Adopt finished drafts of missing shards."""
        adopted = manifest
        for span in manifest.missing():
            shard = self._drafts.finished(span, manifest.width, counter)
            if shard is not None:
                self._drafts.adopt(shard, self.folder)
                adopted = adopted.with_shard(shard)
        return manifest if adopted == manifest else self._save(adopted)

    def _built_here(self, manifest: IndexManifest, feed: Feed[T]) -> bool:
        """Build missing shards at once if they have few rows; return whether it did."""
        missing, rows = manifest.missing(), 0
        for span in missing:
            rows += feed.count(span)
            if rows > self.inline:
                return False
        for span in missing:
            self._draft(span, feed, manifest.width)
        return True

    def _draft(
        self, span: RowSpan, feed: Feed[T], width: int, held: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> None:
        """Build one draft; abandon it if a row that it may hold was removed meanwhile."""
        # Under the lock, hence between two removals: each finds either no draft, or one to discard.
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
