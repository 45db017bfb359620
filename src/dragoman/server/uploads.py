"""Uploaded files: by name into a folder of their own source, tenant and user, and nowhere else."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from dragoman.core.errors import AccessError, ServiceError
from dragoman.core.values import SHARED_USER, Source
from dragoman.server.hosted import Seat
from dragoman.server.problems import absent
from dragoman.server.quota import Amount, full
from dragoman.server.views import View
from dragoman.sources.files import READERS
from dragoman.sources.ingest import Report, ingest

FOLDER = "uploads"
MOST_BYTES = 32 * 1024 * 1024
_PIECE = 1 << 20
_DEEPEST, _LONGEST = 8, 200
_DRIVE = re.compile(r"^[A-Za-z]:")
_DEVICE = re.compile(r"^(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
_BAD = re.compile(r'[\x00-\x1f\x7f<>:"|?*]')


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that came with a request: the name it was given, and its bytes."""

    name: str
    content: BinaryIO


def safe_name(given: str) -> PurePosixPath:
    """The path of an uploaded file inside its folder; a name that leads anywhere else is refused."""
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
    if path.suffix.lower() not in READERS or not path.suffix:
        kinds = ", ".join(suffix for suffix in READERS if suffix)
        raise ServiceError(
            f"Files of the kind '{path.suffix[:20]}' cannot be read.",
            remedy=f"Kinds that can: {kinds}. Unpack archives before.",
            code="unsupported-kind",
        )
    return path


def user_folder(seat: Seat) -> Path:
    """Where a user's own uploads lie; named by digests, so that no id can be a path."""
    return _folder(seat, seat.user)


def source_folder(seat: Seat, source: Source) -> Path:
    """The root of a source's uploads for whoever calls; files lie in `uploads` below it."""
    return _folder(seat, seat.user if source.private else SHARED_USER) / _digest(source.name)


def declared(seat: Seat, name: str) -> Source:
    """A source by name."""
    source = next((source for source in seat.assistant.sources if source.name == name), None)
    if source is None:
        raise absent("source")
    return source


def writable(seat: Seat, source: Source) -> bool:
    """Facts come by the memory; shared sources are an admin's to write."""
    return source.about != "user" and (source.private or seat.admin)


def put(seat: Seat, source: Source, uploads: Sequence[Upload], *, most_bytes: int = MOST_BYTES) -> Report:
    """Write files into a source's folder and read them into the source.

    All names, and whether there is room, are checked before any is written. A file that cannot be read is not kept,
    and one of that name from before stays.
    """
    _check_writable(seat, source)
    root = source_folder(seat, source)
    places = [_place(root, safe_name(upload.name)) for upload in uploads]
    sizes = {place: _size(upload.content, most_bytes) for upload, place in zip(uploads, places, strict=True)}
    more = Amount(sum(sizes.values()), len(sizes)) + -_lying(places)
    with seat.stock.claiming(root.parent, more, seat.quota, private=source.private) as claim, Incoming() as incoming:
        for upload, place in zip(uploads, places, strict=True):
            incoming.write(upload.content, place)
        report = _ingest(seat, source, list(sizes), root, room=_room(seat, source))
        unread = {root / failure.path for failure in report.failed}
        if report.full and not report.files:
            raise _full(seat, source)
        gone = incoming.settle(unread)
        claim.used = more + -gone
    return report


def files(seat: Seat, source: Source) -> list[View]:
    """The uploaded files of a source, by name."""
    root = source_folder(seat, source)
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
    """Remove an uploaded file and its passages; how many."""
    _check_writable(seat, source)
    root = source_folder(seat, source)
    seat.stock.check_here(root.parent)
    path = _place(root, safe_name(name))
    if not path.is_file():
        raise absent("file")
    gone = _lying([path])
    path.unlink()
    seat.stock.add(root.parent, -gone)
    return _ingest(seat, source, [root / FOLDER], root, sync=True).removed


def _is_bad_part(part: str) -> bool:
    """Whether a name of a folder or file is nothing, hidden, or on some system something else."""
    return not part or part != part.strip() or part[0] == "." or part[-1] == "." or bool(_DEVICE.match(part))


def _place(root: Path, path: PurePosixPath) -> Path:
    """Where a file lies; a link that somebody made in the folder is not followed out of it."""
    place = root / FOLDER / path
    if not place.resolve().is_relative_to(root.resolve()):
        raise _misnamed("A file's name leads out of its folder.")
    return place


def _misnamed(message: str) -> ServiceError:
    return ServiceError(message, remedy="Give a plain relative name such as notes/boats.md.", code="bad-file-name")


def _check_writable(seat: Seat, source: Source) -> None:
    if not writable(seat, source):
        raise AccessError(
            f"The source '{source.name}' is not this key's to write.",
            remedy="Shared sources need an admin key; facts about the user go to /v1/memory.",
        )


def _ingest(
    seat: Seat, source: Source, paths: Sequence[Path], root: Path, *, sync: bool = False, room: int | None = None
) -> Report:
    assistant = seat.assistant
    return ingest(assistant.store, assistant.encoder, source, paths, scope=seat.scope, base=root, sync=sync, room=room)


def _room(seat: Seat, source: Source) -> int | None:
    """How many passages more there may be where a source's lie; None without end."""
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
    """How many bytes there are to read."""
    here = content.tell()
    size = content.seek(0, os.SEEK_END) - here
    content.seek(here)
    if size > most_bytes:
        raise ServiceError(f"A file may have {most_bytes // 2**20} MB.", remedy="Split it.", code="too-large")
    return size


def _lying(places: Sequence[Path]) -> Amount:
    """What lies at some places now."""
    sizes = [place.stat().st_size for place in set(places) if place.is_file()]
    return Amount(sum(sizes), len(sizes))


class Incoming:
    """Files on their way in: each takes the place of the one before it, which comes back unless all is settled."""

    def __init__(self) -> None:
        self._before: dict[Path, Path | None] = {}

    def __enter__(self) -> Incoming:
        return self

    def __exit__(self, *_: object) -> None:
        self.settle(set(self._before))

    def write(self, content: BinaryIO, place: Path) -> None:
        """Copy under another name first, so that nobody reads half a file."""
        passing = _hidden(place)
        try:
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with passing.open("xb") as out:
                shutil.copyfileobj(content, out, _PIECE)
            if place not in self._before:
                self._before[place] = _hidden(place).with_suffix(".old") if place.is_file() else None
                before = self._before[place]
                if before is not None:
                    place.rename(before)
            passing.replace(place)
        except (IsADirectoryError, NotADirectoryError, FileExistsError) as error:
            raise ServiceError(
                "A folder and a file cannot have one name.", remedy="Give another name.", code="bad-file-name"
            ) from error
        finally:
            if passing.is_file():
                passing.unlink()

    def settle(self, unread: Collection[Path]) -> Amount:
        """Let what could not be read go again, and what stood in its place come back; what is gone with that."""
        gone = Amount()
        for place, before in self._before.items():
            if place in unread:
                gone += _lying([place])
                place.unlink(missing_ok=True)
                if before is not None:
                    before.replace(place)
                    gone += -_lying([place])
            elif before is not None:
                before.unlink(missing_ok=True)
        self._before.clear()
        return gone


def _hidden(place: Path) -> Path:
    return place.parent / f".{secrets.token_hex(8)}"


def _folder(seat: Seat, user: str) -> Path:
    return seat.state / FOLDER / _digest(seat.assistant.tenant) / (_digest(user) if user else "shared")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
