"""Uploaded files: written only below the folder of their source, tenant and user."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from time import perf_counter
from typing import BinaryIO

from dragoman.core.errors import AccessError, DragomanError, ServiceError
from dragoman.core.values import Source
from dragoman.core.workers import InProcess
from dragoman.server.access.quota import full
from dragoman.server.data import pending_uploads
from dragoman.server.data.pending_uploads import PendingUpload, PendingWork, amount_of
from dragoman.server.hosted_agent import Seat
from dragoman.server.http.problems import absent
from dragoman.server.http.views import View
from dragoman.sources.files import FoundFiles, SourceFile, origin_of, readers, why_refused
from dragoman.sources.ingest import IngestReport
from dragoman.sources.ingest_run import IngestRun
from dragoman.sources.ledger import IngestLedger
from dragoman.sources.limited_reading import limited_reading
from dragoman.sources.upload_folders import FOLDER, UploadUsage, source_folder

MOST_BYTES = 32 * 1024 * 1024
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


def safe_name(name: str) -> PurePosixPath:
    """The path of an uploaded file inside its folder; raises an error for a name that leads elsewhere."""
    name = unicodedata.normalize("NFC", name.replace("\\", "/"))
    parts = name.split("/")
    if fault := _fault(name, parts):
        raise _misnamed(fault)
    path = PurePosixPath(*parts)
    if path.suffix.lower() not in readers() or not path.suffix:
        kinds = ", ".join(suffix for suffix in readers() if suffix)
        raise ServiceError(
            f"Files of the kind '{path.suffix[:20]}' cannot be read.",
            remedy=why_refused(path.suffix.lower()) or f"Kinds that can: {kinds}. Unpack archives before.",
            code="unsupported-kind",
        )
    return path


def _fault(name: str, parts: Sequence[str]) -> str:
    """Why a name cannot be that of an upload; "" for one that can."""
    bad = _BAD.search(name)
    faults = {
        "A file has no name.": not name,
        f"A file's name has at most {_LONGEST} bytes, in at most {_DEEPEST - 1} folders.": (
            len(name.encode("utf-8", "replace")) > _LONGEST or len(parts) > _DEEPEST
        ),
        "A file's name leads out of its folder.": _DRIVE.match(name),
        f"A file's name may not contain {bad[0]!r}." if bad else "": bad,
        "A file's name has characters that cannot be shown.": not name.isprintable(),
        "A file's name is hidden, ends in a space or a stop, is a device's, or leads out of its folder.": (
            any(map(_is_bad_part, parts))
        ),
    }
    return next((fault for fault, holds in faults.items() if holds), "")


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
    more = UploadUsage(sum(sizes.values()), len(sizes)) + -amount_of(places)
    with (
        seat.stock.claiming(root.parent, more, seat.quota, private=source.private) as claim,
        seat.assistant.hold(source.scope(seat.scope)),
        PendingUpload(root, _work(seat, source)) as pending,
    ):
        for upload, place in zip(uploads, places, strict=True):
            pending.write(upload.content, place)
        run = _run(seat, source, root, _room(seat, source))
        try:
            report = _ingest(seat, run, pending.files)
            unread = {root / failure.path for failure in report.failed}
            if report.full and not report.files:
                raise _full(seat, source)
        except BaseException:
            claim.used = pending.settle({place for place in places if origin_of(place, root) not in run.whole})
            raise
        try:
            claim.used = pending.settle(unread)
        except BaseException:
            for place in places:  # a file could not be moved: restore the passages of the file that is in its place
                with suppress(DragomanError):
                    _match_file(seat, source, root, origin_of(place, root))
            raise
    return report


def files(seat: Seat, source: Source) -> list[View]:
    """The uploaded files of a source, by name."""
    root = _root(seat, source)
    seat.stock.check_here(root.parent)
    paths = sorted((root / FOLDER).rglob("*"))
    return [_view(seat, source, path) for path in paths if path.is_file() and not path.name.startswith(".")]


def file(seat: Seat, source: Source, name: str) -> View:
    """One uploaded file of a source, without looking at the others."""
    root = _root(seat, source)
    seat.stock.check_here(root.parent)
    try:
        path = _place(root, safe_name(name))
    except ServiceError:
        raise absent("file") from None
    if not path.is_file():
        raise absent("file")
    return _view(seat, source, path)


def _view(seat: Seat, source: Source, path: Path) -> View:
    root, status = _root(seat, source), path.stat()
    passages = seat.assistant.store.passages(source.scope(seat.scope), source.name, origin=origin_of(path, root))
    return {
        "name": path.relative_to(root / FOLDER).as_posix(),
        "bytes": status.st_size,
        "modified": int(status.st_mtime),
        "passages": sum(1 for _ in passages),
    }


def open_upload(seat: Seat, source: Source, name: str) -> BinaryIO:
    """An uploaded file, open for reading."""
    root = _root(seat, source)
    seat.stock.check_here(root.parent)
    path = _place(root, safe_name(name))
    if not path.is_file():
        raise absent("file")
    return path.open("rb")


def remove(seat: Seat, source: Source, name: str) -> int:
    """Delete an uploaded file and its passages; returns the number of passages.

    The file is deleted last, so that the call can be repeated if the store is busy.
    """
    _check_writable(seat, source)
    root = _root(seat, source)
    seat.stock.check_here(root.parent)
    path = _place(root, safe_name(name))
    with PendingUpload(root, _work(seat, source, origin_of(path, root))) if root.exists() else nullcontext():
        removed = 0 if path.is_dir() else _remove(seat, source, root, (origin_of(path, root),))
        if not removed and not path.is_file():
            raise absent("file")
        gone = amount_of([path])
        path.unlink(missing_ok=True)
        seat.stock.add(root.parent, -gone)
    return removed


def read_again(seat: Seat, source: Source, name: str) -> IngestReport:
    """Read an unchanged uploaded file again and replace its passages."""
    _check_writable(seat, source)
    root = _root(seat, source)
    seat.stock.check_here(root.parent)
    path = _place(root, safe_name(name))
    if not path.is_file():
        raise absent("file")
    origin = origin_of(path, root)
    scope = source.scope(seat.scope)
    with seat.assistant.hold(scope):
        IngestLedger(seat.assistant.store, scope, source.name, "uploaded").begin(origin)
        return _ingest(seat, _run(seat, source, root, _room(seat, source)), [SourceFile(path, origin)])


def recover(seat_of: Callable[[str, str], Seat], state: Path) -> int:
    """Finish or undo the uploads and removals that a killed server left; returns how many.

    `seat_of` gives the seat of a tenant's user.
    """

    def is_stored(work: PendingWork, origin: str, digest: str) -> bool:
        seat, source, _ = opened(work)
        entry = IngestLedger(seat.assistant.store, source.scope(seat.scope), source.name, "uploaded").entry(origin)
        return entry is not None and entry.digest == digest

    def repair(work: PendingWork, origin: str) -> None:
        _match_file(*opened(work), origin)

    def remove(work: PendingWork, origins: Sequence[str]) -> None:
        _remove(*opened(work), origins)
        for origin in origins:
            (opened(work)[2] / origin).unlink(missing_ok=True)

    def opened(work: PendingWork) -> tuple[Seat, Source, Path]:
        seat = seat_of(work.tenant, work.user)
        source = seat.source(work.source)
        return seat, source, _root(seat, source)

    return pending_uploads.recover(state, is_stored=is_stored, repair=repair, remove=remove)


def _work(seat: Seat, source: Source, *removes: str) -> PendingWork:
    return PendingWork(seat.scope.tenant, seat.user, source.name, removes)


def _remove(seat: Seat, source: Source, root: Path, origins: Sequence[str]) -> int:
    """Delete the passages of some files alone, since others may be on their way in; returns their number."""
    run = _run(seat, source, root)
    run.remove_missing(FoundFiles((), tuple(origins)))
    run.index()
    return run.counts.removed


def _match_file(seat: Seat, source: Source, root: Path, origin: str) -> None:
    """Make the passages of an origin those of the file in its place, or none where there is no file."""
    place = root / origin
    if place.is_file():
        _ingest(seat, _run(seat, source, root), [SourceFile(place, origin)])
    else:
        _remove(seat, source, root, (origin,))


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


def _ingest(seat: Seat, run: IngestRun, files: Sequence[SourceFile]) -> IngestReport:
    """Ingest files that are not yet at the place their origin names."""
    began = perf_counter()
    run.bring(files, seat.assistant.encoder, InProcess(), None, reader=limited_reading())
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
