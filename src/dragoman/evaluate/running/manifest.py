"""run.json, the manifest: everything that a figure depends on, without paths of the machine.

What decides the rows (systems, data, prompts, code, libraries) is separate from what decides only the tables (columns,
baseline, titles): a run resumes where the first part is unchanged.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, TypeAlias, cast

from dragoman import prompts
from dragoman.core.codec import Json
from dragoman.core.errors import ConfigError, InputError
from dragoman.core.registry import REGISTRIES
from dragoman.evaluate.running.run_folder import file_name
from dragoman.evaluate.spec import ROLES, Experiment, SystemSpec

ROW_LIBRARIES = (
    *("numpy", "onnxruntime", "tokenizers", "tantivy", "usearch", "xllamacpp", "PyStemmer", "jieba"),
    *("torch", "transformers", "peft", "safetensors"),
)
TABLE_LIBRARIES = ("sacrebleu", "rouge-score", "scikit-learn", "scipy")
_TABLES_ONLY = ("cli", "cluster", "testing", "train", "evaluate")
"""Packages that rows do not depend on, except for these files of the last:"""
_ROWS_TOO = (
    *("running/dataset_table.py", "running/batch_worker.py", "running/runner.py"),
    *("systems/build.py", "systems/oracles.py", "systems/memo.py", "systems/vector_cache.py", "systems/meter.py"),
)
PYTHON = "python:"
"""Prefix of the kind of a set that was passed as an object."""
_FILES = "files of"
_PARTS = "parts"
_VERSIONS = "versions"
_DEVICE = "device"
_CODE = (".py", ".toml")
Parts: TypeAlias = Mapping[str, Mapping[str, Mapping[str, str]]]
"""By "systems" and "columns", by the entry's name, by the part's name: the hash of what the part says of itself.

Weights of one's own that are no part go by the option that names them ("encoder.weights"), and by their bytes.
"""
_TABLE_KEYS = ("title", "about", "paper", "table", "draws", "baseline", "columns", "figures", "defaults", "parts")
_SYSTEM_KEYS = ("group", "note", "paper")
_DATA_KEYS = ("title", "note", "asked")
_COLUMN_KEYS = ("title", "data", "missing", "scale", "digits")


def make_manifest(
    experiment: Experiment,
    contents: Mapping[str, Json],
    *,
    overrides: Sequence[str] = (),
    limit: int | None = None,
    skip_bad: bool = False,
    parts: Parts | None = None,
) -> dict[str, Json]:
    """Build the manifest of a run; `contents` holds the `hashes` of each set's files.

    `parts` holds what tells apart the trained parts that rows and columns run.
    """
    return {
        "experiment": resolved(experiment, parts),
        "overrides": [_scrubbed_override(entry) for entry in overrides],
        "seed": experiment.seed,
        "limit": limit,
        "skip_bad": skip_bad,
        "data": dict(contents),
        "prompts": {
            f"{language}/{name}": prompts.get(name, language).sha256
            for language in prompts.languages()
            for name in prompts.names(language)
        },
        _VERSIONS: _versions(),
        _DEVICE: _device(),
        "code": code_digest(),
        "commit": _commit(),
        "platform": {
            "system": platform.system(),
            "machine": platform.machine(),
            "python": platform.python_version(),
        },
        "files": {system.name: file_name(system.name) for system in experiment.systems if system.runs},
        "sets": {block.name: file_name(block.name) for block in experiment.data},
    }


def hashes(files: Iterable[Path]) -> list[Json]:
    """Name, hash and size of each file, read now."""
    return [_file(path) for path in files]


def resolved(experiment: Experiment, parts: Parts | None = None) -> dict[str, Json]:
    """The experiment with every kind by its full name and version, and no path of this machine."""
    whole = experiment.model_dump(mode="json")
    for block in whole["data"]:
        if not block["kind"].startswith(PYTHON):
            block["kind"] = REGISTRIES["dataset"].resolve(block["kind"])
    for column in whole["columns"]:
        column["metric"] = REGISTRIES["metric"].resolve(column["metric"])
        if column["missing"] is None:
            _resolve_roles(column)
    for system, spec in zip(whole["systems"], experiment.systems, strict=True):
        if spec.runs:
            _resolve_system(system, spec)
    for listed, key in (("systems", "name"), ("columns", "title")):
        for entry in whole[listed]:
            if (parts or {}).get(listed, {}).get(entry[key]):
                entry["parts"] = dict((parts or {})[listed][entry[key]])
    _resolve_roles(whole["defaults"])
    return cast(dict[str, Json], _scrubbed(whole))


def _resolve_system(system: dict[str, Any], spec: SystemSpec) -> None:
    """Fill in a system as it will be built, with the tables of its agent and the defaults."""
    from dragoman.evaluate.systems.build import system_design

    whole = system_design(spec)
    for role in ROLES:
        system[role] = dict(whole.tables[role]) if role in whole.used else {}
    system |= {"refiner": whole.refiner.model_dump(mode="json"), "k": whole.k, "fallback": whole.fallback}
    system["agent"] = None if whole.folder is None else whole.name


def _resolve_roles(tables: dict[str, Any]) -> None:
    for role in ROLES:
        table = tables.get(role)
        if isinstance(table, dict) and isinstance(table.get("kind"), str):
            table["kind"] = REGISTRIES[role].resolve(table["kind"])


def differences(before: Mapping[str, Json], now: Mapping[str, Json]) -> list[str]:
    """The differences of two manifests that change rows; added and removed systems do not count."""
    old, new = _deciding(before), _deciding(now)
    return [_difference(path, was, comes) for path, was, comes in _unequal(old, new, "")]


def _difference(path: str, was: object, comes: object) -> str:
    if path == "code":
        return "the code of Dragoman was another one"
    system, marked, part = path.removeprefix("systems.").partition(f".{_PARTS}.")
    if marked and "." in part and part.partition(".")[0] in ROLES:
        return f"what '{part}' of '{system}' names held other bytes before"
    if marked:
        return f"the part '{part}' of '{system}' was trained anew"
    files, _, block = path.partition(".")
    if files != _FILES:
        return f"{path}: {_short(was)} before, {_short(comes)} now"
    if not isinstance(was, list) or not isinstance(comes, list):
        return f"the files of '{block}' changed while they were read"
    names = [str(entry["name"]) for entry in comes if entry not in was] or [str(entry["name"]) for entry in was]
    return f"{', '.join(names)} of '{block}' held other bytes before"


def refuse_other(before: Mapping[str, Json], now: Mapping[str, Json], folder: Path) -> None:
    """Refuse to resume a run whose rows were made with other settings."""
    changes = differences(before, now)
    if changes:
        more = f" (and {len(changes) - 4} more)" if len(changes) > 4 else ""
        raise ConfigError(
            f"The run in '{folder}' was made otherwise: {'; '.join(changes[:4])}{more}.",
            remedy="Give --fresh to throw its rows away and begin anew, or another folder with --out.",
            differences=tuple(changes),
        )


def _deciding(manifest: Mapping[str, Json]) -> dict[str, Any]:
    experiment = cast(dict[str, Any], manifest.get("experiment") or {})
    versions = cast(dict[str, Any], manifest.get("versions") or {})
    return {
        **{key: value for key, value in experiment.items() if key not in (*_TABLE_KEYS, "systems", "data")},
        "set": {entry["name"]: _without(entry, _DATA_KEYS) for entry in experiment.get("data", ())},
        "systems": {
            entry["name"]: {_PARTS: {}, **_without(entry, _SYSTEM_KEYS)}
            for entry in experiment.get("systems", ())
            if not entry.get("missing")
        },
        "limit": manifest.get("limit"),
        "skip_bad": manifest.get("skip_bad"),
        _FILES: manifest.get("data"),
        "prompts": manifest.get("prompts"),
        _VERSIONS: {name: version for name, version in versions.items() if name not in TABLE_LIBRARIES},
        **({_DEVICE: manifest[_DEVICE]} if _DEVICE in manifest else {}),
        "code": manifest.get("code"),
        "platform": manifest.get("platform"),
    }


def _without(entry: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in keys}


def _unequal(old: object, new: object, path: str) -> list[tuple[str, object, object]]:
    if old == new:
        return []
    if not isinstance(old, dict) or not isinstance(new, dict):
        return [(path, old, new)]
    # Sets and systems that only one of the two has leave the rows of the others as they are. What an older manifest
    # does not tell (a library, the bytes of weights, the device) is unknown, and no difference.
    loose = path in ("systems", "set", _FILES, _VERSIONS) or path.endswith(f".{_PARTS}")
    keys = set(old) & set(new) if loose else set(old) | set(new)
    if not path and (_DEVICE not in old or _DEVICE not in new):
        keys.discard(_DEVICE)
    changes = []
    for key in sorted(keys):
        changes += _unequal(old.get(key), new.get(key), f"{path}.{key}" if path else key)
    return changes


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:59]}…"


def data_digest(manifest: Mapping[str, Json], block: str) -> str:
    """Digest of the data of a set: its files, the loader's options and the limit of turns."""
    experiment = cast(dict[str, Any], manifest.get("experiment") or {})
    spec = next((_without(entry, _DATA_KEYS) for entry in experiment.get("data", ()) if entry["name"] == block), None)
    data = cast(dict[str, Any], manifest.get("data") or {})
    if spec is not None:
        spec.pop("file", None)  # the bytes count, not the name
    files = [[entry["sha256"], entry["size"]] for entry in data.get(block, ())]
    content = json.dumps([spec, files, manifest.get("limit"), manifest.get("skip_bad")], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def column_digest(manifest: Mapping[str, Json], title: str) -> str:
    """Digest of a column: its metric with all options and the turns that it counts; empty where it was not measured."""
    experiment = cast(dict[str, Any], manifest.get("experiment") or {})
    columns: list[dict[str, Any]] = experiment.get("columns") or []
    entry = next((entry for entry in columns if entry["title"] == title), {})
    if entry.get("missing"):
        return ""
    return hashlib.sha256(json.dumps(_without(entry, _COLUMN_KEYS), sort_keys=True).encode()).hexdigest()


def _file(path: Path) -> dict[str, Json]:
    try:
        with path.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        return {"name": path.name, "sha256": digest, "size": path.stat().st_size}
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}.", remedy="Give the file with --data.") from error


def _scrubbed(value: object) -> object:
    """The value with absolute paths cut to their last part and, where there is such a file, its size."""
    if isinstance(value, dict):
        return {key: _scrubbed(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_scrubbed(entry) for entry in value]
    return _scrubbed_text(value) if isinstance(value, str) else value


def _scrubbed_text(text: str) -> str:
    if "\n" in text or not (text.startswith("~") or _is_absolute(text)):
        return text
    path = Path(text).expanduser()
    name = PureWindowsPath(text).name or "/"
    return f"{name} ({path.stat().st_size} bytes)" if path.is_file() else name


def _is_absolute(text: str) -> bool:
    return (PurePosixPath(text).is_absolute() and len(text) > 1) or PureWindowsPath(text).is_absolute()


def _scrubbed_override(entry: str) -> str:
    dotted, mark, value = entry.partition("=")
    return f"{dotted}{mark}{_scrubbed_text(value.strip())}"


def _versions() -> dict[str, Json]:
    versions: dict[str, Json] = {}
    for name in ("dragoman", *ROW_LIBRARIES, *TABLE_LIBRARIES):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = None
    return versions


def _device() -> str | None:
    """The device that torch would choose, found without loading torch; None without torch."""
    try:
        metadata.version("torch")
    except metadata.PackageNotFoundError:
        return None
    if os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1"):
        return "cpu"
    has_gpu = any(Path("/dev").glob("nvidia[0-9]*")) or shutil.which("nvidia-smi") is not None
    return "cuda" if has_gpu else "cpu"


@cache
def code_digest() -> str:
    """A hash of the code that rows depend on: a version number does not change while somebody works on it."""
    return digest_of(Path(prompts.__file__).parent.parent)


def digest_of(root: Path) -> str:
    """A hash of a package's code, and of the tables that it reads words and patterns from."""
    digest = hashlib.sha256()
    for path in sorted(path for path in root.rglob("*") if path.suffix in _CODE):
        parts = path.relative_to(root).parts
        if parts[0] not in _TABLES_ONLY or (parts[0] == "evaluate" and "/".join(parts[1:]) in _ROWS_TOO):
            digest.update("/".join(parts).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


@cache
def _commit() -> Json:
    """The commit of the checkout in which the package lies, and whether its files were changed since."""
    package = Path(prompts.__file__).parent.parent

    def git(*arguments: str) -> str:
        run = subprocess.run(
            ["git", "-C", str(package), *arguments], capture_output=True, text=True, timeout=10, check=True
        )
        return run.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "__init__.py")  # a package installed below somebody's checkout is not of it
        return {"id": git("rev-parse", "HEAD"), "changed": bool(git("status", "--porcelain", "--", "."))}
    except (OSError, subprocess.SubprocessError):
        return None
