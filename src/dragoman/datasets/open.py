"""Open a data set by kind or by file: detection of the format, search paths, options of loaders."""

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
"""Sets that need no file, by the names that may replace a file name."""

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
    """Registered kind of set: name, description, and options with defaults (None: required)."""

    name: str
    about: str
    options: Mapping[str, str | None]


def open_dataset(kind: str | None, file: str | Path | None = None, **options: object) -> Dataset:
    """Open a set of a registered kind; without a kind, detect it from the file.

    The file is searched for here and under $DRAGOMAN_DATA; `toy` and `toy-zh` need no file.
    """
    if kind is None:
        if file is None:
            raise ConfigError("Neither a kind of set nor a file is given.", remedy="Name a file, or the kind 'toy'.")
        kind = sniff(file)
    if file is not None and str(file) in SHIPPED and kind.partition(".")[0] == "toy":
        options, file = {**SHIPPED[str(file)], **options}, None
    factory = datasets.factory(kind)
    accepted = _options(factory)
    for name in options:
        if name not in accepted:
            close = get_close_matches(name, list(accepted), n=1, cutoff=0.5)
            hint = f" Did you mean '{close[0]}'?" if close else ""
            raise ConfigError(
                f"dataset.{_short(kind)}: unknown option '{name}'.{hint}",
                remedy=f"Known: {', '.join(accepted) or 'none'}.",
                option=name,
            )
    if file is not None:
        if "file" not in accepted:
            raise ConfigError(f"dataset.{_short(kind)} reads no file, but '{file}' is given.", remedy="Leave it out.")
        options = {"file": resolve(file), **options}
    missing = [name for name, default in accepted.items() if default is None and name not in options]
    if missing:
        raise ConfigError(f"dataset.{_short(kind)} needs '{missing[0]}'.", remedy=f"Give {missing[0]}=PATH.")
    return cast(Dataset, factory(**options))


def sniff(file: str | Path) -> str:
    """Detect the kind of set of a file or folder from its first record."""
    if str(file) in SHIPPED:
        return "toy"
    path = resolve(file)
    kind = _folder_kind(path) if path.is_dir() else _file_kind(path)
    if kind is not None:
        return kind
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
    """Resolve a path: relative ones in the working directory, then under $DRAGOMAN_DATA."""
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
    """Return the folder of $DRAGOMAN_DATA, if set."""
    named = os.environ.get("DRAGOMAN_DATA", "").strip()
    return Path(named).expanduser() if named else None


def kinds() -> tuple[DatasetKind, ...]:
    """Return every registered kind of set."""
    dataset_kinds = []
    for name in datasets.names():
        factory = datasets.factory(name)
        about = (inspect.getdoc(factory) or "").partition("\n")[0]
        dataset_kinds.append(DatasetKind(_short(name), about, _options(factory)))
    return tuple(dataset_kinds)


def files_in(folder: Path) -> Iterator[tuple[str, Path]]:
    """Return the sets below a folder, three levels deep, with their kinds; other files are skipped."""
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
    """Return the options of a loader with their defaults as text; None marks required ones."""
    signature = inspect.signature(factory)
    return {
        name: None if parameter.default is parameter.empty else str(parameter.default)
        for name, parameter in signature.parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }


def _short(name: str) -> str:
    """Return the short name of a kind: `kbp` for `dataset.kbp.v1`."""
    return re.sub(r"\.v\d+$", "", name.removeprefix("dataset."))


def _near(tried: list[Path]) -> str:
    """Return existing names that resemble the missing one."""
    for place in tried:
        if place.parent.is_dir():
            beside = [entry.name for entry in place.parent.iterdir()]
            close = get_close_matches(place.name, beside, n=1, cutoff=0.6)
            if close:
                return f"Did you mean {place.parent / close[0]}?"
    return ""
