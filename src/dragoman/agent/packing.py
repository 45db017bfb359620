"""Pack an agent's folder into one file, and open such a file: without weights, without state, and without trust.

A packed agent comes from somebody else. It is opened only if it holds plain files with the hashes that it lists, starts
no program and names no address: then it can do nothing but answer on this machine.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from dragoman.config import FILE_NAME
from dragoman.core.errors import ConfigError, InputError
from dragoman.core.home import home
from dragoman.sources.files import find

SUFFIX = ".dragoman"
FORMAT = 1
LIST = "pack.json"
MOST_BYTES = 2 * 2**30
MOST_FILES = 20_000
_CHUNK = 1 << 20
_TIME = (2020, 1, 1, 0, 0, 0)
_CODE = frozenset({".py", ".pyc", ".so", ".dll", ".exe", ".sh", ".bat", ".pkl", ".pickle", ".pt", ".bin", ".joblib"})
_ADDRESSES = ("url", "base_url", "endpoint", "command")


def pack(folder: Path, out: Path) -> int:
    """Write an agent's folder, without hidden files, to one file; return the number of files.

    The same folder makes the same bytes.
    """
    files = {file.origin: file.path for file in find([folder], base=folder).files}
    if FILE_NAME not in files:
        raise ConfigError(f"There is no {FILE_NAME} in {folder}.", remedy=f"'dragoman init {folder}' makes one.")
    config = _config(files[FILE_NAME].read_bytes(), folder / FILE_NAME)
    _check_inside(config, folder)
    for name in files:
        _check_name(name)
    listed = {"format": FORMAT, "name": config.get("name", folder.name), "files": {}}
    partial = out.with_name(f".{out.name}.part")
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, path in sorted(files.items()):
                content = path.read_bytes()
                listed["files"][name] = hashlib.sha256(content).hexdigest()
                _write(archive, name, content)
            _write(archive, LIST, json.dumps(listed, ensure_ascii=False, indent=1).encode())
        partial.replace(out)
    finally:
        partial.unlink(missing_ok=True)
    return len(files)


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
        except (zipfile.BadZipFile, EOFError, ValueError, KeyError, RuntimeError, NotImplementedError) as error:
            raise InputError(f"'{file.name}' is not a packed agent, or is damaged.", remedy="Get it again.") from error
        if not folder.is_dir():
            inner.rename(folder)
    return folder


def _extract(file: Path, folder: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        members = [info for info in archive.infolist() if not info.is_dir()]
        if len(members) > MOST_FILES or sum(info.file_size for info in members) > MOST_BYTES:
            raise InputError(f"'{file.name}' unpacks into too much.", remedy=f"Up to {MOST_BYTES / 1e9:.0f} GB are.")
        listed = json.loads(archive.read(LIST))
        if listed.get("format") != FORMAT:
            raise InputError(f"'{file.name}' has another format than {FORMAT}.", remedy="Update Dragoman.")
        hashes: Mapping[str, str] = listed["files"]
        for name in hashes:
            _check_name(name)
        config = _config(archive.read(FILE_NAME), Path(file.name))
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
    if wrong or any(part.startswith(".") for part in path.parts):
        raise InputError(f"'{name}' is no name of a file in an agent's folder.", remedy="Do not use it.")


def _check_inside(config: Mapping[str, Any], folder: Path) -> None:
    """Refuse an agent whose parts or files lie outside of its folder: they would be missing elsewhere."""
    for key, value in _values(config):
        if key in ("part", "path", "joint") and isinstance(value, str) and (Path(value).is_absolute() or ".." in value):
            raise ConfigError(
                f"{key} = '{value}' lies outside of {folder}.", remedy="Copy it beside agent.toml, and name it so."
            )


def _check_alone(config: Mapping[str, Any], file: Path) -> None:
    """Refuse an agent that would start a program or send what is said to an address."""
    for key, value in _values(config):
        if key in _ADDRESSES and value:
            what = "starts the program" if key == "command" else "talks to"
            shown = " ".join(map(str, value)) if isinstance(value, list) else str(value)
            raise ConfigError(
                f"The packed agent '{file.name}' {what} '{shown}'.",
                remedy="If you trust who made it: unzip it into a folder, and give that with --agent.",
            )


def _values(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every key and value of a table and of the tables in it."""
    for key, value in table.items():
        yield key, value
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, Mapping):
                yield from _values(inner)
