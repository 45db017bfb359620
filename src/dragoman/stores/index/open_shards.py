"""The open shards of an index in this process: load, extend, save, and remove rows."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from threading import RLock
from typing import Generic, Protocol, TypeVar

from dragoman.stores.index.feed import Feed, T
from dragoman.stores.index.shards import (
    DAMAGE,
    Drafts,
    IndexManifest,
    IndexShard,
    is_sound,
    logger,
    read_manifest,
    sum_of,
    sweep,
    write_manifest,
)


class OpenShard(Protocol):
    """The opened files of one shard; `last` is the highest key, `length` the number of tokens in it."""

    @property
    def last(self) -> int: ...

    @property
    def length(self) -> int: ...

    def __len__(self) -> int: ...


P = TypeVar("P", bound=OpenShard)


class OpenShards(ABC, Generic[T, P]):
    """Open shards, with the change counter each has reached and its unsaved rows; subclasses define the file format."""

    capacity: int
    """The most rows of a shard."""
    inline: int
    """The most rows that are added or built under the tenant's lock; larger builds run outside of it."""
    lag: int
    """The most unsaved rows: a process that opens the files adds them again."""

    def __init__(self, folder: Path, store: str) -> None:
        self.folder = folder
        self.lock = RLock()
        self._store = store
        self._drafts = Drafts(folder, store)
        self._opened: dict[IndexShard, P] = {}
        # By the start of a shard's span: the change counter it has reached, and the number of unsaved rows.
        self._reached: dict[int, int] = {}
        self._unsaved: dict[int, int] = {}
        self._current: tuple[int, int, tuple[P, ...]] | None = None

    def parts(self, counter: int, width: int) -> tuple[P, ...] | None:
        """The shards to search, if they are up to date with a change counter; else None."""
        current = self._current
        return current[2] if current is not None and current[:2] == (counter, width) else None

    def opened(self) -> tuple[P, ...]:
        """The shards to search after a refresh without missing shards."""
        assert self._current is not None
        return self._current[2]

    def manifest(self) -> IndexManifest | None:
        """The manifest of the files; None if it is missing, damaged or of another store."""
        return read_manifest(self.folder, self._store)

    def _opening(self, manifest: IndexManifest) -> IndexManifest:
        """Open the shards that are not open yet; mark damaged ones as missing."""
        opened: dict[IndexShard, P] = {}
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
            manifest = self._save(manifest.void(damaged))
            sweep(self.folder, manifest)
        return manifest

    def _catch_up(self, manifest: IndexManifest, counter: int, feed: Feed[T], *, save: bool) -> IndexManifest:
        """Add changed rows to their shards; mark shards that cannot take their rows as missing."""
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
                return self._save(manifest.void(full))
            self._reached = {shard.after: counter for shard in manifest.shards}
        waiting = sum(self._unsaved.values())
        # Other readers of the manifest need a new shard, and the counter if nothing is unsaved.
        if waiting > self.lag or len(manifest.shards) > size or (waiting and save):
            manifest = self._saved(replace(manifest, counter=counter))
        elif not waiting and manifest.counter < counter:
            manifest = self._save(replace(manifest, counter=counter))
        self._opened = {shard: self._opened[shard] for shard in manifest.shards}
        self._current = (counter, manifest.width, tuple(self._opened.values()))
        return manifest

    def _fill(self, manifest: IndexManifest, rows: list[tuple[int, T]], full: list[int]) -> IndexManifest:
        """Add rows to the last shard, and to new shards after it as needed."""
        while rows:
            shard = manifest.shards[-1]
            room = self.capacity - len(self._opened[shard])
            if room > 0:
                if not self._added(manifest, len(manifest.shards) - 1, rows[:room]):
                    full.append(len(manifest.shards) - 1)
                    return manifest
                rows = rows[room:]
                continue
            begun = IndexShard(rows[0][0] - 1, token_hex(8), shard.counter)
            path = self.folder / begun.name
            self._make(path, (), manifest.width)
            begun = replace(begun, sum=sum_of(path))
            manifest = replace(manifest, shards=(*manifest.shards, begun))
            self._opened[begun] = self._load(path, begun)
            self._reached[begun.after] = self._reached[shard.after]
        return manifest

    def _added(self, manifest: IndexManifest, place: int, rows: Sequence[tuple[int, T]]) -> bool:
        shard = manifest.shards[place]
        part = self._add(self._opened[shard], rows, self.folder / shard.name)
        if part is None:
            return False
        self._opened[shard] = part
        self._unsaved[shard.after] = self._unsaved.get(shard.after, 0) + len(rows)
        return True

    def _saved(self, manifest: IndexManifest) -> IndexManifest:
        """Save unsaved rows; write the manifest last."""
        for shard in manifest.shards:
            if self._unsaved.get(shard.after):
                part = self._opened.pop(shard)
                name = self._write(part, shard.name)
                saved = IndexShard(
                    shard.after, name, manifest.counter, len(part), part.last, part.length, sum_of(self.folder / name)
                )
                manifest = manifest.with_shard(saved)
                self._opened[saved] = part
        self._unsaved.clear()
        sweep(self.folder, self._save(manifest))
        return manifest

    def _without(self, shard: IndexShard, keys: Sequence[int]) -> IndexShard:
        """A copy of a shard without some rows; a missing shard, to be rebuilt, if they cannot be erased."""
        part, counter = self._opened.pop(shard, None), shard.counter
        if part is not None:
            counter = max(counter, self._reached[shard.after])
        elif shard.name and is_sound(self.folder, shard):
            part = self._load(self.folder / shard.name, shard)
        erased = self._erase(part, keys, self.folder / shard.name) if part is not None else None
        if erased is None:
            return IndexShard(shard.after)
        name = self._write(erased, shard.name)
        # The file now holds the unsaved rows too.
        return replace(
            shard, name=name, counter=counter, rows=len(erased), last=erased.last, sum=sum_of(self.folder / name)
        )

    def _save(self, manifest: IndexManifest) -> IndexManifest:
        write_manifest(self.folder, manifest)
        return manifest

    def _tell_damage(self, shard: IndexShard, error: BaseException) -> None:
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
        """Write the files of a new shard; return its number of rows, highest key and number of tokens."""

    @abstractmethod
    def _load(self, path: Path, shard: IndexShard) -> P:
        """Open the files of a shard."""

    @abstractmethod
    def _add(self, part: P, rows: Sequence[tuple[int, T]], path: Path) -> P | None:
        """The shard with more rows, in memory or in its files; None if it cannot take them."""

    @abstractmethod
    def _write(self, part: P, name: str) -> str:
        """Save added and erased rows; return the file name of the shard."""

    @abstractmethod
    def _erase(self, part: P, keys: Sequence[int], path: Path) -> P | None:
        """The shard without these rows; None if only a rebuild removes every byte of them."""
