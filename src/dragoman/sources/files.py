"""Find files under paths and read one into a document; files that cannot be used are reported with the reason."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeAlias, cast

from dragoman.core.errors import InputError
from dragoman.core.registry import plugins
from dragoman.sources.content_kind import content_kind
from dragoman.sources.document import Document

READERS = {
    "": "text",
    ".txt": "text",
    ".text": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".docx": "docx",
    ".pptx": "pptx",
    ".xlsx": "xlsx",
    ".odt": "odt",
    ".epub": "epub",
    ".eml": "eml",
    ".ipynb": "ipynb",
}
"""The module in `formats/` that reads each suffix."""

FileReader: TypeAlias = Callable[[bytes, str], Document]
"""Reads the content of a file, given its name."""

_MACROS = "It may contain macros, which are programs. Save a copy without macros."
_OLD = "It is in an old binary format. Save it as .docx, .pptx or .xlsx."
_REFUSED = {
    **dict.fromkeys((".docm", ".dotm", ".pptm", ".ppsm", ".xlsm", ".xltm"), _MACROS),
    **dict.fromkeys((".doc", ".ppt", ".xls", ".xlsb"), _OLD),
}
"""Suffixes that are refused for a reason of their own."""

_PACKAGES = {".pdf": ("pypdf", "cryptography")}
"""Packages of others that decide what can be read."""
_PACKED = frozenset((".docx", ".pptx", ".xlsx", ".odt", ".epub"))
"""Kinds that are archives themselves, whose readers say what is wrong with one."""
_IGNORED = frozenset({"node_modules", "__pycache__"})
_LINK_OUT = "It is a link that leads out of the folder."


class Failure(NamedTuple):
    """A file, or a place in one, that could not be used."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file and the origin that its passages carry."""

    path: Path
    origin: str

    @property
    def suffix(self) -> str:
        """The suffix of the name, in lower case."""
        return self.path.suffix.lower()

    @property
    def size(self) -> int:
        """Bytes on the disk; 0 if the file is gone."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def status(self) -> os.stat_result:
        """Size and times of the file; raises an input error if it cannot be opened."""
        try:
            return self.path.stat()
        except OSError as error:
            raise InputError(
                f"'{self.path.name}' cannot be opened: {error.strerror}.", remedy="Was it moved?"
            ) from error

    def is_at(self, base: Path) -> bool:
        """Whether the file lies where its origin says, below `base`."""
        place = os.path.join(base, self.origin)  # noqa: PTH118 - quick, by the million
        return place == os.path.abspath(self.path)  # noqa: PTH100 - quick, by the million


class SourceFiles(Collection[SourceFile]):
    """Files as the names in their folders, made into values one at a time: a folder may hold a million files."""

    def __init__(self, base: Path | None) -> None:
        self._base = base
        self._folders: list[tuple[str, str]] = []
        self._folder, self._names = "", list[str]()
        self._count = 0

    def add(self, path: Path) -> None:
        folder = str(path.parent)
        if folder != self._folder:
            self.close_folder()
            self._folder = folder
        self._names.append(path.name)
        self._count += 1

    def close_folder(self) -> None:
        """Join the names of the last folder; called when all files are added."""
        if self._names:
            self._folders.append((self._folder, "/".join(self._names)))  # no name holds a slash
            self._names = []

    def __iter__(self) -> Iterator[SourceFile]:
        for folder, names in self._folders:
            for name in names.split("/"):
                path = Path(folder, name)
                yield SourceFile(path, origin_of(path, self._base))

    def __len__(self) -> int:
        return self._count

    def __contains__(self, file: object) -> bool:
        return any(file == own for own in self)


class Listing(NamedTuple):
    """A sitemap that was read to its end, and the pages that it lists."""

    sitemap: str
    pages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """The files under some paths, in sorted order; `roots` are the paths themselves, as origins."""

    files: Collection[SourceFile]
    roots: tuple[str, ...]
    failed: tuple[Failure, ...] = ()
    skipped: tuple[Failure, ...] = ()
    """Links that lead out of their folder."""
    gone: tuple[str, ...] = ()
    """Addresses of pages that, as their site says, no longer exist. They are among the failures, too."""
    listings: tuple[Listing, ...] = ()


def find(paths: Iterable[Path | str], *, base: Path | None = None, follow_links: bool = False) -> FoundFiles:
    """All files under the paths, without hidden files.

    Links inside a folder that lead out of it are skipped unless `follow_links` is set; a path that is itself a link is
    always followed. Origins are relative to `base` (default: the working folder), and absolute outside of it.
    """
    files = SourceFiles(base)
    origins: set[str] = set()
    places = [Path(path) for path in paths]
    failed: list[Failure] = []
    skipped: list[Failure] = []
    roots = []
    for path in places:
        if not path.exists():
            raise _missing(path)
        roots.append(origin_of(path, base))
        walk = _FolderWalk(path, base, follow_links=follow_links)
        for inner in walk.files():
            if len(places) > 1:  # paths may overlap
                origin = origin_of(inner, base)
                if origin in origins:
                    continue
                origins.add(origin)
            files.add(inner)
        failed += walk.failed
        skipped += walk.skipped
    files.close_folder()
    return FoundFiles(files, tuple(roots), tuple(failed), tuple(skipped))


def leads_out(path: Path, folder: Path) -> bool:
    """Whether a path is a link, perhaps through other links, to a place outside of a folder."""
    return path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def origin_of(path: Path, base: Path | None = None) -> str:
    """The name of a path in the store: relative to the base with forward slashes, absolute outside of it."""
    # As plain strings: a folder may hold a million files. abspath() follows no links, which would change the name.
    absolute = os.path.abspath(path)  # noqa: PTH100
    inside = os.path.abspath(base or "")  # noqa: PTH100
    if absolute == inside:
        return "."
    shown = absolute.removeprefix(inside.rstrip(os.sep) + os.sep).replace(os.sep, "/")
    return os.fsencode(shown).decode("utf-8", "replace")


def why_refused(suffix: str) -> str | None:
    """What to do with files of a kind that is refused for a reason of its own."""
    return None if suffix in readers() else _REFUSED.get(suffix)


def load(path: Path) -> bytes:
    """The bytes of a file that can be ingested."""
    name, suffix = path.name, path.suffix.lower()
    if remedy := why_refused(suffix):
        raise InputError(f"'{name}' cannot be read.", remedy=remedy)
    if suffix not in readers():
        raise InputError(
            f"Files of the kind '{path.suffix}' cannot be read.",
            remedy=f"Kinds that can: {', '.join(suffix for suffix in readers() if suffix)}.",
        )
    if not path.is_file():  # a pipe or a device would block for ever
        raise InputError(f"'{name}' is not a file.", remedy="Give a file or a folder.")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"'{name}' cannot be opened: {error.strerror}.", remedy="Check its permissions.") from error
    if not content.strip():
        raise InputError(f"'{name}' is empty.", remedy="Put text in it, or remove it.")
    return content


@cache
def readers() -> Mapping[str, str | FileReader]:
    """The reader of each suffix: ours by their modules, then those of installed packages.

    A package brings one with an entry point of the group `dragoman.format`, named by the suffix without its dot: for
    instance `png`, with a function that takes the bytes and the name of a file and returns its document.
    """
    return {**READERS, **{f".{suffix.lower()}": reader for suffix, reader in plugins("format")}}


def _reader(suffix: str) -> FileReader:
    reader = readers()[suffix]
    if isinstance(reader, str):
        module = importlib.import_module(f"dragoman.sources.formats.{reader}")
        reader = cast("FileReader", module.read)
    return reader


def packages_of(suffix: str) -> str | None:
    """The packages of others by which our reader of a suffix reads; None where the reader itself is another's."""
    if not isinstance(readers().get(suffix), str):
        return None
    from importlib.metadata import PackageNotFoundError, version

    versions = []
    for name in _PACKAGES.get(suffix, ()):
        with suppress(PackageNotFoundError):
            versions.append(f"{name} {version(name)}")
    return ", ".join(versions)


def parse(content: bytes, name: str) -> Document:
    """The document in a file's bytes, by the suffix of its name."""
    suffix = Path(name).suffix.lower()
    try:
        document = _reader(suffix)(content, name)
    except InputError as error:
        kind = content_kind(content)
        if kind is None or kind.suffix == suffix or (suffix in _PACKED and content.startswith(b"PK")):
            raise
        remedy = f"Rename it so that it ends in {kind.suffix}." if kind.suffix else "Save it in another format."
        raise InputError(f"'{name}' is {kind.words}, whatever its name says.", remedy=remedy) from error
    if not document.sections:
        raise InputError(f"'{name}' holds no text.", remedy="Put text in it, or remove it.")
    return document


def read(path: Path | str) -> Document:
    """One file as a document."""
    return parse(load(Path(path)), Path(path).name)


class _FolderWalk:
    """A walk over the files of a folder, sorted by name within each folder; it enters no folder twice."""

    def __init__(self, root: Path, base: Path | None, *, follow_links: bool) -> None:
        self._root = root
        self._base = base
        self._follow_links = follow_links
        self.failed: list[Failure] = []
        self.skipped: list[Failure] = []

    def files(self) -> Iterator[Path]:
        """The files; a root that is a file is the only one."""
        if not self._root.is_dir():
            yield self._root
            return
        entered: set[str] = set()
        pending: list[_Entry] = [_Entry(self._root, "", is_link=False, is_folder=True)]
        while pending:
            folder, name, is_link, is_folder = pending.pop()
            path = folder / name
            if is_link:
                if leads_out(path, self._root):
                    if not self._follow_links:
                        self.skipped.append(Failure(origin_of(path, self._base), _LINK_OUT))
                        continue
                elif is_folder:  # the walk meets the target under its own name
                    continue
            if not is_folder:
                yield path
            elif (real := os.path.realpath(path)) not in entered:
                entered.add(real)
                pending.extend(reversed(self._entries(path)))

    def _entries(self, folder: Path) -> list[_Entry]:
        try:
            with os.scandir(folder) as scanned:
                entries = sorted(scanned, key=lambda entry: entry.name)
        except OSError as error:
            reason = f"The folder cannot be opened: {error.strerror}."
            self.failed.append(Failure(origin_of(folder, self._base), reason))
            return []
        return [
            _Entry(folder, entry.name, entry.is_symlink(), _is_folder(entry))
            for entry in entries
            if not entry.name.startswith(".") and entry.name not in _IGNORED
        ]


class _Entry(NamedTuple):
    """An entry of a folder; asking the folder costs less than asking each file, and a path is made when it is due."""

    folder: Path
    name: str
    is_link: bool
    is_folder: bool


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link in a circle
        return False


def _missing(path: Path) -> InputError:
    folder = path.parent
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    close = get_close_matches(path.name, names, n=1, cutoff=0.6)
    remedy = f"Did you mean '{folder / close[0]}'?" if close else "Check the path."
    return InputError(f"There is no file or folder '{path}'.", remedy=remedy, path=str(path))
