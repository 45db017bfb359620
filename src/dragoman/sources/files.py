"""Finds the files under given paths and reads one into a document; what cannot be used says why."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from dragoman.core.errors import InputError
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
}
"""The module in `formats/` that reads each suffix."""

_PASSED_OVER = frozenset({"node_modules", "__pycache__"})


class Failure(NamedTuple):
    """A file, or a place in one, that could not be used."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file and the name under which its passages are known."""

    path: Path
    origin: str


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """The files under some paths, in sorted order; `roots` are the paths themselves, as origins."""

    files: tuple[SourceFile, ...]
    roots: tuple[str, ...]
    failed: tuple[Failure, ...] = ()


def find(paths: Iterable[Path | str], *, base: Path | None = None) -> FoundFiles:
    """All files under the paths; hidden ones and links that lead back inside are passed over.

    Origins are relative to `base` (the working folder unless given), and absolute outside of it.
    """
    files: dict[str, SourceFile] = {}
    failed: list[Failure] = []
    roots = []
    for given in paths:
        path = Path(given)
        if not path.exists():
            raise _missing(path)
        roots.append(origin_of(path, base))
        for inner in _walk(path, base, failed) if path.is_dir() else (path,):
            origin = origin_of(inner, base)
            files.setdefault(origin, SourceFile(inner, origin))
    return FoundFiles(tuple(files.values()), tuple(roots), tuple(failed))


def origin_of(path: Path, base: Path | None = None) -> str:
    """The name of a path in the store: relative to the base with forward slashes, absolute outside of it."""
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links and change the name
    inside = Path(os.path.abspath(base or Path.cwd()))  # noqa: PTH100
    shown = absolute.relative_to(inside) if absolute.is_relative_to(inside) else absolute
    return os.fsencode(shown.as_posix()).decode("utf-8", "replace")


def load(path: Path) -> bytes:
    """The bytes of a file that can be ingested."""
    name = path.name
    if path.suffix.lower() not in READERS:
        raise InputError(
            f"Files of the kind '{path.suffix}' cannot be read.",
            remedy=f"Kinds that can: {', '.join(suffix for suffix in READERS if suffix)}.",
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


def parse(content: bytes, name: str) -> Document:
    """The document in a file's bytes, by the suffix of its name."""
    module = importlib.import_module(f"dragoman.sources.formats.{READERS[Path(name).suffix.lower()]}")
    document: Document = module.read(content, name)
    if not document.sections:
        raise InputError(f"'{name}' holds no text.", remedy="Put text in it, or remove it.")
    return document


def read(path: Path | str) -> Document:
    """One file as a document."""
    return parse(load(Path(path)), Path(path).name)


def _walk(root: Path, base: Path | None, failed: list[Failure]) -> Iterator[Path]:
    """Files below a folder, each folder's own sorted by name; no folder is entered twice."""
    home = Path(os.path.realpath(root))
    entered: set[str] = set()
    waiting = [root]
    while waiting:
        path = waiting.pop()
        if not path.is_dir():
            yield path
            continue
        real = os.path.realpath(path)
        # What a link inside the folder points at is met under its own name anyway.
        if real in entered or (path != root and path.is_symlink() and Path(real).is_relative_to(home)):
            continue
        entered.add(real)
        try:
            names = sorted(entry.name for entry in os.scandir(path))
        except OSError as error:
            failed.append(Failure(origin_of(path, base), f"The folder cannot be opened: {error.strerror}."))
            continue
        waiting.extend(path / name for name in reversed(names) if not name.startswith(".") and name not in _PASSED_OVER)


def _missing(path: Path) -> InputError:
    folder = path.parent
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    close = get_close_matches(path.name, names, n=1, cutoff=0.6)
    remedy = f"Did you mean '{folder / close[0]}'?" if close else "Check the path."
    return InputError(f"There is no file or folder '{path}'.", remedy=remedy, path=str(path))
