"""Find experiment files by path, or shipped ones by name."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path

from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.datasets.open import SHIPPED

_HERE = Path(__file__).resolve().parent
_PLACES = (_HERE / "experiments", _HERE.parents[2] / "experiments")
"""Where shipped experiments lie: in an installed package, and in a checkout."""
_SHARED = ("parts", "data")
"""The folder of parts and the file of sets that experiments share: no experiments themselves."""
_OF_DATA = (".json", ".jsonl", ".txt", ".csv")


def shipped() -> dict[str, Path]:
    """The shipped experiments by name: their path below the folder, without `.toml`."""
    files: dict[str, Path] = {}
    for folder in _PLACES:
        if folder == _PLACES[1] and not (folder.parent / "pyproject.toml").is_file():
            continue  # beside an installed package, a folder of that name is not ours
        for path in sorted(folder.rglob("*.toml")):
            name = path.relative_to(folder).with_suffix("")
            if name.parts[0] not in _SHARED:
                files.setdefault(name.as_posix(), path)
    return files


def titles() -> dict[str, str]:
    """The title of every shipped experiment."""
    return {name: _title(path) for name, path in shipped().items()}


def find(named: str | Path) -> tuple[str, Path]:
    """Return the name of an experiment, also used for its run, and its file."""
    path = Path(named)
    if path.suffix in _OF_DATA or str(named) in SHIPPED:
        raise ConfigError(
            f"'{named}' is a set, not an experiment.",
            remedy=f"Measure the default agent on it: dragoman evaluate --data {shlex.quote(str(named))}",
        )
    if path.is_file():
        return path.stem, path
    files = shipped()
    name = str(named).removesuffix(".toml").removeprefix("experiments/")
    if name in files:
        return name.replace("/", "-"), files[name]
    alike = [other for other in files if other.rpartition("/")[2] == name]
    if len(alike) == 1:
        return alike[0].replace("/", "-"), files[alike[0]]
    if path.is_dir():
        raise ConfigError(f"'{named}' is a folder, not an experiment file.", remedy="Give one of the files in it.")
    raise UnknownNameError(
        "experiment", str(named), files, remedy="Give one of these or the path of a file; --list shows their titles."
    )


def _title(path: Path) -> str:
    try:
        return str(tomllib.loads(path.read_text(encoding="utf-8-sig")).get("title", ""))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return "(cannot be read)"
