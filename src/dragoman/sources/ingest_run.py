"""One run of an ingest: read changed files, compare them with the store, encode and write them, in order.

Workers, perhaps on other machines, read and encode ahead of the writes. So a file is compared with the future content
of the store: the run remembers the rows that it has yet to add or remove.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dragoman.core.errors import InputError
from dragoman.core.values import Passage, Scope, Source
from dragoman.core.workers import Shard, ShardJob, Workers
from dragoman.sources.files import Failure, FoundFiles, Listing, SourceFile, load, packages_of
from dragoman.sources.ingest_work import Loaded, MakeEncoder, Read, encoding, reading
from dragoman.sources.ledger import Entry, IngestLedger, Way, trusted_time

if TYPE_CHECKING:
    from dragoman.core.protocols import Encoder, FloatArray, Store


class Switch(Protocol):
    """Write passages, delete others by id and keep values, all or none; the number deleted. Stores may offer it."""

    def __call__(
        self,
        scope: Scope,
        passages: Sequence[Passage],
        vectors: FloatArray | None,
        *,
        remove: Sequence[str],
        notes: Mapping[str, str],
    ) -> int: ...


class NoRoomError(InputError):
    """A file has more passages than may still be added."""


@dataclass(slots=True)
class Counts:
    """Counts of the run so far."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    files: int = 0


@dataclass(frozen=True, slots=True)
class _Changed:
    """A file that differs from its ledger entry: its position in the run, and the fields of its new entry."""

    place: int
    file: SourceFile
    digest: str
    size: int
    modified: int


@dataclass(frozen=True, slots=True)
class _FileChange:
    """A file whose passages differ from the store's; `robbed` are deleted files whose ids it takes over."""

    file: SourceFile
    entry: Entry
    added: tuple[Passage, ...]
    changed: tuple[Passage, ...]
    stale: tuple[str, ...]
    robbed: tuple[str, ...]

    @property
    def writes(self) -> tuple[Passage, ...]:
        return self.added + self.changed


@dataclass(frozen=True, slots=True)
class _WriteBatch:
    """A batch of passages to encode and write; `group` are their files, `first` and `last` say whether it is the first
    and the last batch of these files."""

    queue: Sequence[tuple[Passage, _FileChange]]
    group: Sequence[_FileChange]
    first: bool
    last: bool


class IngestRun:
    """Collects changed files until a batch is full, then has it encoded and writes it."""

    def __init__(
        self,
        store: Store,
        source: Source,
        *,
        scope: Scope,
        batch: int,
        base: Path,
        room: int | None = None,
        way: Way = "ingested",
        retry: bool = True,
    ) -> None:
        self._store, self._source, self._scope = store, source, scope
        self._ledger = IngestLedger(store, scope, source.name, way)
        self._switch: Switch | None = getattr(store, "switch", None)
        self._is_upload = way == "uploaded"
        self._retry = retry
        self._vectors: list[FloatArray] = []
        self._batch = max(1, batch)
        self._base = base
        self._room = room
        self._claimed: dict[str, str] = {}
        self._coming: dict[str, str] = {}
        self._leaving: set[str] = set()
        self._met: set[str] = set()
        self._failed: list[tuple[int, Failure]] = []
        self._full: list[str] = []
        self._reasons: dict[str, str] = {}
        self.whole: set[str] = set()
        """The origins of uploads that are complete in the store; not of folders, which may hold a million files."""
        self.counts = Counts()
        self._progress: Callable[[int, int, str], None] | None = None
        self._done, self._total = 0.0, 0

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The failures, in the order of the files."""
        return tuple(failure for _, failure in sorted(self._failed, key=lambda entry: entry[0]))

    @property
    def full(self) -> tuple[str, ...]:
        return tuple(self._full)

    def watch(self, files: FoundFiles, progress: Callable[[int, int, str], None] | None) -> None:
        """Record failures of the file search, and set the progress callback."""
        self._failed.extend((-1, failure) for failure in files.failed)
        self._progress = progress
        if progress is not None:
            self._total = sum(file.size for file in files.files)

    def remove_missing(self, files: FoundFiles) -> None:
        """Remove the passages of files under the paths that no longer exist."""
        present = {file.origin for file in files.files}
        unseen = tuple(failure.path for failure in files.failed)
        gone: dict[str, list[str]] = {}
        for passage in self._rows(None):
            origin = passage.origin
            if origin not in present and _under(origin, files.roots) and not _under(origin, unseen):
                gone.setdefault(origin, []).append(passage.id)
        for origin, ids in gone.items():
            self._remove_file(origin, ids)

    def remove_pages(self, files: FoundFiles) -> FoundFiles:
        """Remove pages that their site no longer has, and pages that a sitemap has ceased to list.

        Returns the files without the failures of removed pages, which are none.
        """
        present = {file.origin for file in files.files} | {page for listing in files.listings for page in listing.pages}
        dropped = (page for listing in files.listings for page in self._ledger.listed(listing.sitemap))
        removed = set()
        for page in dict.fromkeys((*files.gone, *(page for page in dropped if page not in present))):
            if self._remove_file(page, [passage.id for passage in self._rows(page)]):
                removed.add(page)
        return replace(files, failed=tuple(failure for failure in files.failed if failure.path not in removed))

    def remember_listings(self, listings: Iterable[Listing], *, only: bool) -> None:
        """Remember which pages sitemaps list; with `only`, pages that they listed before are left out."""
        for listing in listings:
            before = () if only else self._ledger.listed(listing.sitemap)
            self._ledger.keep_listed(listing.sitemap, tuple(dict.fromkeys((*before, *listing.pages))))

    def _remove_file(self, origin: str, ids: Sequence[str]) -> bool:
        """Remove a file's passages; rows stay that are no file's, or whose file arrived another way."""
        if not self._ledger.knows(origin):
            return False
        self._ledger.begin(origin)
        self.counts.removed += self._store.remove(self._scope, ids)
        self._ledger.drop(origin)
        return True

    def bring(
        self,
        files: Iterable[SourceFile],
        encoder: Encoder,
        workers: Workers,
        made: MakeEncoder | None,
        *,
        reader: ShardJob[Loaded, Read] | None = None,
    ) -> None:
        """Read changed files, with `reader` instead of the default job, and write their differences."""
        waiting: list[_Changed] = []
        read = workers.map(reader or reading(), self._unread(files, waiting))
        parts: list[_WriteBatch] = []
        shards = self._parts(self._groups(read, waiting), parts)
        for vectors in workers.map(encoding(encoder, made, self._source.about), shards):
            self._write(parts.pop(0), vectors)

    def index(self) -> None:
        """Update the store's index, if it has one, now instead of in the first search."""
        refresh = getattr(self._store, "refresh_index", None)
        if refresh is not None and self.counts.added + self.counts.changed + self.counts.removed:
            self._tell("the index")
            refresh(self._scope, self._source.name)

    def over(self) -> None:
        """Report full progress."""
        self._done = self._total
        self._tell("")

    def _unread(self, files: Iterable[SourceFile], waiting: list[_Changed]) -> Iterator[Shard[Loaded]]:
        """The files that the ledger does not list as complete; their descriptions are appended to `waiting`."""
        for place, file in enumerate(files):
            if not file.is_at(self._base):
                self._met.add(file.origin)
            self._tell(file.origin)
            try:
                looked = self._looked_at(place, file)
            except InputError as error:
                self._fail(place, file, error)
                continue
            if looked is None:
                self.counts.files += 1
                self._done += file.size
                continue
            changed, content = looked
            waiting.append(changed)
            apart = self._source.about != "world"
            yield Shard(file.origin, Loaded(content, file.path.name, self._source.name, file.origin, apart))

    def _looked_at(self, place: int, file: SourceFile) -> tuple[_Changed, bytes] | None:
        """A file with its bytes; None if the ledger lists it as complete."""
        entry = self._ledger.entry(file.origin)
        if entry is not None and entry.refused and (self._retry or entry.readers != packages_of(file.suffix)):
            entry = None
        status = file.status()
        if entry is not None and entry.matches(status):
            self._same(place, file, entry)
            return None
        content = load(file.path)
        digest = hashlib.sha256(content).hexdigest()
        if entry is not None and entry.digest == digest:
            self._same(place, file, entry)
            return None
        return _Changed(place, file, digest, len(content), trusted_time(status)), content

    def _groups(self, read: Iterable[Read], waiting: list[_Changed]) -> Iterator[list[_FileChange]]:
        """Groups of files with a batch of passages to write; the last group may have fewer."""
        pending: list[_FileChange] = []
        for document in read:
            changed = waiting.pop(0)
            try:
                pending.append(self._compare(changed, document))
            except InputError as error:
                if document.refused:
                    self._remember_refusal(changed, document.refused)
                self._fail(changed.place, changed.file, error)
                continue
            self.counts.files += 1
            if sum(len(change.writes) for change in pending) >= self._batch:
                self._send(pending)
                yield pending
                pending = []
        if pending:
            self._send(pending)
            yield pending

    def _send(self, group: Sequence[_FileChange]) -> None:
        """Count the rows of a group as written for later comparisons."""
        self._coming.update(self._claimed)
        self._claimed.clear()
        self._leaving.update(stale for change in group for stale in change.stale)

    def _parts(self, groups: Iterable[list[_FileChange]], parts: list[_WriteBatch]) -> Iterator[Shard[tuple[str, ...]]]:
        """The batches to encode; a group with nothing to encode is one empty batch."""
        for group in groups:
            queue = [(passage, change) for change in group for passage in change.writes]
            starts = range(0, max(1, len(queue)), self._batch)
            for start in starts:
                part = queue[start : start + self._batch]
                parts.append(_WriteBatch(part, group, first=start == 0, last=start == starts[-1]))
                name = part[0][1].file.origin if part else group[0].file.origin
                yield Shard(f"{len(part)} passages from {name} on", tuple(passage.indexed for passage, _ in part))

    def _write(self, part: _WriteBatch, vectors: FloatArray) -> None:
        """Write a batch: passages first, the ledger last. Uploads, and files that fit into a batch, are written whole,
        in one transaction."""
        if self._switch is not None and (self._is_upload or (part.first and part.last)):
            self._collect(part, vectors)
            return
        for change in part.group if part.first else ():
            for origin in change.robbed:
                self._ledger.begin(origin)  # if the file returns, it is read again
            self._ledger.begin(change.file.origin)
        if part.queue:
            self._store.put(self._scope, [passage for passage, _ in part.queue], vectors)
            self._done += sum(change.entry.size / len(change.writes) for _, change in part.queue)
            self._tell(part.queue[-1][1].file.origin)
        for change in part.group if part.last else ():
            if change.stale:
                self.counts.removed += self._store.remove(self._scope, change.stale)
            self._ledger.finish(change.file.origin, change.entry)
            self._count_stored(change)

    def _collect(self, part: _WriteBatch, vectors: FloatArray) -> None:
        """Collect the batches of some files, and switch from the old passages to the new ones with the last batch."""
        import numpy as np

        assert self._switch is not None
        self._vectors.append(vectors)
        if not part.last:
            return
        passages = [passage for change in part.group for passage in change.writes]
        stale = [id_ for change in part.group for id_ in change.stale]
        notes = [self._ledger.interruption(origin) for change in part.group for origin in change.robbed]
        notes += [self._ledger.completion(change.file.origin, change.entry) for change in part.group]
        made, self._vectors = np.concatenate(self._vectors), []
        removed = self._switch(self._scope, passages, made if passages else None, remove=stale, notes=dict(notes))
        self.counts.removed += removed
        for change in part.group:
            self._done += change.entry.size
            self._count_stored(change)
        self._tell(part.group[-1].file.origin)

    def _count_stored(self, change: _FileChange) -> None:
        """Count a file whose passages are all in the store."""
        if self._is_upload:
            self.whole.add(change.file.origin)
        self.counts.added += len(change.added)
        self.counts.changed += len(change.changed)
        self.counts.unchanged += change.entry.passages - len(change.writes)
        self._leaving.difference_update(change.stale)
        for passage in change.added:
            self._coming.pop(passage.id, None)

    def _compare(self, changed: _Changed, read: Read) -> _FileChange:
        """The differences between a file and the store."""
        if read.refused:
            raise InputError(read.refused)
        file, passages = changed.file, read.passages
        stored = {passage.id: passage for passage in self._rows(file.origin)}
        added = tuple(passage for passage in passages if passage.id not in stored)
        ids = {passage.id for passage in passages}
        self._fit(len(ids) - len(stored), file)
        robbed = self._claim(added, file)
        self._report_places(changed.place, file, read.failed)
        return _FileChange(
            file,
            Entry(changed.digest, changed.size, changed.modified, len(passages), read.failed),
            added,
            tuple(passage for passage in passages if passage.id in stored and stored[passage.id] != passage),
            tuple(id_ for id_ in stored if id_ not in ids),
            robbed,
        )

    def _remember_refusal(self, changed: _Changed, reason: str) -> None:
        """Note why a file cannot be read, so that it is not read at every start."""
        packages = packages_of(changed.file.suffix)
        if packages is not None and not self._is_upload:
            entry = Entry(changed.digest, changed.size, changed.modified, 0, refused=reason, readers=packages)
            self._ledger.finish(changed.file.origin, entry)

    def _fit(self, more: int, file: SourceFile) -> None:
        if self._room is not None and more > 0:
            if more > self._room:
                raise NoRoomError(
                    f"'{file.path.name}' has {more:,} new passages, and there is room for {self._room:,}.",
                    remedy="Remove what is no longer needed, or split the file.",
                )
            self._room -= more

    def _fail(self, place: int, file: SourceFile, error: InputError) -> None:
        reason = str(error)
        self._failed.append((place, Failure(file.origin, self._reasons.setdefault(reason, reason))))
        if isinstance(error, NoRoomError):
            self._full.append(file.origin)
        self._done += file.size

    def _same(self, place: int, file: SourceFile, entry: Entry) -> None:
        if entry.refused:
            raise InputError(entry.refused)
        if self._is_upload:
            self.whole.add(file.origin)
        self.counts.unchanged += entry.passages
        self._report_places(place, file, entry.failed)

    def _report_places(self, place: int, file: SourceFile, failed: Iterable[tuple[str, str]]) -> None:
        self._failed.extend((place, Failure(f"{file.origin}, {where}", reason)) for where, reason in failed)

    def _rows(self, origin: str | None) -> Iterable[Passage]:
        """All rows of the source, superseded ones too, which reading a file must not revive."""
        for superseded in (False, True):
            yield from self._store.passages(self._scope, self._source.name, origin=origin, superseded=superseded)

    def _claim(self, added: Iterable[Passage], file: SourceFile) -> tuple[str, ...]:
        """Refuse ids that another file or source uses, since one text would silently replace the other.

        Returns the deleted files that used some of the ids.
        """
        ids = [passage.id for passage in added]
        staying: dict[tuple[str, str], bool] = {}
        for taken, holder in zip(ids, self._store.get(self._scope, ids), strict=True):
            elsewhere = self._claimed.get(taken)
            if holder is not None and (holder.source, holder.origin) == (self._source.name, file.origin):
                continue  # another process has ingested the same file meanwhile
            if taken in self._coming:
                elsewhere = f"{self._coming[taken]}' in '{self._source.name}"
            elif holder is not None and taken not in self._leaving:
                place = (holder.source, holder.origin)
                if place not in staying:
                    staying[place] = self._stays(holder)
                if staying[place]:
                    elsewhere = f"{holder.origin or 'a row'}' in '{holder.source}"
            if elsewhere:
                raise InputError(f"The id '{taken}' is used by '{elsewhere}'.", remedy="Give one of them another id.")
        self._claimed.update(dict.fromkeys(ids, file.origin))
        return tuple(origin for _, origin in staying)

    def _stays(self, holder: Passage) -> bool:
        """Whether a row belongs to another source, arrived another way, or its file still exists."""
        if holder.source != self._source.name or not self._ledger.knows(holder.origin):
            return True
        # An uploaded file is moved to its place only after it was read, and a page has none.
        return holder.origin in self._met or (self._base / holder.origin).exists()

    def _tell(self, name: str) -> None:
        if self._progress is not None:
            self._progress(min(round(self._done), self._total), self._total, name)


def _under(origin: str, roots: Iterable[str]) -> bool:
    """Whether an origin is one of the roots or below one."""
    return any(
        origin == root or origin.startswith(f"{root.rstrip('/')}/") or (root == "." and not Path(origin).is_absolute())
        for root in roots
    )
