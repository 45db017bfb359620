"""Many trainings of one recipe with other values: a grid of them, or as many as Optuna is allowed to try.

    DIR/sweep.json        what was asked for
    DIR/study.db          Optuna's memory
    DIR/trials/000/ ...   a training folder each, which goes on by itself after a kill
    DIR/                  the best one's part

What is asked for again goes on: trials that are done are read, the one that was killed is gone on with.
"""

from __future__ import annotations

import json
import logging
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from dragoman.core.errors import ConfigError, MissingExtraError, TrainingError, UnknownNameError
from dragoman.core.toml import explained, override, read_toml, scalar
from dragoman.models.part import FILE as PART
from dragoman.models.part import Part, open_part
from dragoman.train.contract import Progress, Report
from dragoman.train.folder import CHECKPOINT, EVENTS, LOG, TrainingFolder, write_whole, writing
from dragoman.train.recipe import load_recipe
from dragoman.train.run import train
from dragoman.train.spec import Recipe

SWEEP, STUDY, TRIALS = "sweep.json", "study.db", "trials"
_NOT_COPIED = (LOG, CHECKPOINT, EVENTS)
_INSTEAD_OF_LOSS = {
    "critic.nli": "accuracy",
    "gate.attention": "f1",
    "gate.encoder": "auc",
    "gate.linear": "f1",
    "gate.uncertainty": "f1",
    "retriever.joint": "f1",
    "shared": "mean",
}
"""By which figure to compare parts that hold no loss on dev, by kind."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RangeSpec(_Strict):
    """The values that one setting may take: some, or all between two."""

    values: tuple[Any, ...] = ()
    low: float | None = None
    high: float | None = None
    log: bool = False
    kind: Literal["float", "int"] = "float"

    @model_validator(mode="after")
    def _one_of_both(self) -> RangeSpec:
        bounded = self.low is not None and self.high is not None
        if bounded == bool(self.values) or (self.low is None) != (self.high is None):
            raise ValueError("give either values, or low and high")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError("low must be less than high")
        if self.log and self.low is not None and self.low <= 0:
            raise ValueError("log needs a low above 0")
        return self


class SweepSpec(_Strict):
    """What a sweep tries. A grid tries every combination of `values`; else Optuna chooses `trials` times."""

    parameters: dict[str, RangeSpec] = Field(min_length=1)
    trials: int | None = Field(default=None, ge=1)
    seed: int = 1
    metric: str | None = None
    """The measure on dev that decides; `train.metric` where it is not given, but see `deciding`."""

    @property
    def is_grid(self) -> bool:
        return self.trials is None

    @property
    def count(self) -> int:
        return len(list(self.combinations())) if self.trials is None else self.trials

    def combinations(self) -> Iterator[dict[str, Any]]:
        names = list(self.parameters)
        for values in product(*(self.parameters[name].values for name in names)):
            yield dict(zip(names, values, strict=True))


@dataclass(frozen=True, slots=True)
class Trial:
    """One training of a sweep: what was set, what came out; `failed` says why nothing did."""

    number: int
    folder: Path
    settings: Mapping[str, Any]
    metrics: Mapping[str, float] = field(default_factory=dict)
    score: float | None = None
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep found: its trials, by which measure they are compared, and the best one's part."""

    trials: tuple[Trial, ...]
    metric: str
    best: Trial
    part: Part


def load_sweep(entries: Sequence[str], *, trials: int | None = None) -> SweepSpec:
    """`train.rate=1e-5,5e-5` as often as one likes: a grid; or one file with ranges, for Optuna."""
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
) -> Swept:
    """Run the trials that are not done yet, each by `train`, and take the best."""
    folder = Path(out).expanduser()
    given = dict(override(entry) for entry in overrides)

    def with_settings(settings: Mapping[str, Any]) -> Recipe:
        return load_recipe(recipe, {**given, **settings})

    with_settings({name: _any_of(entry) for name, entry in spec.parameters.items()})  # a wrong path is told at once
    _claim(folder, with_settings({}), spec, fresh=fresh)

    def trained(settings: Mapping[str, Any], place: Path, report: Report) -> Part:
        return train(
            with_settings(settings),
            data,
            place,
            report=report,
            skip_bad=skip_bad,
            device=device,
            options=options,
            command=command,
        )

    runner = _Runner(trained, spec, folder, metric=deciding(with_settings({}), spec), report=report)
    trials = list(runner.grid() if spec.is_grid else runner.study())
    good = [trial for trial in trials if trial.score is not None]
    if not good:
        raise TrainingError(
            f"None of the {len(trials)} trials came to an end. The first: {trials[0].failed}",
            remedy="Mend that, then run the same command again.",
        )
    lower = runner.metric == "loss"
    best = (min if lower else max)(good, key=lambda trial: (trial.score or 0.0, trial.number * (1 if lower else -1)))
    return Swept(tuple(trials), runner.metric, best, _take(best.folder, folder))


def deciding(recipe: Recipe, spec: SweepSpec) -> str:
    """The measure that trials are compared by: the sweep's, the recipe's, or, where that is the loss and the kind of
    part does not hold it, the one that suits the kind."""
    named = spec.metric or recipe.train.metric
    return _INSTEAD_OF_LOSS.get(recipe.kind, named) if named == "loss" else named


class _Runner:
    """The trials of one sweep."""

    def __init__(
        self,
        trained: Callable[[Mapping[str, Any], Path, Report], Part],
        spec: SweepSpec,
        folder: Path,
        *,
        metric: str,
        report: Report | None,
    ) -> None:
        self._trained = trained
        self._spec = spec
        self._folder = folder
        self._report = report or (lambda progress: None)
        self.metric = metric

    def grid(self) -> Iterator[Trial]:
        for number, settings in enumerate(self._spec.combinations()):
            yield self._run(number, settings)

    def study(self) -> Iterator[Trial]:
        """Optuna's trials: those of before, the one that was killed, then new ones."""
        optuna = _optuna()
        states = optuna.trial.TrialState
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what it says of its own experiments
            study = optuna.create_study(
                study_name="sweep",
                storage=f"sqlite:///{self._folder / STUDY}",
                direction="minimize" if self.metric == "loss" else "maximize",
                load_if_exists=True,
            )
        for known in study.get_trials(deepcopy=False)[: self._spec.trials]:
            settings = json.loads(known.user_attrs.get("settings", "{}"))
            if known.state == states.FAIL or not settings:  # or killed before it began: its number is gone
                failed = known.user_attrs.get("failed", "stopped before it began")
                yield Trial(known.number, self._place(known.number), settings, failed=failed)
                continue
            trial = self._run(known.number, settings)
            if known.state == states.RUNNING:
                _tell(study, states, trial)
            yield trial
        for number in range(len(study.get_trials(deepcopy=False)), self._spec.trials or 0):
            study.sampler = optuna.samplers.TPESampler(seed=self._spec.seed + number)  # so that a kill changes nothing
            asked = study.ask()
            settings = {name: _suggested(asked, name, entry) for name, entry in self._spec.parameters.items()}
            asked.set_user_attr("settings", json.dumps(settings))
            trial = self._run(asked.number, settings)
            if trial.failed:
                asked.set_user_attr("failed", trial.failed)
            _tell(study, states, trial)
            yield trial

    def _place(self, number: int) -> Path:
        return self._folder / TRIALS / f"{number:03d}"

    def _run(self, number: int, settings: Mapping[str, Any]) -> Trial:
        place = self._place(number)
        trial = Trial(number, place, settings)
        label = f"Trial {number + 1} of {self._spec.count}"

        def report(progress: Progress) -> None:
            self._report(replace(progress, stage=f"{label}: {progress.stage}"))

        try:
            part = self._trained(settings, place, report)
        except TrainingError as error:
            logging.getLogger("dragoman.train").warning("%s failed: %s", label, error.message)
            return replace(trial, failed=error.message)
        metrics = {name: float(value) for name, value in (part.made.get("metrics") or {}).items()}
        if self.metric not in metrics:
            raise UnknownNameError(
                "metric of the trials", self.metric, metrics, remedy="Name one of these, as in --set train.metric=f1."
            )
        return replace(trial, metrics=metrics, score=metrics[self.metric])


def _claim(folder: Path, recipe: Recipe, spec: SweepSpec, *, fresh: bool) -> None:
    """Make the folder a sweep's; one of another sweep is refused unless afresh."""
    asked = {
        "recipe": recipe.model_dump(mode="json", exclude={"about", "name", "licence"}),
        "sweep": spec.model_dump(mode="json", exclude={"trials"} if not spec.is_grid else set()),
    }
    file = folder / SWEEP
    with writing(folder):
        if fresh and file.is_file():
            TrainingFolder(folder).clear()
            shutil.rmtree(folder / TRIALS, ignore_errors=True)
            (folder / STUDY).unlink(missing_ok=True)
            file.unlink()
        if file.is_file():
            try:
                before = json.loads(file.read_text(encoding="utf-8"))
            except ValueError:
                before = None
            if before != json.loads(json.dumps(asked)):
                raise TrainingError(
                    f"'{folder}' holds another sweep. Nothing was changed.",
                    remedy="Give --fresh to throw it away and begin anew, or another folder with --out.",
                    path=str(folder),
                )
        elif folder.is_dir() and any(not place.name.startswith(".") for place in folder.iterdir()):
            raise TrainingError(f"'{folder}' is not empty and holds no sweep.", remedy="Give --out a new folder.")
        folder.mkdir(parents=True, exist_ok=True)
    write_whole(file, json.dumps(asked, indent=1) + "\n")


def _take(best: Path, folder: Path) -> Part:
    """Copy the best trial's part into the sweep's folder; `part.json` last, and at once."""
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


def _optuna() -> Any:
    try:
        import optuna
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "A sweep with ranges needs optuna, which is not installed.",
            remedy="Run: pip install 'dragoman[train]', or give a grid: --sweep path=a,b,c",
            extra="train",
        ) from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def _tell(study: Any, states: Any, trial: Trial) -> None:
    if trial.score is None:
        study.tell(trial.number, state=states.FAIL)
    else:
        study.tell(trial.number, trial.score)


def _suggested(asked: Any, name: str, entry: RangeSpec) -> Any:
    if entry.values:
        written = [json.dumps(value) for value in entry.values]  # Optuna keeps plain values only
        return json.loads(asked.suggest_categorical(name, written))
    if entry.kind == "int":
        return asked.suggest_int(name, int(entry.low or 0), int(entry.high or 0), log=entry.log)
    return asked.suggest_float(name, entry.low, entry.high, log=entry.log)


def _any_of(entry: RangeSpec) -> Any:
    if entry.values:
        return entry.values[0]
    return int(entry.low or 0) if entry.kind == "int" else entry.low


def _listed(entry: str) -> tuple[str, dict[str, Any]]:
    name, _, values = entry.partition("=")
    found = [scalar(value.strip()) for value in values.split(",") if value.strip()]
    if not found or not name.strip():
        raise ConfigError(f"'{entry}' names no values.", remedy="Write --sweep train.rate=1e-5,5e-5.")
    return name.strip(), {"values": found}


def _spec(tables: Mapping[str, Any], where: str) -> SweepSpec:
    try:
        return SweepSpec.model_validate(dict(tables))
    except ValidationError as error:
        raise explained(error, where, SweepSpec) from error
