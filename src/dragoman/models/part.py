"""A trained part: a folder with weights in a light format and `part.json`, which says what they are and how they run.

`train/` writes it, the roles read it, torch is not needed to run it. Everything that a decision depends on is inside:
how a turn becomes text, labels, calibration, thresholds. Files are checked by their SHA-256 when a part is opened.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

from dragoman.core.environment import home
from dragoman.core.errors import UnknownNameError, WeightsError
from dragoman.models.calibration import Calibration, Logistic, from_json, to_json

FORMAT = 1
FILE = "part.json"
PARENT = ".."
_TRAINED = "best.safetensors"
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Head:
    """One decision of a part: its labels, the calibration of its scores, and the thresholds.

    A head with one label gives one score, the log-odds of that label; one with several gives a score for each, and
    each is a decision of its own with a calibration and a threshold of its own, by label.
    """

    labels: tuple[str, ...]
    calibrations: Mapping[str, Calibration] = field(default_factory=dict)
    thresholds: Mapping[str, float] = field(default_factory=dict)

    def probability(self, score: float, label: str | None = None) -> float:
        return self.calibrations.get(label or self.labels[0], Logistic()).probability(float(score))

    def threshold(self, label: str | None = None) -> float:
        return self.thresholds.get(label or self.labels[0], 0.5)


@dataclass(frozen=True, slots=True)
class Part:
    """A trained part: the contents of `part.json`, and its folder.

    `kind` is the component that runs it (`gate.encoder`); `options` is what that component was trained with and must
    be used with (the view of a turn, the most tokens, the pooling); `files` maps names to SHA-256.
    """

    folder: Path
    kind: str
    heads: Mapping[str, Head]
    options: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    made: Mapping[str, Any] = field(default_factory=dict)
    """Where it comes from: recipe, base, data with hashes, metrics on dev, versions, licence."""
    shares: str = ""
    """`..` where several parts are heads of one model, whose files lie in the folder around them; else nothing."""

    @property
    def place(self) -> Path:
        """Folder of the files."""
        return self.folder / self.shares if self.shares else self.folder

    def file(self, name: str) -> Path:
        """The path of one of the part's files."""
        if name not in self.files:
            raise WeightsError(f"The part '{self.folder}' has no {name}.", remedy=_again(self.place))
        return self.place / name

    def head(self, name: str) -> Head:
        if name not in self.heads:
            raise UnknownNameError(f"head of the part '{self.folder}'", name, self.heads)
        return self.heads[name]


def find_part(name_or_folder: str | Path, *, folder: Path | None = None) -> Path:
    """Return the folder of a part: a path, also relative to an agent's `folder`, or the name of a shipped part."""
    own = Path(name_or_folder).expanduser()
    for place in (own, folder / own if folder is not None else own, home() / "parts" / own):
        if (place / FILE).is_file():
            return place
    shipped = shipped_parts()
    if str(name_or_folder) in shipped:
        return shipped[str(name_or_folder)]
    if own.suffix or len(own.parts) > 1 or own.exists():
        raise WeightsError(
            f"There is no trained part at '{own}': it holds no {FILE}.",
            remedy="`dragoman train` makes one; give its --out folder.",
        )
    raise UnknownNameError("part", str(name_or_folder), shipped, remedy="Or give the folder of a trained one.")


def shipped_parts() -> dict[str, Path]:
    """The parts that come with the package, by name."""
    root = Path(str(resources.files("dragoman.models"))) / "parts"
    files = [*root.glob(f"*/{FILE}"), *root.glob(f"*/*/{FILE}")]
    return {place.parent.relative_to(root).as_posix(): place.parent for place in sorted(files)}


def open_part(name_or_folder: str | Path, *, kind: str | None = None, folder: Path | None = None) -> Part:
    """Read a part and check it: its format, its kind where one is wanted, and the hash of every file."""
    place = find_part(name_or_folder, folder=folder)
    part = read_part(place)
    if kind is not None and part.kind != kind:
        raise WeightsError(
            f"The part '{place}' is a {part.kind}, not a {kind}.",
            remedy=f'Give kind = "{part.kind.partition(".")[2]}", or a part of the right kind.',
        )
    for name, digest in part.files.items():
        if Path(name).name != name:
            raise WeightsError(f"The part '{place}' names a file outside of it: {name}.", remedy="Do not use it.")
        if not part.file(name).is_file():
            raise WeightsError(f"The part '{place}' lacks its file {name}.", remedy="Copy the whole folder again.")
        if sha256(part.file(name)) != digest:
            raise WeightsError(
                f"{name} of the part '{place}' is damaged: its SHA-256 is not the one in {FILE}.",
                remedy=_again(part.place),
            )
    return part


def _again(place: Path) -> str:
    """The remedy for a damaged file: export it again, where the trained weights are present."""
    export = f", or run `dragoman export {place.resolve()}`" if (place / _TRAINED).is_file() else ""
    return f"Copy the folder again{export}, or train it again."


def write_part(part: Part, names: tuple[str, ...]) -> Part:
    """Write `part.json` over files that lie in the folder already; the last thing written, and at once."""
    files = {name: sha256(part.place / name) for name in names}
    table = {
        "format": FORMAT,
        "kind": part.kind,
        "heads": {
            name: {
                "labels": list(head.labels),
                "calibrations": {label: to_json(calibration) for label, calibration in head.calibrations.items()},
                "thresholds": dict(head.thresholds),
            }
            for name, head in part.heads.items()
        },
        "options": dict(part.options),
        "files": files,
        "made": dict(part.made),
    } | ({"shares": part.shares} if part.shares else {})
    partial = part.folder / f".{FILE}.{os.getpid()}"
    partial.write_text(json.dumps(table, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    partial.replace(part.folder / FILE)
    return replace(part, files=files)


def sha256(path: Path) -> str:
    """The hash of a file's content."""
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def read_part(place: Path) -> Part:
    """Read the `part.json` of a folder; its other files are not opened."""
    file = place / FILE
    try:
        table = json.loads(file.read_text(encoding="utf-8"))
        version = table["format"]
        if version == FORMAT:
            heads = {
                name: Head(
                    tuple(head["labels"]),
                    {label: from_json(calibration) for label, calibration in head["calibrations"].items()},
                    {label: float(value) for label, value in head["thresholds"].items()},
                )
                for name, head in table["heads"].items()
            }
            shares = table.get("shares", "")
            if shares not in ("", PARENT):
                raise WeightsError(
                    f"The part '{place}' takes its files from {shares!r}: only the folder around it may be shared.",
                    remedy="Do not use it.",
                )
            return Part(place, table["kind"], heads, table["options"], table["files"], table["made"], shares)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise WeightsError(f"'{file}' cannot be read: {error!r}.", remedy="Train or copy the part again.") from error
    raise WeightsError(
        f"'{file}' has the format {version!r}; this version reads {FORMAT}.",
        remedy="Train the part again with this version, or run it with the one that made it.",
    )
