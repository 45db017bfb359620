"""The sidecar index of a shared source: files beside the store that can be rebuilt from it at any time.

It lies in shards of consecutive rows (docs/corpora.md). A manifest says up to which change of its source they are
good. Behind the store: only what changed is added. A shard that is missing, damaged or half written is built anew from
its own rows, the others stay. Where rows are removed, the index lets go of their bytes before the store commits, and
their shard counts as missing until it has.
"""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex
from threading import RLock
from typing import Generic, Protocol, TypeVar

from dragoman.core.errors import StoreError, StoreLockedError
from dragoman.core.values import Scope, SourceName
from dragoman.stores.feed import Feed, T
from dragoman.stores.shards import (
    DAMAGE,
    Drafts,
    Manifest,
    Shard,
    Span,
    is_sound,
    logger,
    read_manifest,
    sum_of,
    sweep,
    write_manifest,
)


class Part(Protocol):
    """The opened files of one shard; `last` is the highest key, `length` the number of tokens in it."""

    @property
    def last(self) -> int: ...

    @property
    def length(self) -> int: ...

    def __len__(self) -> int: ...


P = TypeVar("P", bound=Part)


def index_name(*parts: str) -> str:
    """A file name that any tenant or source can have."""
    return blake2b("\x00".join(parts).encode(), digest_size=12).hexdigest()


@contextmanager
def exclusive(folder: Path, scope: Scope, *, seconds: float, building: str = "") -> Iterator[None]:
    """Hold a tenant's index, or the building of one, against other threads and processes; a killed holder lets go."""
    import apsw

    folder.mkdir(parents=True, exist_ok=True)
    name = index_name(scope.tenant, building) if building else index_name(scope.tenant)
    lock = apsw.Connection(str(folder / f"{name}.lock"))
    try:
        lock.set_busy_timeout(round(seconds * 1000))
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except apsw.BusyError as error:
            raise StoreLockedError(
                f"The search index in '{folder}' has been busy for {seconds:g} s: it is being rebuilt.",
                remedy="Try again when that is done.",
            ) from error
        yield
    finally:
        lock.close()


class Sidecar(ABC, Generic[T, P]):
    """One index of one source; whoever refreshes or purges it holds the tenant's lock, whoever builds the other."""

    capacity: int
    """How many rows a shard takes."""
    inline: int
    """How many rows are added, or built into shards, while the tenant's lock is held; more are built beside."""
    lag: int
    """How many added rows may be in memory only: whoever opens the files adds them again."""

    def __init__(self, folder: Path, store: str) -> None:
        self.folder = folder
        self.lock = RLock()
        self._store = store
        self._drafts = Drafts(folder, store)
        self._opened: dict[Shard, P] = {}
        # By where a shard begins: up to which change the opened one is good, and how many rows are in memory only.
        self._reached: dict[int, int] = {}
        self._unsaved: dict[int, int] = {}
        self._current: tuple[int, int, tuple[P, ...]] | None = None

    def parts(self, counter: int, width: int) -> tuple[P, ...] | None:
        """What to search, where it holds the store's rows as they are at a counter."""
        current = self._current
        return current[2] if current is not None and current[:2] == (counter, width) else None

    def opened(self) -> tuple[P, ...]:
        """What to search after a refresh that found nothing missing."""
        assert self._current is not None
        return self._current[2]

    def manifest(self) -> Manifest | None:
        """What the files hold, or None where there are none to rely on."""
        return read_manifest(self.folder, self._store)

    def refresh(self, feed: Feed[T], *, width: int = 0, save: bool = False) -> list[Span]:
        """Open the files and bring them up to date with the store; or the spans that have to be built first."""
        counter = feed.counter()
        manifest = self.manifest()
        # A manifest ahead of the store means that the store was put back to an older state.
        if manifest is None or manifest.width != width or manifest.newest > counter:
            self._forget_files()
            manifest = self._written(Manifest(self._store, counter, (Shard(0),), width))
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
    ) -> None:
        """Build spans as drafts, beside whatever is in use; `held` takes the tenant's lock, a refresh adopts them."""
        counter = feed.counter()
        wanted = [span for span in spans if self._drafts.finished(span, width, counter) is None]
        with ThreadPoolExecutor(max(1, min(workers, len(wanted)))) as pool:
            for done in [pool.submit(self._draft, span, feed, width, held) for span in wanted]:
                done.result()

    def swap(self, spans: Sequence[Span], *, width: int, counter: int) -> bool:
        """Put drafts of all rows in the place of the index in use, unless one was spoilt meanwhile."""
        shards = [self._drafts.finished(span, width, counter) for span in spans]
        whole = tuple(shard for shard in shards if shard is not None)
        if len(whole) < len(spans):
            return False
        for shard in whole:
            self._drafts.adopt(shard, self.folder)
        self._forget()
        manifest = Manifest(self._store, min(shard.counter for shard in whole), whole, width)
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

    def _with_room(self, manifest: Manifest, feed: Feed[T]) -> Manifest:
        """Cut many new rows into shards of their own, together with those of a last one that is half empty."""
        tail = manifest.shards[-1]
        kept: tuple[Shard, ...] = manifest.shards[:-1]
        after: int = tail.after
        if tail.name:
            since = max(manifest.counter, tail.counter, self._reached.get(after, 0) if tail in self._opened else 0)
            if feed.backlog(since, self.inline + 1) <= self.inline:
                return manifest
            self._opened.pop(tail, None)  # with what was in memory only: those rows go into the shards to be built
            if tail.rows > self.capacity // 2:
                kept, after = manifest.shards, tail.last
        shards = (*kept, *(Shard(span.after) for span in feed.spans(after, self.capacity)))
        return manifest if shards == manifest.shards else self._written(replace(manifest, shards=shards))

    def _adopting(self, manifest: Manifest, counter: int) -> Manifest:
        """Take over the finished drafts of what is missing."""
        adopted = manifest
        for span in manifest.missing():
            shard = self._drafts.finished(span, manifest.width, counter)
            if shard is not None:
                self._drafts.adopt(shard, self.folder)
                adopted = adopted.with_shard(shard)
        return manifest if adopted == manifest else self._written(adopted)

    def _opening(self, manifest: Manifest) -> Manifest:
        """Open what is not open yet; a damaged shard counts as missing from here on."""
        opened: dict[Shard, P] = {}
        damaged: list[int] = []
        for place, shard in enumerate(manifest.shards):
            if shard in self._opened:
                opened[shard] = self._opened[shard]
            elif shard.name:
                try:
                    if not is_sound(self.folder, shard):
                        raise ValueError("its sum differs")
                    opened[shard] = self._load(self.folder / shard.name, shard)
                except DAMAGE as error:
                    self._tell_damage(shard, error)
                    damaged.append(place)
                self._reached[shard.after] = max(manifest.counter, shard.counter)
                self._unsaved.pop(shard.after, None)
        self._opened = opened
        if damaged:
            manifest = self._written(manifest.void(damaged))
            sweep(self.folder, manifest)
        return manifest

    def _built_here(self, manifest: Manifest, feed: Feed[T]) -> bool:
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
            shard = Shard(span.after, token_hex(8), counter, rows, last, length, sum_of(path))
            self._drafts.finish(span, shard, width)
        except DAMAGE as error:
            if self._drafts.is_begun(span):
                raise StoreError(
                    f"The search index in '{self.folder}' could not be built: {error}.",
                    remedy="Every row is in the store, nothing is lost: mend the cause and search again.",
                ) from error
            logger.info("A draft in %s was given up, as rows of it were removed meanwhile.", self.folder)

    def _catch_up(self, manifest: Manifest, counter: int, feed: Feed[T], *, save: bool) -> Manifest:
        """Add what changed, each row to its shard; shards that cannot take theirs come back as missing."""
        since, size = min(self._reached[shard.after] for shard in manifest.shards), len(manifest.shards)
        if since < counter:
            groups: dict[int, list[tuple[int, T]]] = {}
            for key, changed, content in feed.changed(since, counter):
                place = manifest.place_of(key)
                if changed > self._reached[manifest.shards[place].after]:
                    groups.setdefault(place, []).append((key, content))
            full = [
                place for place, rows in groups.items() if place < size - 1 and not self._added(manifest, place, rows)
            ]
            manifest = self._fill(manifest, sorted(groups.get(size - 1, ()), key=lambda row: row[0]), full)
            if full:
                return self._written(manifest.void(full))
            self._reached = {shard.after: counter for shard in manifest.shards}
        waiting = sum(self._unsaved.values())
        # A shard that was begun, and the counter where nothing waits, must be known to whoever reads the manifest.
        if waiting > self.lag or len(manifest.shards) > size or (waiting and save):
            manifest = self._saved(replace(manifest, counter=counter))
        elif not waiting and manifest.counter < counter:
            manifest = self._written(replace(manifest, counter=counter))
        self._opened = {shard: self._opened[shard] for shard in manifest.shards}
        self._current = (counter, manifest.width, tuple(self._opened.values()))
        return manifest

    def _fill(self, manifest: Manifest, rows: list[tuple[int, T]], full: list[int]) -> Manifest:
        """Add rows to the last shard, and to as many after it as they need."""
        while rows:
            shard = manifest.shards[-1]
            room = self.capacity - len(self._opened[shard])
            if room > 0:
                if not self._added(manifest, len(manifest.shards) - 1, rows[:room]):
                    full.append(len(manifest.shards) - 1)
                    return manifest
                rows = rows[room:]
                continue
            begun = Shard(rows[0][0] - 1, token_hex(8), shard.counter)
            path = self.folder / begun.name
            self._make(path, (), manifest.width)
            begun = replace(begun, sum=sum_of(path))
            manifest = replace(manifest, shards=(*manifest.shards, begun))
            self._opened[begun] = self._load(path, begun)
            self._reached[begun.after] = self._reached[shard.after]
        return manifest

    def _added(self, manifest: Manifest, place: int, rows: Sequence[tuple[int, T]]) -> bool:
        shard = manifest.shards[place]
        part = self._add(self._opened[shard], rows, self.folder / shard.name)
        if part is None:
            return False
        self._opened[shard] = part
        self._unsaved[shard.after] = self._unsaved.get(shard.after, 0) + len(rows)
        return True

    def _saved(self, manifest: Manifest) -> Manifest:
        """Write what is in memory only; the manifest last."""
        for shard in manifest.shards:
            if self._unsaved.get(shard.after):
                part = self._opened.pop(shard)
                name = self._write(part, shard.name)
                saved = Shard(
                    shard.after, name, manifest.counter, len(part), part.last, part.length, sum_of(self.folder / name)
                )
                manifest = manifest.with_shard(saved)
                self._opened[saved] = part
        self._unsaved.clear()
        sweep(self.folder, self._written(manifest))
        return manifest

    def _without(self, shard: Shard, keys: Sequence[int]) -> Shard:
        """A shard without some rows, written under another name; or one to be built, where they cannot be erased."""
        part, counter = self._opened.pop(shard, None), shard.counter
        if part is not None:
            counter = max(counter, self._reached[shard.after])
        elif shard.name and is_sound(self.folder, shard):
            part = self._load(self.folder / shard.name, shard)
        erased = self._erase(part, keys, self.folder / shard.name) if part is not None else None
        if erased is None:
            return Shard(shard.after)
        name = self._write(erased, shard.name)
        # What was in memory only lies in the file now.
        return replace(
            shard, name=name, counter=counter, rows=len(erased), last=erased.last, sum=sum_of(self.folder / name)
        )

    def _written(self, manifest: Manifest) -> Manifest:
        write_manifest(self.folder, manifest)
        return manifest

    def _tell_damage(self, shard: Shard, error: BaseException) -> None:
        logger.warning(
            "The shard after row %d of the index in %s is damaged and will be rebuilt from the store: %s",
            shard.after,
            self.folder,
            type(error).__name__,
        )

    def _forget(self) -> None:
        self._current = None
        self._opened, self._reached, self._unsaved = {}, {}, {}

    def _forget_files(self) -> None:
        self._forget()
        if self.folder.exists():
            self._drafts.clear()
            shutil.rmtree(self.folder)

    @abstractmethod
    def _make(self, path: Path, rows: Iterable[tuple[int, T]], width: int) -> tuple[int, int, int]:
        """Write the files of a new shard: the number of its rows, the highest key, the number of tokens."""

    @abstractmethod
    def _load(self, path: Path, shard: Shard) -> P:
        """Open the files of a shard."""

    @abstractmethod
    def _add(self, part: P, rows: Sequence[tuple[int, T]], path: Path) -> P | None:
        """The shard with more rows, in memory or in its files; None where it cannot take them."""

    @abstractmethod
    def _write(self, part: P, name: str) -> str:
        """Write what was added or erased; the name under which the shard then lies."""

    @abstractmethod
    def _erase(self, part: P, keys: Sequence[int], path: Path) -> P | None:
        """The shard without these rows; None where only building it anew leaves no byte of them."""


def sidecar_folder(root: Path, scope: Scope, source: SourceName, kind: str) -> Path:
    """Where one index of a source lies."""
    return root / index_name(scope.tenant, source) / kind
