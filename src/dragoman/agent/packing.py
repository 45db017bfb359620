"""Pack an agent's folder, without weights and state, into one file, and open such a file without trusting it.

A packed agent comes from somebody else. It is opened only if it holds plain files with the hashes that it lists, starts
no program and names no address: then it can do nothing but answer on this machine.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import tomllib
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, cast

from dragoman.agent.create import parameters
from dragoman.config import FILE_NAME
from dragoman.core.environment import home
from dragoman.core.errors import ConfigError, InputError, UnknownNameError, WeightsError
from dragoman.core.model_names import model_table
from dragoman.core.registry import REGISTRIES
from dragoman.models.onnx.outside_data import check_self_contained
from dragoman.sources.files import find, readers

SUFFIX = ".dragoman"
FORMAT = 1
LIST = "pack.json"
MOST_BYTES = 2 * 2**30
MOST_FILES = 20_000
_CHUNK = 1 << 20
_TIME = (2020, 1, 1, 0, 0, 0)
_CODE = frozenset({".py", ".pyc", ".so", ".dll", ".exe", ".sh", ".bat", ".pkl", ".pickle", ".pt", ".bin", ".joblib"})
_ADDRESSES = ("url", "base_url", "endpoint", "command")
_ADDRESS_OPTIONS = frozenset({*_ADDRESSES, "profile"})
_TEXTS = frozenset({"name", "description", "greeting", "examples", "instructions", "language", "tenant", "about"})
"""Keys whose values are words for people; all others may be paths."""
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Ways to pack; Python unpacks others without a limit on memory."""
_MOST_LIST = 16 * 2**20
_MOST_CONFIG = 2**20
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class CopiedSource:
    """A source outside of the agent's folder, with the number of files copied and of unsupported files left out."""

    source: str
    path: str
    files: int
    left_out: int


@dataclass(frozen=True, slots=True)
class PackReport:
    """How many files a packed agent holds, and what was copied from outside of the agent's folder."""

    files: int
    copied: tuple[CopiedSource, ...] = ()
    refused: str = ""
    """Why `dragoman chat FILE` will refuse it; it can be unzipped and used as a folder."""


def pack(folder: Path, out: Path) -> PackReport:
    """Write an agent's folder, without hidden files, and the documents that it reads from elsewhere to one file.

    The same files make the same bytes.
    """
    files = {file.origin: file.path for file in find([folder], base=folder).files}
    if FILE_NAME not in files:
        raise ConfigError(f"There is no {FILE_NAME} in {folder}.", remedy=f"'dragoman init {folder}' makes one.")
    text = files[FILE_NAME].read_bytes()
    config = _config(text, folder / FILE_NAME)
    copied = []
    for source in _outside_sources(config):
        path = source["path"]
        inside = _free_name(str(source.get("name", "documents")), files)
        readable, left_out = _readable(folder / path)
        files.update({str(inside / name): path for name, path in readable.items()})
        moved = inside / next(iter(readable)) if (folder / path).is_file() and readable else inside
        text = _with_path(text, path, moved.as_posix(), folder)
        copied.append(CopiedSource(str(source.get("name", "")), path, len(readable), left_out))
    config = _config(text, folder / FILE_NAME)
    _check_inside(config, folder)
    for name in files:
        _check_name(name)
    listed = {"format": FORMAT, "name": config.get("name", folder.name), "files": {}}
    partial = out.with_name(f".{out.name}.part")
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, path in sorted(files.items()):
                content = text if name == FILE_NAME else path.read_bytes()
                listed["files"][name] = hashlib.sha256(content).hexdigest()
                _write(archive, name, content)
            _write(archive, LIST, json.dumps(listed, ensure_ascii=False, indent=1).encode())
        partial.replace(out)
    finally:
        partial.unlink(missing_ok=True)
    return PackReport(len(files), tuple(copied), _why_refused(config, out))


def _why_refused(config: Mapping[str, Any], file: Path) -> str:
    try:
        _check_alone(config, file)
    except ConfigError as error:
        return error.message
    return ""


def _outside_sources(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The shared sources that are read from outside of the agent's folder."""
    sources = config.get("sources")
    tables = [table for table in sources if isinstance(table, Mapping)] if isinstance(sources, list) else []
    outside = [table for table in tables if isinstance(table.get("path"), str) and _leads_out(table["path"])]
    return [table for table in outside if not table.get("private")]


def _free_name(source: str, files: Collection[str]) -> PurePosixPath:
    """A name for a folder in the packed agent that no file or folder has yet."""
    plain = "".join(letter for letter in source.lower() if letter.isalnum() or letter in "-_") or "documents"
    taken = {PurePosixPath(name).parts[0].lower() for name in files}
    names = (plain, *(f"{plain}-{number}" for number in range(2, len(taken) + 3)))
    return PurePosixPath(next(name for name in names if name not in taken))


def _readable(path: Path) -> tuple[dict[str, Path], int]:
    """The files at a path that a reader takes, by their names in it, and how many there are of other kinds."""
    if not path.exists():
        raise ConfigError(f"There is no {path}.", remedy="Correct the path of that source.")
    base = path.parent if path.is_file() else path
    files = {file.origin: file.path for file in find([path], base=base).files}
    readable = {name: file for name, file in files.items() if file.suffix.lower() in readers()}
    if not readable:
        raise ConfigError(f"{path} holds no file that can be read.", remedy="Correct the path of that source.")
    return dict(sorted(readable.items())), len(files) - len(readable)


def _with_path(text: bytes, path: str, moved: str, folder: Path) -> bytes:
    """Replace a source path in the text of agent.toml and keep its other lines."""
    before = _config(text, folder / FILE_NAME)
    for source in _outside_sources(before):
        if source["path"] == path:
            cast("dict[str, Any]", source)["path"] = moved
            break
    lines = text.decode("utf-8").splitlines(keepends=True)
    for number, line in enumerate(lines):
        key = line.partition("=")[0]
        if key.strip() != "path":
            continue
        ending = line[len(line.rstrip("\r\n")) :]
        indent = line[: len(line) - len(line.lstrip())]
        edited = f"{indent}path = {json.dumps(moved, ensure_ascii=False)}{ending}"
        changed = "".join([*lines[:number], edited, *lines[number + 1 :]]).encode()
        with suppress(tomllib.TOMLDecodeError):
            if tomllib.loads(changed.decode()) == before:
                return changed
    raise ConfigError(f"path = '{path}' lies outside of {folder}.", remedy="Copy it beside agent.toml, and name it so.")


def is_packed(path: Path) -> bool:
    """Whether a file is a packed agent, by its suffix."""
    return path.suffix == SUFFIX and path.is_file()


def unpack(file: Path) -> Path:
    """The folder of a packed agent, unpacked once for each content below `$DRAGOMAN_HOME/packed`."""
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()[:16]
    folder = home() / "packed" / digest
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".unpack-", dir=folder.parent) as temporary:
        inner = Path(temporary) / "agent"
        try:
            _extract(file, inner)
        except (
            *(zipfile.BadZipFile, zlib.error, EOFError, ValueError, KeyError, TypeError, AttributeError),
            *(RuntimeError, NotImplementedError, WeightsError),
        ) as error:
            raise InputError(f"'{file.name}' is not a packed agent, or is damaged.", remedy="Get it again.") from error
        try:
            inner.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process was quicker
                raise
    return folder


def _extract(file: Path, folder: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        members = [info for info in archive.infolist() if not info.is_dir()]
        if len(members) > MOST_FILES or sum(info.file_size for info in members) > MOST_BYTES:
            raise InputError(f"'{file.name}' unpacks into too much.", remedy=f"Up to {MOST_BYTES / 1e9:.0f} GB are.")
        if any(info.compress_type not in _METHODS for info in members):
            raise InputError(f"'{file.name}' is packed in an unusual way.", remedy="Do not use it.")
        listed = json.loads(_read(archive, LIST, _MOST_LIST))
        if listed.get("format") != FORMAT:
            raise InputError(f"'{file.name}' has another format than {FORMAT}.", remedy="Update Dragoman.")
        hashes: Mapping[str, str] = listed["files"]
        folders = {parent.as_posix() for name in hashes for parent in PurePosixPath(name).parents}
        for name in hashes:
            _check_name(name)
            if name in folders:
                raise InputError(f"'{name}' in '{file.name}' is a file and a folder.", remedy="Do not use it.")
        config = _config(_read(archive, FILE_NAME, _MOST_CONFIG), Path(file.name))
        _check_alone(config, file)
        _check_inside(config, Path(file.name))
        for name, expected in hashes.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            digest, size = hashlib.sha256(), 0
            with archive.open(name) as packed, path.open("wb") as out:
                while chunk := packed.read(_CHUNK):
                    size += len(chunk)
                    if size > MOST_BYTES:
                        raise InputError(f"'{file.name}' unpacks into too much.", remedy="Do not use it.")
                    digest.update(chunk)
                    out.write(chunk)
            if digest.hexdigest() != expected:
                raise InputError(f"'{name}' in '{file.name}' is damaged.", remedy="Get the file again.")
            if path.suffix.lower() == ".onnx":
                check_self_contained(path)


def _read(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """A member that is needed in memory, up to a limit."""
    with archive.open(name) as opened:
        content = opened.read(most + 1)
    if len(content) > most:
        raise InputError(f"{name} has more than {most // 2**20} MB.", remedy="Do not use it.")
    return content


def _write(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    info = zipfile.ZipInfo(name, _TIME)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    archive.writestr(info, content)


def _config(content: bytes, file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(content.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{file} is not valid TOML: {error}.", remedy="Mend it.") from error


def _check_name(name: str) -> None:
    path = PurePosixPath(name)
    if path.suffix.lower() in _CODE:
        raise InputError(f"'{name}' may run code when it is loaded.", remedy="Agents are packed without programs.")
    wrong = path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name or name != path.as_posix()
    if wrong or any(part.startswith(".") or len(part.encode()) > _LONGEST_NAME for part in path.parts):
        raise InputError(f"'{name}' is no name of a file in an agent's folder.", remedy="Do not use it.")


def _check_inside(config: Mapping[str, Any], folder: Path) -> None:
    """Refuse an agent whose parts or files lie outside of its folder: they would be missing elsewhere."""
    for key, value in _values(_with_model_table(config)):
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and key not in _TEXTS and _leads_out(text):
                raise ConfigError(
                    f"{key} = '{text}' lies outside of {folder}.", remedy="Copy it beside agent.toml, and name it so."
                )


def _leads_out(text: str) -> bool:
    path = PureWindowsPath(text)  # it accepts both kinds of slashes
    return text.startswith("~") or ".." in path.parts or bool(path.root or path.drive)


def _check_alone(config: Mapping[str, Any], file: Path) -> None:
    """Refuse an agent that would start a program, or send messages to an address."""
    config = _with_model_table(config)
    for key, value in _values(config):
        if key in _ADDRESSES and value:
            what = "starts the program" if key == "command" else "talks to"
            text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
            raise _not_alone(file, f"{what} '{text}'")
    kinds = [value for key, value in _values(config) if key == "kind" and isinstance(value, str)]
    for kind in kinds:
        if _has_address(kind):
            # The component has a default address: a vendor's, used with this user's key, or a local server's.
            raise _not_alone(file, f"talks to a server, by the kind '{kind}'")


def _has_address(kind: str) -> bool:
    """Whether a component of some role has this kind, and can be given an address."""
    for registry in REGISTRIES.values():
        try:
            factory = registry.factory(kind)
        except UnknownNameError:
            continue
        if not _ADDRESS_OPTIONS.isdisjoint(parameters(factory)):
            return True
    return False


def _not_alone(file: Path, what: str) -> ConfigError:
    return ConfigError(
        f"The packed agent '{file.name}' {what}.",
        remedy="If you trust who made it: unzip it into a folder, and give that with --agent.",
    )


def _with_model_table(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The configuration with a language model in one line, such as a path to weights, as its table."""
    models = config.get("models")
    if not isinstance(models, Mapping) or not isinstance(language := models.get("language"), str):
        return config
    return {**config, "models": {**models, "language": model_table(language)}}


def _values(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every key and value of a table and of the tables in it."""
    for key, value in table.items():
        yield key, value
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, Mapping):
                yield from _values(inner)
