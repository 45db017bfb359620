"""Hyperparameter sweep of one recipe: a grid, or a number of Optuna trials.

    DIR/sweep.json        what was asked for
    DIR/study.db          Optuna's memory
    DIR/trials/000/ ...   a training folder each, which goes on by itself after a kill
    DIR/                  the best one's part

The same sweep resumes: finished trials are read, an interrupted one continues.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dragoman.core.errors import ConfigError, TrainingError
from dragoman.core.toml import explained, override, read_toml, scalar
from dragoman.core.workers import InProcess, Workers
from dragoman.models.part import FILE as PART
from dragoman.models.part import Part, open_part
from dragoman.train.contract import Report
from dragoman.train.recipe import load_recipe
from dragoman.train.spec import LAST, Recipe
from dragoman.train.sweep.spec import RangeSpec, SweepSpec, Trial
from dragoman.train.sweep.trials import STUDY, TRIALS, Ordered, Trials
from dragoman.train.training_folder import (
    CHECKPOINT,
    EVENTS,
    LOG,
    TrainingFolder,
    holds_nothing,
    is_claimed,
    write_whole,
    writing,
)

__all__ = ["RangeSpec", "SweepSpec", "Swept", "Trial", "deciding", "load_sweep", "sweep"]

SWEEP = "sweep.json"
_OF_DATA = ("data", "options")
_NOT_COPIED = (LOG, CHECKPOINT, EVENTS)
_NO_FIGURES = ("loss", LAST)
_INSTEAD = {
    "critic.nli": "accuracy",
    "gate.attention": "f1",
    "gate.encoder": "auc",
    "gate.linear": "f1",
    "gate.prompted": "f1",
    "gate.uncertainty": "f1",
    "retriever.joint": "f1",
    "shared": "mean",
}
"""By which figure to compare parts that hold neither of those, by kind."""


@dataclass(frozen=True, slots=True)
class Swept:
    """Result of a sweep: its trials, the measure that compares them, and the best part."""

    trials: tuple[Trial, ...]
    metric: str
    best: Trial
    part: Part


def load_sweep(entries: Sequence[str], *, trials: int | None = None) -> SweepSpec:
    """Parse the settings of a sweep: `train.rate=1e-5,5e-5`, repeated, for a grid, or one file with ranges for
    Optuna."""
    files = [entry for entry in entries if "=" not in entry]
    if files and len(entries) > 1:
        raise ConfigError("A sweep is either one file or path=a,b,c ....", remedy="Put all of it into the file.")
    if not files:
        tables: dict[str, Any] = {"parameters": dict(_listed(entry) for entry in entries), "trials": trials}
        return _spec(tables, "--sweep")
    path = Path(files[0]).expanduser()
    tables = read_toml(path, absent="Give a TOML file, or path=a,b,c.")
    spec = _spec(tables if trials is None else {**tables, "trials": trials}, str(path))
    ranged = [name for name, entry in spec.parameters.items() if not entry.values]
    if spec.is_grid and ranged:
        raise ConfigError(
            f"{path}: '{ranged[0]}' has a range, so that the number of trials must be given.",
            remedy="Write trials = 20 into it, or give --trials 20.",
        )
    return spec


def sweep(
    recipe: str | Path,
    spec: SweepSpec,
    data: Mapping[str, Sequence[str]],
    out: str | Path,
    *,
    overrides: Sequence[str] = (),
    fresh: bool = False,
    report: Report | None = None,
    skip_bad: bool = False,
    device: str | None = None,
    options: Mapping[str, object] | None = None,
    command: str = "",
    workers: Workers | None = None,
) -> Swept:
    """Run the unfinished trials and take the best part; `workers` train, or this process without them."""
    folder = Path(out).expanduser()
    fixed = dict(override(entry) for entry in overrides)

    def with_settings(settings: Mapping[str, Any]) -> Recipe:
        return load_recipe(recipe, {**fixed, **settings})

    if "dev" in spec.parameters:
        raise ConfigError("Trials that hold out other turns cannot be compared.", remedy="Take 'dev' out of the sweep.")
    with_settings({name: _any_of(entry) for name, entry in spec.parameters.items()})  # a wrong path is told at once
    who = workers or InProcess()
    seed = with_settings({}).train.seed
    ordered = Ordered(data, command, skip_bad=skip_bad, device=device, options=options or {}, cut=seed)
    _claim(folder, with_settings({}), spec, ordered, fresh=fresh)
    trials = Trials(with_settings, ordered, spec, folder, metric=deciding(with_settings({}), spec), workers=who)
    done = list(trials.grid(report) if spec.is_grid else trials.study(report))
    good = [trial for trial in done if trial.score is not None]
    if not good:
        raise TrainingError(
            f"None of the {len(done)} trials came to an end. The first: {done[0].failed}",
            remedy="Mend that, then run the same command again.",
        )
    lower = trials.metric == "loss"
    best = (min if lower else max)(good, key=lambda trial: (trial.score or 0.0, trial.number * (1 if lower else -1)))
    return Swept(tuple(done), trials.metric, best, _take(best.folder, folder))


def deciding(recipe: Recipe, spec: SweepSpec) -> str:
    """Return the measure that compares trials: the sweep's, the recipe's, or the kind's own if that is the loss or the
    last epoch and parts of the kind do not record it."""
    metric = spec.metric or recipe.train.metric
    return _INSTEAD.get(recipe.kind, metric) if metric in _NO_FIGURES else metric


def _claim(folder: Path, recipe: Recipe, spec: SweepSpec, ordered: Ordered, *, fresh: bool) -> None:
    """Claim the folder for a sweep; one with another sweep or other data is an error unless `fresh`."""
    request = {
        "recipe": recipe.model_dump(mode="json", exclude={"about", "name", "licence"}),
        "sweep": spec.model_dump(mode="json", exclude={"trials"} if not spec.is_grid else set()),
        "data": sorted(map(list, ordered.files(recipe))),
        "options": json.loads(json.dumps(dict(ordered.options), default=str)),
    }
    file = folder / SWEEP
    with writing(folder):
        if file.is_file() and (fresh or _holds_nothing(folder)):
            TrainingFolder(folder).clear()
            shutil.rmtree(folder / TRIALS, ignore_errors=True)
            (folder / STUDY).unlink(missing_ok=True)
            file.unlink()
        if file.is_file():
            try:
                before = json.loads(file.read_text(encoding="utf-8"))
            except ValueError:
                before = None
            other = _other(before, json.loads(json.dumps(request)))
            if other:
                raise TrainingError(
                    f"'{folder}' holds another sweep (what differs: {', '.join(other)}). Nothing was changed.",
                    remedy="Give --fresh to throw it away and begin anew, or another folder with --out.",
                    path=str(folder),
                )
        elif folder.is_dir() and any(not place.name.startswith(".") for place in folder.iterdir()):
            raise TrainingError(f"'{folder}' is not empty and holds no sweep.", remedy="Give --out a new folder.")
        folder.mkdir(parents=True, exist_ok=True)
    write_whole(file, json.dumps(request, indent=1) + "\n")


def _holds_nothing(folder: Path) -> bool:
    """Whether a sweep has no trained or running trial, for instance because its settings were wrong."""
    trials = folder / TRIALS
    if (folder / PART).is_file() or not trials.is_dir():
        return False
    return all(holds_nothing(place) and not is_claimed(place) for place in trials.iterdir() if place.is_dir())


def _other(before: object, asked: Mapping[str, Any]) -> list[str]:
    """Return the differences between a folder's sweep and this one; older versions recorded no data."""
    if not isinstance(before, Mapping):
        return [SWEEP]
    return [name for name in asked if before.get(name) != asked[name] and (name in before or name not in _OF_DATA)]


def _take(best: Path, folder: Path) -> Part:
    """Copy the best trial's part into the sweep's folder, `part.json` last and atomically."""
    with writing(folder):
        (folder / PART).unlink(missing_ok=True)
        for place in sorted(best.iterdir(), key=lambda place: place.name == PART):
            if place.name in _NOT_COPIED or place.name.startswith("."):
                continue
            if place.is_dir():
                shutil.copytree(place, folder / place.name, dirs_exist_ok=True)
            else:
                partial = folder / f".{place.name}.partial"
                shutil.copyfile(place, partial)
                partial.replace(folder / place.name)
    return open_part(folder)


def _any_of(entry: RangeSpec) -> Any:
    if entry.values:
        return entry.values[0]
    return int(entry.low or 0) if entry.kind == "int" else entry.low


def _listed(entry: str) -> tuple[str, dict[str, Any]]:
    name, _, values = entry.partition("=")
    scalars = [scalar(value.strip()) for value in values.split(",") if value.strip()]
    if not scalars or not name.strip():
        raise ConfigError(f"'{entry}' names no values.", remedy="Write --sweep train.rate=1e-5,5e-5.")
    return name.strip(), {"values": scalars}


def _spec(tables: Mapping[str, Any], where: str) -> SweepSpec:
    try:
        return SweepSpec.model_validate(dict(tables))
    except ValidationError as error:
        raise explained(error, where, SweepSpec) from error
