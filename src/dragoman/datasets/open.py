"""A set by its kind, or by its file alone: what a file is, where it lies, and what its loader can be told."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import cast

from dragoman.core.errors import ConfigError, InputError
from dragoman.core.examples import Dataset
from dragoman.core.registry import datasets

SHIPPED: Mapping[str, Mapping[str, str]] = {"toy": {"language": "en"}, "toy-zh": {"language": "zh"}}
"""Sets that need no file, by the names under which they may stand in a file's place."""

_HEAD = 2**16
_KEY = re.compile(rb'"([\w-]+)"\s*:')
_CONVAI2 = re.compile(rb"1 (?:your|partner's) persona:")
_OWN = frozenset({"dataset", "dialogue", "context", "candidates", "evidence", "retrieve", "plan", "reply"})
_BY_KEYS: tuple[tuple[str, frozenset[str]], ...] = (
    ("kbp", frozenset({"persona", "persona_kg"})),
    ("dulemon", frozenset({"bot_persona"})),
    ("ketod-gate", frozenset({"dialogue_id", "context", "enrich"})),
    ("ketod", frozenset({"dialogue_id", "turns"})),
    ("pairs", frozenset({"set", "question", "text"})),
    ("focus", frozenset({"data", "utterance"})),
    ("focus", frozenset({"data", "dialogID"})),
)
_SUFFIXES = (".json", ".jsonl", ".txt")
_DEEPEST = 3
_SHOWN = 6
_LOGS = "logs.json"


@dataclass(frozen=True, slots=True)
class DatasetKind:
    """A registered kind of set: its name, what it is, and its options with their defaults (None: must be given)."""

    name: str
    about: str
    options: Mapping[str, str | None]


def open_dataset(kind: str | None, file: str | Path | None = None, **options: object) -> Dataset:
    """A set of a kind from the registry; where the kind is None, the file says what it is.

    The file is looked for here and under $DRAGOMAN_DATA; `toy` and `toy-zh` may stand in its place.
    """
    if kind is None:
        if file is None:
            raise ConfigError("Neither a kind of set nor a file is given.", remedy="Name a file, or the kind 'toy'.")
        kind = sniff(file)
    if file is not None and str(file) in SHIPPED and kind.partition(".")[0] == "toy":
        options, file = {**SHIPPED[str(file)], **options}, None
    factory = datasets.factory(kind)
    known = _options(factory)
    for name in options:
        if name not in known:
            close = get_close_matches(name, list(known), n=1, cutoff=0.5)
            hint = f" Did you mean '{close[0]}'?" if close else ""
            raise ConfigError(
                f"dataset.{_short(kind)}: unknown option '{name}'.{hint}",
                remedy=f"Known: {', '.join(known) or 'none'}.",
                option=name,
            )
    if file is not None:
        if "file" not in known:
            raise ConfigError(f"dataset.{_short(kind)} reads no file, but '{file}' is given.", remedy="Leave it out.")
        options = {"file": resolve(file), **options}
    missing = [name for name, default in known.items() if default is None and name not in options]
    if missing:
        raise ConfigError(f"dataset.{_short(kind)} needs '{missing[0]}'.", remedy=f"Give {missing[0]}=PATH.")
    return cast(Dataset, factory(**options))


def sniff(file: str | Path) -> str:
    """The kind of set that a file or folder holds, by its first record."""
    if str(file) in SHIPPED:
        return "toy"
    path = resolve(file)
    found = _folder_kind(path) if path.is_dir() else _file_kind(path)
    if found is not None:
        return found
    if path.is_dir():
        inside = [str(place) for _, place in files_in(path)][:_SHOWN]
        remedy = f"Name one of: {', '.join(inside)}." if inside else "Name a file."
        raise InputError(f"{path} is a folder.", remedy=remedy, file=str(path))
    raise InputError(
        f"Cannot tell what kind of set {path} is.",
        remedy=f"Say it, and write it as what every command knows: dragoman data convert {path} OUT.jsonl --kind "
        f"{'|'.join(kind.name for kind in kinds())}.",
        file=str(path),
    )


def resolve(file: str | Path) -> Path:
    """Where a file lies: relative paths are looked for in the working directory, then under $DRAGOMAN_DATA."""
    path = Path(file).expanduser()
    root = data_folder()
    tried = [path] if path.is_absolute() or root is None else [path, root / path]
    for place in tried:
        if place.exists():
            return place
    near = _near(tried)
    places = " nor ".join(str(place) for place in tried)
    where = (
        "" if path.is_absolute() or root is not None else " Relative paths are also looked for under $DRAGOMAN_DATA."
    )
    raise InputError(f"There is no {places}.", remedy=f"{near or 'Check the path.'}{where}", file=str(path))


def data_folder() -> Path | None:
    """The folder that $DRAGOMAN_DATA names, where it is set."""
    named = os.environ.get("DRAGOMAN_DATA", "").strip()
    return Path(named).expanduser() if named else None


def kinds() -> tuple[DatasetKind, ...]:
    """Every registered kind of set."""
    found = []
    for name in datasets.names():
        factory = datasets.factory(name)
        about = (inspect.getdoc(factory) or "").partition("\n")[0]
        found.append(DatasetKind(_short(name), about, _options(factory)))
    return tuple(found)


def files_in(folder: Path) -> Iterator[tuple[str, Path]]:
    """The sets that lie under a folder, three levels deep, with their kinds; what is no set is passed over."""
    for path in sorted(folder.rglob("*")):
        depth = len(path.relative_to(folder).parts)
        if depth > _DEEPEST or any(part.startswith(".") for part in path.relative_to(folder).parts):
            continue
        kind = None
        if path.is_dir():
            kind = _folder_kind(path)
        elif path.suffix in _SUFFIXES and path.name != _LOGS:  # logs go by the name of their folder
            kind = _file_kind(path)
        if kind is not None:
            yield kind, path


def _folder_kind(path: Path) -> str | None:
    return "dstc11" if (path / _LOGS).is_file() else None


def _file_kind(path: Path) -> str | None:
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}.", file=str(path)) from error
    if _CONVAI2.match(head):
        return "convai2"
    keys = frozenset(key.decode() for key in _KEY.findall(head))
    first = frozenset(key.decode() for key in _KEY.findall(head.partition(b"\n")[0]))
    by_lines = head.startswith(b"{") and b"}\n{" in head.replace(b"\r", b"")
    for kind, wanted in _BY_KEYS:
        if wanted <= (first if by_lines else keys):
            return kind
    if head.startswith(b"[") and keys == {"speaker", "text"} and path.name == _LOGS:
        return "dstc11"
    own = head.startswith(b"{") and bool(_OWN & first)
    return "jsonl" if own or path.suffix in (".jsonl", ".ndjson") else None


def _options(factory: Callable[..., object]) -> dict[str, str | None]:
    """The options of a loader and their defaults, as they would be written; None where one must be given."""
    signature = inspect.signature(factory)
    return {
        name: None if parameter.default is parameter.empty else str(parameter.default)
        for name, parameter in signature.parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }


def _short(name: str) -> str:
    """`kbp` of `dataset.kbp.v1`."""
    return re.sub(r"\.v\d+$", "", name.removeprefix("dataset."))


def _near(tried: list[Path]) -> str:
    """What is there that was perhaps meant."""
    for place in tried:
        if place.parent.is_dir():
            beside = [entry.name for entry in place.parent.iterdir()]
            close = get_close_matches(place.name, beside, n=1, cutoff=0.6)
            if close:
                return f"Did you mean {place.parent / close[0]}?"
    return ""
