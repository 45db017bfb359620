"""Files of an index: shards of consecutive rows, listed in a manifest with a checksum each."""

from __future__ import annotations

import json
import logging
import shutil
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

from dragoman.core.private_files import make_private_file, make_private_folder

logger = logging.getLogger("dragoman.stores.index")
DAMAGE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    RuntimeError,
    SystemError,
)  # exceptions of tantivy and usearch for damaged files
_FORMAT = 2
_READ = 1 << 22


class RowSpan(NamedTuple):
    """Rows with keys above `after` up to and including `last`; None for an open end."""

    after: int
    last: int | None


@dataclass(frozen=True, slots=True)
class IndexShard:
    """The rows of a span at a change counter; a shard without a name has no files yet.

    `last` is the highest key in it, `length` the number of tokens, `sum` the checksum of its files.
    """

    after: int
    name: str = ""
    counter: int = 0
    rows: int = 0
    last: int = 0
    length: int = 0
    sum: int = 0


@dataclass(frozen=True, slots=True)
class IndexManifest:
    """The shards that hold a source's rows up to a change counter; vectors have `width` dimensions."""

    store: str
    counter: int
    shards: tuple[IndexShard, ...]
    width: int = 0
    format: int = _FORMAT

    @property
    def newest(self) -> int:
        """The newest change that any of the files may hold."""
        return max(self.counter, *(shard.counter for shard in self.shards))

    def place_of(self, key: int) -> int:
        """The position of the shard that a row belongs to."""
        return max(0, bisect_left(self.shards, key, key=lambda shard: shard.after) - 1)

    def span(self, place: int) -> RowSpan:
        """The span of one shard; the last one has no end."""
        last = self.shards[place + 1].after if place + 1 < len(self.shards) else None
        return RowSpan(self.shards[place].after, last)

    def missing(self) -> list[RowSpan]:
        """The spans of shards without files."""
        return [self.span(place) for place, shard in enumerate(self.shards) if not shard.name]

    def held(self, place: int) -> RowSpan:
        """The span of the rows that one shard holds already."""
        return RowSpan(self.shards[place].after, self.shards[place].last)

    def void(self, places: Iterable[int]) -> IndexManifest:
        """A copy with some shards marked as missing."""
        targets = set(places)
        shards = (IndexShard(shard.after) if i in targets else shard for i, shard in enumerate(self.shards))
        return replace(self, shards=tuple(shards))

    def with_shard(self, shard: IndexShard) -> IndexManifest:
        """A copy in which a shard replaces the one with the same start."""
        return replace(self, shards=tuple(shard if old.after == shard.after else old for old in self.shards))


def read_manifest(folder: Path, store: str) -> IndexManifest | None:
    """The manifest of a folder; None if it is missing, damaged, or of another store or format."""
    try:
        content = json.loads((folder / "manifest.json").read_text("utf-8"))
        manifest = IndexManifest(
            **{**content, "shards": tuple(IndexShard(**shard) for shard in content.get("shards", ()))}
        )
    except FileNotFoundError:
        return None
    except DAMAGE as error:
        logger.warning(
            "The manifest in %s cannot be read, and the index is built anew: %s", folder, type(error).__name__
        )
        return None
    return manifest if manifest.format == _FORMAT and manifest.store == store and manifest.shards else None


def write_manifest(folder: Path, manifest: IndexManifest) -> None:
    """Replace the manifest atomically."""
    make_private_folder(folder)
    write_json(folder / "manifest.json", asdict(manifest))


def write_json(path: Path, value: object) -> None:
    """Write a file atomically."""
    part = path.with_name(f"{path.stem}.part")
    make_private_file(part)
    part.write_text(json.dumps(value), "utf-8")
    part.replace(path)


def sweep(folder: Path, manifest: IndexManifest) -> None:
    """Delete the files of shards that the manifest does not name; keep drafts."""
    names = {shard.name for shard in manifest.shards} | {"manifest.json", Drafts.NAME}
    for path in folder.iterdir():
        if path.name not in names:
            discard(path)


def discard(path: Path) -> None:
    """Delete a file or folder; rename it first, so that a process still writing into it fails."""
    away = path.with_name(f"away-{token_hex(6)}")
    try:
        path.rename(away)
    except FileNotFoundError:
        return
    shutil.rmtree(away) if away.is_dir() else away.unlink()


def sum_of(path: Path) -> int:
    """Checksum of the bytes of a file, or of the names and bytes of all files in a folder."""
    total = 0
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        if file.suffix != ".lock":  # lock files of tantivy come and go
            total = zlib.crc32(file.name.encode() if path.is_dir() else b"", total)
            with file.open("rb") as opened:
                while read := opened.read(_READ):
                    total = zlib.crc32(read, total)
    return total


def is_sound(folder: Path, shard: IndexShard) -> bool:
    """Whether the files of a shard match its checksum."""
    path = folder / shard.name
    return path.exists() and sum_of(path) == shard.sum


class Drafts:
    """Shards under construction beside the index in use; a finished draft survives the process that built it.

    Each draft has its own folder, named by the start of its span. A removal of rows discards the drafts that may hold
    them, finished or not, so that no draft brings back a removed row.
    """

    NAME = "drafts"

    def __init__(self, folder: Path, store: str) -> None:
        self._folder = folder / self.NAME
        self._store = store

    def begin(self, span: RowSpan) -> Path:
        """The path for the files of a new draft."""
        path = self._folder / str(span.after)
        discard(path)
        make_private_folder(path.parent)
        path.mkdir(mode=0o700)
        return path / "files"

    def finish(self, span: RowSpan, shard: IndexShard, width: int) -> None:
        """Mark a draft as finished; raises if it was discarded meanwhile."""
        content = {"store": self._store, "width": width, "last": span.last, "format": _FORMAT, "shard": asdict(shard)}
        write_json(self._folder / str(span.after) / "shard.json", content)

    def finished(self, span: RowSpan, width: int, counter: int) -> IndexShard | None:
        """The finished draft of a span, unless it is newer than the store."""
        path = self._folder / str(span.after)
        try:
            content = json.loads((path / "shard.json").read_text("utf-8"))
            shard = IndexShard(**content.pop("shard"))
        except DAMAGE:
            return None
        expected = {"store": self._store, "width": width, "last": span.last, "format": _FORMAT}
        return shard if content == expected and shard.counter <= counter and (path / "files").exists() else None

    def adopt(self, shard: IndexShard, folder: Path) -> None:
        """Move the files of a draft into the index in use."""
        (self._folder / str(shard.after) / "files").rename(folder / shard.name)
        discard(self._folder / str(shard.after))
        if not any(True for _ in self._begins()):
            self.clear()

    def is_begun(self, span: RowSpan) -> bool:
        """Whether a draft of a span exists, finished or not."""
        return (self._folder / str(span.after)).exists()

    def spoil(self, keys: Sequence[int]) -> None:
        """Discard the drafts that may hold any of these rows."""
        begins = sorted(self._begins())
        for after in {begins[place - 1] for key in keys if (place := bisect_left(begins, key))}:
            discard(self._folder / str(after))

    def clear(self) -> None:
        """Discard all drafts."""
        discard(self._folder)

    def _begins(self) -> Iterator[int]:
        if self._folder.is_dir():
            yield from (int(path.name) for path in self._folder.iterdir() if path.name.isdecimal())
