"""Folder of a training: its lock, its recipe and data, and checks that its content belongs to this training."""

from __future__ import annotations

import json
import os
import re
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from dragoman.core.errors import TrainingError
from dragoman.core.file_lock import lock_folder
from dragoman.models.part import FILE as PART
from dragoman.models.part import PARENT
from dragoman.train.recipe import differences, toml_of
from dragoman.train.spec import Recipe

FORMAT = 1
RECIPE, DATA, METRICS, CARD = "recipe.toml", "data.json", "metrics.json", "README.md"
FILES = "files"
"""Key in data.json of the other files that the recipe names."""
CHECKPOINT, BEST, LOG, EVENTS = "checkpoint", "best.safetensors", "log.jsonl", "tensorboard"
_LOCK = ".lock"
_LEARNERS = ("trunk.json", "model.onnx", "tokenizer.json", "drafts.jsonl", "answers.jsonl", "mined", "work")
"""Files of learners that a part does not list."""
_OWN = (RECIPE, DATA, METRICS, CARD, CHECKPOINT, BEST, LOG, EVENTS, PART, *_LEARNERS)
_INNER = re.compile(r"fold-\d+|run-\d+|aux|pretrain")
"""Folders of inner trainings: folds, runs, pre-training."""
_WORDS = ("about", "name", "licence")
"""Descriptive keys of a recipe, which do not change the training."""


class TrainingFolder:
    """Folder that is locked for one process while entered."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._claim: AbstractContextManager[None] | None = None

    def __enter__(self) -> TrainingFolder:
        with writing(self.path):
            self._refuse_foreign()
        claim = claimed(self.path)
        claim.__enter__()
        self._claim = claim
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._claim is not None:
            claim, self._claim = self._claim, None
            claim.__exit__(kind, error, trace)

    @property
    def is_finished(self) -> bool:
        return (self.path / PART).is_file()

    def begin(self, recipe: Recipe, data: Mapping[str, Any], *, fresh: bool = False) -> None:
        """Record recipe and data; if the folder holds another training, raise an error or, with `fresh`, clear it."""
        if fresh:
            self.clear()
        table = {"format": FORMAT, **data}
        if (self.path / DATA).is_file() and not holds_nothing(self.path):
            self._refuse_other(recipe, table)
        write_whole(self.path / DATA, json.dumps(table, ensure_ascii=False, indent=1) + "\n")  # by which it is known
        write_whole(self.path / RECIPE, toml_of(recipe))

    def clear(self) -> None:
        """Remove everything that trainings wrote here, and nothing else."""
        names = {*_OWN}
        with writing(self.path), suppress(ValueError, AttributeError, OSError):
            names |= set(json.loads((self.path / PART).read_text(encoding="utf-8")).get("files", ()))
        with writing(self.path):
            (self.path / PART).unlink(missing_ok=True)  # first: what is half cleared is no part
            places = list(self.path.iterdir()) if self.path.is_dir() else []
            for place in sorted(places, key=lambda place: place.name == DATA):  # last: it says whose the folder is
                if place.is_dir() and (place.name in names or _is_training(place)):
                    shutil.rmtree(place)
                elif place.is_dir() and _shares(place):
                    (place / PART).unlink()
                    with suppress(OSError):
                        place.rmdir()  # only where nothing else lies there
                elif place.name in names and not place.is_dir():
                    place.unlink()

    def _refuse_foreign(self) -> None:
        if not self.path.is_dir() or (self.path / DATA).is_file():
            return
        others = sorted(place.name for place in self.path.iterdir() if not place.name.startswith("."))
        if others:
            raise TrainingError(
                f"'{self.path}' is not empty and holds no training ({', '.join(others[:3])}).",
                remedy="Give --out a new folder.",
                path=str(self.path),
            )

    def _refuse_other(self, recipe: Recipe, data: Mapping[str, Any]) -> None:
        try:
            before = json.loads((self.path / DATA).read_text(encoding="utf-8"))
            old = tomllib.loads((self.path / RECIPE).read_text(encoding="utf-8"))
            version = before["format"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise TrainingError(
                f"What '{self.path}' was asked for cannot be read: {error}.",
                remedy="Give --fresh to begin anew, or another --out.",
                path=str(self.path),
            ) from error
        if version != FORMAT:
            raise TrainingError(
                f"'{self.path}' was written by another version (format {version!r}; this one writes {FORMAT}).",
                remedy="Go on with the version that wrote it, give --fresh to begin anew, or another --out.",
                path=str(self.path),
            )
        now = tomllib.loads(toml_of(recipe))
        changes = [*differences(_without(old), _without(now)), *_other_data(before, data)]
        if changes:
            more = f" (and {len(changes) - 4} more)" if len(changes) > 4 else ""
            raise TrainingError(
                f"'{self.path}' holds another training: {'; '.join(changes[:4])}{more}. Nothing was changed.",
                remedy="Give --fresh to throw it away and begin anew, or another folder with --out.",
                path=str(self.path),
                differences=tuple(changes),
            )


def holds_nothing(folder: Path) -> bool:
    """Whether a training folder holds at most its recipe and data, and no results."""
    return {place.name for place in folder.iterdir() if not place.name.startswith(".")} <= {DATA, RECIPE}


def is_claimed(folder: Path) -> bool:
    """Whether a process trains in a folder, or was killed there."""
    return (folder / _LOCK).exists()


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Lock a folder for this process and create it if missing; a failure leaves no empty folder behind."""
    if folder.exists() and not folder.is_dir():
        raise TrainingError(f"'{folder}' is a file.", remedy="Give a folder with --out.", path=str(folder))
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = lock_folder(folder / _LOCK, f"Another process is training in '{folder}'.")
    done = False
    try:
        yield
        done = True
    finally:
        with suppress(OSError):
            (folder / _LOCK).unlink(missing_ok=True)
        lock.close()
        if not done:
            with suppress(OSError):
                folder.rmdir()  # only where nothing was written


def write_whole(path: Path, text: str) -> None:
    """Replace a file atomically."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    with writing(path):
        try:
            with partial.open("wb") as opened:
                opened.write(text.encode("utf-8", "surrogatepass"))
                opened.flush()
                os.fsync(opened.fileno())
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Convert errors of the disk into training errors."""
    try:
        yield
    except OSError as error:
        raise TrainingError(
            f"'{path}' cannot be read or written: {error.strerror or error}. What was saved before is kept.",
            remedy="Free some space or choose another --out, and run the same command again.",
            path=str(path),
        ) from error


def _is_training(place: Path) -> bool:
    """Whether a folder holds a training, also a finished fold."""
    signs = (CHECKPOINT, DATA, *((LOG, "scores.json") if _INNER.fullmatch(place.name) else ()))
    return any((place / name).exists() for name in signs)


def _shares(place: Path) -> bool:
    """Whether a folder is a part that shares the model of its parent folder."""
    try:
        return bool(json.loads((place / PART).read_text(encoding="utf-8"))["shares"] == PARENT)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _without(recipe: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in recipe.items() if key not in _WORDS}


def _other_data(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for key in dict.fromkeys((*before, *now)):
        if key == FILES and key not in before:
            continue  # an older version did not say
        old, new = before.get(key), json.loads(json.dumps(now.get(key), default=str))
        if old == new:
            continue
        if isinstance(old, list) and isinstance(new, list):
            changed = [str(entry["name"]) for entry in new if entry not in old] or ["fewer files"]
            yield f"the {key} data ({', '.join(dict.fromkeys(changed))}) changed"
        else:
            yield f"{key}: {old} before, {new} now"
