"""Uploads under way: a journal in a hidden folder, so that a kill at any moment leaves each file old or new as a whole.

An upload is staged in its folder, then its passages are switched in one transaction together with the file's digest,
then the file is moved into place. At start, the server looks at what a killed one left: where the store has the digest
of a staged file the move is made up for, else the staged file is dropped. The journal of a running upload is locked.
It is the first file of its folder and the last one deleted, so a folder without a journal is empty and needs no work.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, BinaryIO

from dragoman.core.durable import sync_folder
from dragoman.core.errors import DragomanError, ServiceError, StoreBusyError, StoreErasedError
from dragoman.core.file_lock import try_lock
from dragoman.sources.files import SourceFile, origin_of
from dragoman.sources.upload_folders import FOLDER, UploadUsage, erased_folders, staged_notes

_log = logging.getLogger("dragoman.server")
_JOURNAL = "pending.json"
_PIECE = 1 << 20
_TRIES = 20


@dataclass(frozen=True, slots=True)
class PendingWork:
    """Journal of an upload or a removal: whose it is, and the names of the files to remove."""

    tenant: str
    user: str
    source: str
    removes: tuple[str, ...] = ()


class PendingUpload:
    """The hidden folder of an upload or a removal; it is gone when the work is done or has failed."""

    def __init__(self, root: Path, work: PendingWork) -> None:
        self._root = root
        self._work = work
        self._folder = root / f".{secrets.token_hex(8)}"
        self._journal: IO[str] | None = None
        self._staged: dict[Path, Path] = {}

    def __enter__(self) -> PendingUpload:
        for _ in range(_TRIES):
            self._journal = _new_journal(self._folder)
            if self._journal is not None:
                json.dump(asdict(self._work), self._journal)
                _synced(self._journal)
                return self
        raise StoreBusyError("The folder of an upload is deleted again and again.", remedy="Try again.")

    def __exit__(self, *_: object) -> None:
        _discard(self._folder)
        if self._journal is not None:
            self._journal.close()
            _discard(self._folder)  # Windows deletes no open file

    @property
    def files(self) -> tuple[SourceFile, ...]:
        """The staged files, under the origins that they will have."""
        return tuple(SourceFile(staged, origin_of(place, self._root)) for place, staged in self._staged.items())

    def write(self, content: BinaryIO, place: Path) -> None:
        """Stage a file on the disk; the last one of a name wins."""
        inside = place.relative_to(self._root)
        staged = self._folder / inside
        if place.is_dir() or any((self._root / above).is_file() for above in inside.parents):
            raise _clashing()
        with _no_clash():
            staged.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with staged.open("wb") as out:
                shutil.copyfileobj(content, out, _PIECE)
                _synced(out)
        self._staged[place] = staged

    def settle(self, unread: Collection[Path]) -> UploadUsage:
        """Move the ingested files into place; returns the added amount."""
        more = UploadUsage()
        for place, staged in self._staged.items():
            if place not in unread:
                change = amount_of([staged]) + -amount_of([place])
                with _no_clash():
                    moved_into(place, staged)
                more += change
        return more


def recover(
    state: Path,
    *,
    is_stored: Callable[[PendingWork, str, str], bool],
    repair: Callable[[PendingWork, str], None],
    remove: Callable[[PendingWork, Sequence[str]], None],
) -> int:
    """Finish or undo what killed servers left in the upload folders; returns the number of uploads and removals.

    `is_stored` says whether the store has the passages of a file (origin) with this digest, `repair` makes the passages
    of an origin those of the file in its place, and `remove` deletes files with their passages.
    """
    for folder in erased_folders(state):
        shutil.rmtree(folder, ignore_errors=True)
    done = 0
    for journal in (state / FOLDER).glob(f"*/*/*/.*/{_JOURNAL}"):
        try:
            with journal.open("r+", encoding="utf-8") as lock:
                if not _lock(lock) or _is_deleted(lock):
                    continue  # its server runs, or has finished just now
                work = _read(lock)
                if work is not None:
                    _recover_one(journal.parent, work, is_stored, repair)
                    if work.removes:
                        remove(work, work.removes)
                _discard(journal.parent)
                done += 1
            _discard(journal.parent)  # Windows deletes no open file
        except FileNotFoundError:
            continue  # its server has finished just now
        except (OSError, DragomanError) as error:  # left for the next start
            _log.warning("what an upload left cannot be settled: %s", type(error).__name__)
    for folder in (state / FOLDER).glob("*/*/*/.*"):
        with suppress(OSError):
            folder.rmdir()  # empty, hence killed before its journal was there or after it was deleted
    return done


def _recover_one(
    folder: Path,
    work: PendingWork,
    is_stored: Callable[[PendingWork, str, str], bool],
    repair: Callable[[PendingWork, str], None],
) -> None:
    for staged in sorted((folder / FOLDER).rglob("*")):
        if staged.is_file():
            origin = staged.relative_to(folder).as_posix()
            with staged.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
            if is_stored(work, origin, digest):
                moved_into(folder.parent / origin, staged)
            else:
                repair(work, origin)


def sweep(state: Path, before: float) -> None:
    """Delete hidden leftovers without a journal that are older than a time."""
    leftovers = staged_notes(state)
    for root in (state / FOLDER).glob("*/*/*"):
        leftovers += [*root.glob(".*"), *(root / FOLDER).rglob(".*")]
    for path in leftovers:
        try:
            if not (path / _JOURNAL).exists() and path.stat().st_mtime < before:
                path.unlink() if path.is_file() else shutil.rmtree(path)
        except FileNotFoundError:
            continue  # another server that shares the folder was first
        except OSError as error:
            _log.warning("what an upload left cannot be removed: %s", error.strerror)


def amount_of(places: Sequence[Path]) -> UploadUsage:
    """The amount stored at some paths."""
    sizes = [place.stat().st_size for place in set(places) if place.is_file()]
    return UploadUsage(sum(sizes), len(sizes))


def moved_into(place: Path, staged: Path) -> None:
    """Move a staged file into its place, durably."""
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        staged.replace(place)
    except FileNotFoundError as error:  # the folder went with everything of its user
        raise StoreErasedError("The files were forgotten while they were uploaded.", remedy="Upload again.") from error
    sync_folder(place.parent)


def _new_journal(folder: Path) -> IO[str] | None:
    """Make a folder with a locked, empty journal; None if a server that starts deletes it as a leftover."""
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    try:
        journal = (folder / _JOURNAL).open("w", encoding="utf-8")
    except FileNotFoundError:
        return None
    if _lock(journal) and not _is_deleted(journal):
        return journal
    journal.close()
    return None


def _discard(folder: Path) -> None:
    """Delete the folder of an upload, its journal last, so that a kill leaves it to the next start."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.name != _JOURNAL:
                shutil.rmtree(path)
        (folder / _JOURNAL).unlink(missing_ok=True)
        folder.rmdir()


def _is_deleted(file: IO[str]) -> bool:
    """Whether an open file has no name any more."""
    return os.fstat(file.fileno()).st_nlink == 0


def _read(journal: IO[str]) -> PendingWork | None:
    """The journal; None if its writing was interrupted, before anything else was done."""
    try:
        fields = json.load(journal)
        return PendingWork(fields["tenant"], fields["user"], fields["source"], tuple(fields["removes"]))
    except (ValueError, KeyError, TypeError):
        return None


def _lock(file: IO[str]) -> bool:
    """Lock a file until it is closed or the process ends; False if another process has."""
    try:
        return try_lock(file)
    except OSError:
        return True  # a file system without locks


def _synced(file: IO[str] | IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


@contextmanager
def _no_clash() -> Iterator[None]:
    try:
        yield
    except (IsADirectoryError, NotADirectoryError, FileExistsError) as error:
        raise _clashing() from error


def _clashing() -> ServiceError:
    return ServiceError("A folder and a file cannot have one name.", remedy="Give another name.", code="bad-file-name")
