"""Uploaded files: written only below the folder of their source, tenant and user."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from time import perf_counter
from typing import BinaryIO

from dragoman.core.errors import AccessError, DragomanError, ServiceError
from dragoman.core.values import Source
from dragoman.core.workers import InProcess
from dragoman.server.access.quota import Amount, full
from dragoman.server.data.upload_folders import FOLDER, source_folder
from dragoman.server.hosted_agent import Seat
from dragoman.server.http.problems import absent
from dragoman.server.http.views import View
from dragoman.sources.files import FoundFiles, SourceFile, origin_of, readers
from dragoman.sources.ingest import IngestReport
from dragoman.sources.ingest_run import IngestRun

MOST_BYTES = 32 * 1024 * 1024
_PIECE = 1 << 20
_BATCH = 64
_DEEPEST, _LONGEST = 8, 200
_DRIVE = re.compile(r"^[A-Za-z]:")
_DEVICE = re.compile(r"^(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
_BAD = re.compile(r'[\x00-\x1f\x7f<>:"|?*]')


@dataclass(frozen=True, slots=True)
class Upload:
    """An uploaded file: its name and content."""

    name: str
    content: BinaryIO


def safe_name(given: str) -> PurePosixPath:
    """The path of an uploaded file inside its folder; raises an error for a name that leads elsewhere."""
    name = unicodedata.normalize("NFC", given.replace("\\", "/"))
    parts = name.split("/")
    wrong = (
        not name
        or len(parts) > _DEEPEST
        or len(name.encode("utf-8", "replace")) > _LONGEST
        or _DRIVE.match(name)
        or _BAD.search(name)
        or not name.isprintable()
        or any(_is_bad_part(part) for part in parts)
    )
    if wrong:
        raise _misnamed("A file's name is empty, too long, hidden, a device's, or leads out of its folder.")
    path = PurePosixPath(*parts)
    if path.suffix.lower() not in readers() or not path.suffix:
        kinds = ", ".join(suffix for suffix in readers() if suffix)
        raise ServiceError(
            f"Files of the kind '{path.suffix[:20]}' cannot be read.",
            remedy=f"Kinds that can: {kinds}. Unpack archives before.",
            code="unsupported-kind",
        )
    return path


def writable(seat: Seat, source: Source) -> bool:
    """Whether a caller may upload into a source: not into memory, and into shared sources only as admin."""
    return source.about != "user" and (source.private or seat.admin)


def check_size(size: int, most_bytes: int = MOST_BYTES) -> None:
    """Raise an error for a file that is too large."""
    if size > most_bytes:
        raise ServiceError(f"A file may have {most_bytes // 2**20} MB.", remedy="Split it.", code="too-large")


def put(seat: Seat, source: Source, uploads: Sequence[Upload], *, most_bytes: int = MOST_BYTES) -> IngestReport:
    """Write files to a source's folder and ingest them.

    Names and quotas are checked before anything is written. A file that cannot be read is not kept. An earlier file of
    the same name stays until the new one is ingested.
    """
    _check_writable(seat, source)
    root = _root(seat, source)
    places = [_place(root, safe_name(upload.name)) for upload in uploads]
    sizes = {place: _size(upload.content, most_bytes) for upload, place in zip(uploads, places, strict=True)}
    more = Amount(sum(sizes.values()), len(sizes)) + -_lying(places)
    with (
        seat.stock.claiming(root.parent, more, seat.quota, private=source.private) as claim,
        Incoming(root) as incoming,
    ):
        for upload, place in zip(uploads, places, strict=True):
            incoming.write(upload.content, place)
        run = _run(seat, source, root, _room(seat, source))
        try:
            report = _ingest(seat, run, incoming.files)
        except BaseException:
            claim.used = incoming.settle({place for place in places if origin_of(place, root) not in run.whole})
            _take_back(run, [origin_of(place, root) for place in places if not place.exists()])
            raise
        unread = {root / failure.path for failure in report.failed}
        if report.full and not report.files:
            raise _full(seat, source)
        claim.used = incoming.settle(unread)
    return report


def files(seat: Seat, source: Source) -> list[View]:
    """The uploaded files of a source, by name."""
    root = _root(seat, source)
    seat.stock.check_here(root.parent)
    store, scope = seat.assistant.store, source.scope(seat.scope)
    return [
        {
            "name": path.relative_to(root / FOLDER).as_posix(),
            "bytes": path.stat().st_size,
            "passages": sum(1 for _ in store.passages(scope, source.name, origin=path.relative_to(root).as_posix())),
        }
        for path in sorted((root / FOLDER).rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    ]


def remove(seat: Seat, source: Source, name: str) -> int:
    """Delete an uploaded file and its passages; returns the number of passages.

    The file is deleted last, so that the call can be repeated if the store is busy.
    """
    _check_writable(seat, source)
    root = _root(seat, source)
    seat.stock.check_here(root.parent)
    path = _place(root, safe_name(name))
    run = _run(seat, source, root)
    if not path.is_dir():
        run.remove_missing(
            FoundFiles((), (origin_of(path, root),))
        )  # of this file alone: others may be on their way in
        run.index()
    removed = run.counts.removed
    if not removed and not path.is_file():
        raise absent("file")
    gone = _lying([path])
    path.unlink(missing_ok=True)
    seat.stock.add(root.parent, -gone)
    return removed


def _root(seat: Seat, source: Source) -> Path:
    return source_folder(seat.state, seat.scope, source)


def _is_bad_part(part: str) -> bool:
    """Whether a part of a path is empty, hidden, or special on some system."""
    return not part or part != part.strip() or part[0] == "." or part[-1] == "." or bool(_DEVICE.match(part))


def _place(root: Path, path: PurePosixPath) -> Path:
    """The path of a file; links that lead out of the folder are not followed."""
    place = root / FOLDER / path
    if not place.resolve().is_relative_to(root.resolve()):
        raise _misnamed("A file's name leads out of its folder.")
    if place.exists() and place.name not in {other.name for other in place.parent.iterdir()}:
        raise _misnamed("A file's name is that of another but for its case, which is one name on this server.")
    return place


def _misnamed(message: str) -> ServiceError:
    return ServiceError(message, remedy="Give a plain relative name such as notes/boats.md.", code="bad-file-name")


def _check_writable(seat: Seat, source: Source) -> None:
    if not writable(seat, source):
        raise AccessError(
            f"The source '{source.name}' is not this key's to write.",
            remedy="Shared sources need an admin key; facts about the user go to /v1/memory.",
        )


def _take_back(run: IngestRun, origins: Sequence[str]) -> None:
    """Delete ingested passages of files that are not kept after all."""
    if origins:
        with suppress(DragomanError):
            run.remove_missing(FoundFiles((), tuple(origins)))


def _ingest(seat: Seat, run: IngestRun, files: Sequence[SourceFile]) -> IngestReport:
    """Ingest files that are not yet at the place their origin names."""
    began = perf_counter()
    run.bring(files, seat.assistant.encoder, InProcess(), None)
    run.index()
    done, seconds = run.counts, perf_counter() - began
    return IngestReport(
        done.added, done.changed, done.removed, done.unchanged, done.files, run.failures, seconds, run.full
    )


def _run(seat: Seat, source: Source, root: Path, room: int | None = None) -> IngestRun:
    scope = source.scope(seat.scope)
    store = seat.assistant.store
    return IngestRun(store, source, scope=scope, batch=_BATCH, base=root, room=room, way="uploaded")


def _room(seat: Seat, source: Source) -> int | None:
    """Remaining passages of a source's quota; None without a limit."""
    most = seat.quota.user_passages if source.private else seat.quota.tenant_passages
    if most is None:
        return None
    beside = [each for each in seat.assistant.sources if each.private == source.private and each.about != "user"]
    store = seat.assistant.store
    return max(0, most - sum(store.count(each.scope(seat.scope), each.name) for each in beside))


def _full(seat: Seat, source: Source) -> ServiceError:
    whose = "user" if source.private else "tenant"
    most = seat.quota.user_passages if source.private else seat.quota.tenant_passages
    return full(whose, f"passages in {'private' if source.private else 'shared'} sources", f"{most or 0:,}")


def _size(content: BinaryIO, most_bytes: int) -> int:
    """The number of bytes to read."""
    here = content.tell()
    size = content.seek(0, os.SEEK_END) - here
    content.seek(here)
    check_size(size, most_bytes)
    return size


def _lying(places: Sequence[Path]) -> Amount:
    """The amount stored at some paths."""
    sizes = [place.stat().st_size for place in set(places) if place.is_file()]
    return Amount(sum(sizes), len(sizes))


class Incoming:
    """Files being uploaded: staged in a hidden folder, and moved into place after ingestion."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folder = root / f".{secrets.token_hex(8)}"
        self._waiting: dict[Path, Path] = {}

    def __enter__(self) -> Incoming:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def files(self) -> tuple[SourceFile, ...]:
        """Paths of the staged files, by final name."""
        return tuple(SourceFile(waiting, origin_of(place, self._root)) for place, waiting in self._waiting.items())

    def write(self, content: BinaryIO, place: Path) -> None:
        """Stage a file; the last one of a name wins."""
        inside = place.relative_to(self._root)
        waiting = self._folder / inside
        if place.is_dir() or any((self._root / above).is_file() for above in inside.parents):
            raise _clashing()
        with _no_clash():
            waiting.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with waiting.open("wb") as out:
                shutil.copyfileobj(content, out, _PIECE)
        self._waiting[place] = waiting

    def settle(self, unread: Collection[Path]) -> Amount:
        """Move the ingested files into place; returns the added amount."""
        more = Amount()
        for place, waiting in self._waiting.items():
            if place not in unread:
                change = _lying([waiting]) + -_lying([place])
                with _no_clash():
                    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                    waiting.replace(place)
                more += change
        return more


@contextmanager
def _no_clash() -> Iterator[None]:
    try:
        yield
    except (IsADirectoryError, NotADirectoryError, FileExistsError) as error:
        raise _clashing() from error


def _clashing() -> ServiceError:
    return ServiceError("A folder and a file cannot have one name.", remedy="Give another name.", code="bad-file-name")
