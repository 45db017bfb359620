"""Files and folders into a source: only what changed is written, and an interrupted run is finished by the next."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from dragoman.core.errors import InputError
from dragoman.core.values import Passage, Scope, Source
from dragoman.sources.files import Failure, File, Found, find, load, parse
from dragoman.sources.ledger import Entry, Ledger, trusted_time
from dragoman.sources.passages import cut

if TYPE_CHECKING:
    from dragoman.core.protocols import Encoder, Store

log = logging.getLogger("dragoman.sources")


class Progress(Protocol):
    """Told how many bytes of how many are done, and which file is at hand."""

    def __call__(self, done: int, total: int, name: str, /) -> None: ...


@dataclass(frozen=True, slots=True)
class Report:
    """What an ingest did: passages added, changed, removed and found unchanged, out of how many files."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    files: int = 0
    failed: tuple[Failure, ...] = ()
    seconds: float = 0.0
    full: tuple[str, ...] = ()
    """Those of the failed files for whose passages there was no room."""


class _NoRoomError(InputError):
    """A file has more passages than may still be put."""


@dataclass(frozen=True, slots=True)
class _Change:
    """A file whose passages differ from what the store holds."""

    file: File
    entry: Entry
    added: tuple[Passage, ...]
    changed: tuple[Passage, ...]
    stale: tuple[str, ...]

    @property
    def writes(self) -> tuple[Passage, ...]:
        return self.added + self.changed


def ingest(
    store: Store,
    encoder: Encoder,
    source: Source,
    paths: Iterable[Path | str],
    *,
    scope: Scope,
    progress: Progress | None = None,
    batch: int = 64,
    base: Path | None = None,
    sync: bool = False,
    room: int | None = None,
) -> Report:
    """Bring a source up to date with files and folders.

    `room` is how many passages more there may be; a file that has too many fails, and those after it may still fit.

    A file that fails is reported and the others go in. With `sync`, passages of files that are gone from the
    given folders are removed. Whatever stops the run, what was written stays, and the next run does the rest.
    """
    began = perf_counter()
    found = find(paths, base=base)
    run = _Run(store, encoder, source, scope=source.scope(scope), batch=batch, base=base or Path.cwd())
    run.watch(found, progress)
    run.room = room
    if sync:
        run.remove_missing(found)
    for file in found.files:
        run.take(file)
    run.flush()
    run.index()
    report = run.report(seconds=perf_counter() - began)
    log.info("Ingested %d files into %s, %d failed.", report.files, source.name, len(report.failed))
    return report


class _Run:
    """One ingest: gathers changed files until a batch is full, then writes them."""

    def __init__(self, store: Store, encoder: Encoder, source: Source, *, scope: Scope, batch: int, base: Path) -> None:
        self._store, self._encoder, self._source, self._scope = store, encoder, source, scope
        self._ledger = Ledger(store, scope, source.name)
        self._batch = max(1, batch)
        self._base = base
        self._pending: list[_Change] = []
        self._claimed: dict[str, str] = {}
        self._failed: list[Failure] = []
        self._full: list[str] = []
        self.room: int | None = None
        self._added = self._changed = self._removed = self._unchanged = self._files = 0
        self._progress: Progress | None = None
        self._done, self._total = 0.0, 0

    def watch(self, found: Found, progress: Progress | None) -> None:
        """Take note of what was found, and of whom to tell."""
        self._failed.extend(found.failed)
        self._progress = progress
        if progress is not None:
            self._total = sum(_size(file.path) for file in found.files)

    def report(self, *, seconds: float) -> Report:
        self._done = self._total
        self._tell("")
        return Report(
            self._added,
            self._changed,
            self._removed,
            self._unchanged,
            self._files,
            tuple(self._failed),
            seconds,
            tuple(self._full),
        )

    def take(self, file: File) -> None:
        """Read a file unless it is known to be unchanged, and queue what differs."""
        self._tell(file.origin)
        try:
            change = self._compare(file)
        except InputError as error:
            self._failed.append(Failure(file.origin, str(error)))
            if isinstance(error, _NoRoomError):
                self._full.append(file.origin)
            self._done += _size(file.path)
            return
        self._files += 1
        if change is None:
            self._done += _size(file.path)
            return
        self._pending.append(change)
        if sum(len(waiting.writes) for waiting in self._pending) >= self._batch:
            self.flush()

    def remove_missing(self, found: Found) -> None:
        """Remove the passages of files that lay under the given paths and are gone."""
        present = {file.origin for file in found.files}
        unseen = tuple(failure.path for failure in found.failed)
        gone: dict[str, list[str]] = {}
        for passage in self._rows(None):
            origin = passage.origin
            if origin not in present and _under(origin, found.roots) and not _under(origin, unseen):
                gone.setdefault(origin, []).append(passage.id)
        for origin, ids in gone.items():
            if self._ledger.knows(origin):  # what a user said or was given otherwise is no file's to remove
                self._ledger.begin(origin)
                self._removed += self._store.remove(self._scope, ids)
                self._ledger.drop(origin)

    def flush(self) -> None:
        """Write what is queued: passages first, the ledger last."""
        pending, self._pending = self._pending, []
        for change in pending:
            self._ledger.begin(change.file.origin)
        queue = [(passage, change) for change in pending for passage in change.writes]
        for start in range(0, len(queue), self._batch):
            part = queue[start : start + self._batch]
            passages = [passage for passage, _ in part]
            vectors = self._encoder.encode([passage.indexed for passage in passages])
            self._store.put(self._scope, passages, vectors)
            self._done += sum(change.entry.size / len(change.writes) for _, change in part)
            self._tell(part[-1][1].file.origin)
        for change in pending:
            if change.stale:
                self._removed += self._store.remove(self._scope, change.stale)
            self._ledger.finish(change.file.origin, change.entry)
            self._added += len(change.added)
            self._changed += len(change.changed)
            self._unchanged += change.entry.passages - len(change.writes)
        self._claimed.clear()

    def index(self) -> None:
        """Let a store that keeps an index bring it up to date now, not in the middle of the first search."""
        refresh = getattr(self._store, "refresh_index", None)
        if refresh is not None and self._added + self._changed + self._removed:
            self._tell("the index")
            refresh(self._scope, self._source.name)

    def _compare(self, file: File) -> _Change | None:
        """What a file changes; none where the ledger shows that all of it is in."""
        entry = self._ledger.entry(file.origin)
        status = _status(file)
        if entry is not None and entry.matches(status):
            self._same(file, entry)
            return None
        content = load(file.path)
        digest = hashlib.sha256(content).hexdigest()
        if entry is not None and entry.digest == digest:
            self._same(file, entry)
            return None
        document = parse(content, file.path.name)
        passages = cut(document, self._source.name, file.origin, apart=self._source.about != "world")
        stored = {passage.id: passage for passage in self._rows(file.origin)}
        added = tuple(passage for passage in passages if passage.id not in stored)
        ids = {passage.id for passage in passages}
        self._fit(len(ids) - len(stored), file)
        self._claim(added, file)
        self._report_places(file, document.failed)
        return _Change(
            file,
            Entry(digest, len(content), trusted_time(status), len(passages), document.failed),
            added,
            tuple(passage for passage in passages if passage.id in stored and stored[passage.id] != passage),
            tuple(known for known in stored if known not in ids),
        )

    def _fit(self, more: int, file: File) -> None:
        if self.room is not None and more > 0:
            if more > self.room:
                raise _NoRoomError(
                    f"'{file.path.name}' has {more:,} new passages, and there is room for {self.room:,}.",
                    remedy="Remove what is no longer needed, or split the file.",
                )
            self.room -= more

    def _same(self, file: File, entry: Entry) -> None:
        self._unchanged += entry.passages
        self._report_places(file, entry.failed)

    def _report_places(self, file: File, failed: Iterable[tuple[str, str]]) -> None:
        self._failed.extend(Failure(f"{file.origin}, {place}", reason) for place, reason in failed)

    def _rows(self, origin: str | None) -> Iterable[Passage]:
        """Rows of the source, those included that newer ones superseded: reading a file must not revive them."""
        for superseded in (False, True):
            yield from self._store.passages(self._scope, self._source.name, origin=origin, superseded=superseded)

    def _claim(self, added: Iterable[Passage], file: File) -> None:
        """Refuse ids that another file or source holds: neither text may vanish unnoticed."""
        ids = [passage.id for passage in added]
        for taken, holder in zip(ids, self._store.get(self._scope, ids), strict=True):
            elsewhere = self._claimed.get(taken)
            if holder is not None and (holder.source, holder.origin) == (self._source.name, file.origin):
                continue  # another process has read the same file since we looked
            if holder is not None and (holder.source != self._source.name or (self._base / holder.origin).exists()):
                elsewhere = f"{holder.origin or 'a row'}' in '{holder.source}"
            if elsewhere:
                raise InputError(f"The id '{taken}' is used by '{elsewhere}'.", remedy="Give one of them another id.")
        self._claimed.update(dict.fromkeys(ids, file.origin))

    def _tell(self, name: str) -> None:
        if self._progress is not None:
            self._progress(min(round(self._done), self._total), self._total, name)


def _status(file: File) -> os.stat_result:
    try:
        return file.path.stat()
    except OSError as error:
        raise InputError(f"'{file.path.name}' cannot be opened: {error.strerror}.", remedy="Was it moved?") from error


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _under(origin: str, roots: Iterable[str]) -> bool:
    """Whether an origin is one of the roots or lies below one."""
    return any(
        origin == root or origin.startswith(f"{root.rstrip('/')}/") or (root == "." and not origin.startswith("/"))
        for root in roots
    )
