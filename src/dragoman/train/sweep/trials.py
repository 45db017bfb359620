"""Trials of a sweep, run in this process or by workers; finished ones are only read.

A worker elsewhere trains in a folder of its own and sends the files home, where they are written at once, `part.json`
last: a trial is there or it is not, however often it was begun. One that was killed begins anew there, while here it
goes on from its checkpoint; both end with the same bytes.
"""

from __future__ import annotations

import json
import logging
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dragoman.core.errors import (
    ConfigError,
    DragomanError,
    InputError,
    MissingExtraError,
    ModelError,
    TrainingError,
    UnknownNameError,
    WorkersError,
)
from dragoman.core.workers import Shard, ShardJob, Tell, Work, Workers
from dragoman.models.part import FILE as PART
from dragoman.models.part import Part
from dragoman.train.contract import Progress, Report
from dragoman.train.run import data_files, train
from dragoman.train.spec import Recipe
from dragoman.train.sweep.spec import RangeSpec, SweepSpec, Trial
from dragoman.train.training_folder import CHECKPOINT, DATA, TrainingFolder, writing

STUDY, TRIALS = "study.db", "trials"
_DRAWN = 10
"""Trials of Optuna's that are drawn at random, whatever came of others: these may run at once."""
_OWN: tuple[type[DragomanError], ...] = (ConfigError, InputError, ModelError, TrainingError)
"""What a trial's own settings may cause: it is left out. A library that is missing, say, stops the sweep."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """Settings that all trials of a sweep share, besides the recipe."""

    data: Mapping[str, Sequence[str]]
    command: str = ""
    skip_bad: bool = False
    device: str | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    cut: int | None = None
    """The seed by which dev is held out of the training turns: one for all, or trials would not be comparable."""

    def trained(self, recipe: Recipe, folder: Path, report: Report) -> Part:
        return train(
            recipe,
            self.data,
            folder,
            report=report,
            skip_bad=self.skip_bad,
            device=self.device,
            options=self.options,
            command=self.command,
            cut=self.cut,
        )

    def files(self, recipe: Recipe) -> frozenset[tuple[str, str]]:
        """The names and hashes of the data as it is on this machine."""
        by_side = data_files(recipe, self.data, skip_bad=self.skip_bad, options=self.options, cut=self.cut)
        return frozenset((str(file["name"]), str(file["sha256"])) for files in by_side.values() for file in files)


@dataclass(frozen=True, slots=True)
class _Tried:
    """Result of a worker's trial: files by relative path, and the reason of a failure."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    failed: str = ""


class Trials:
    """The trials of one sweep."""

    def __init__(
        self,
        recipe: Callable[[Mapping[str, Any]], Recipe],
        ordered: Ordered,
        spec: SweepSpec,
        folder: Path,
        *,
        metric: str,
        workers: Workers,
    ) -> None:
        self._recipe = recipe
        self._ordered = ordered
        self._spec = spec
        self._folder = folder
        self._workers = workers
        self.metric = metric

    def grid(self, report: Report | None) -> Iterator[Trial]:
        settings = enumerate(self._spec.combinations())
        yield from self._run([self._trial(number, values) for number, values in settings], report)

    def study(self, report: Report | None) -> Iterator[Trial]:
        """Optuna's trials: finished ones, interrupted ones, then new ones."""
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
        before = study.get_trials(deepcopy=False)[: self._spec.trials]
        going = {earlier.number: json.loads(earlier.user_attrs.get("settings", "{}")) for earlier in before}
        # one that failed is tried again, as in a grid: what it failed of may be mended; Optuna is not told of it
        run = self._run([self._trial(number, settings) for number, settings in going.items() if settings], report)
        for earlier in before:
            if not going[earlier.number]:
                yield replace(self._trial(earlier.number, {}), failed="stopped before it began")
                continue
            trial = next(run)
            if earlier.state == states.RUNNING:
                _tell(study, states, trial)
            yield trial
        yield from self._new(optuna, study, states, report)

    def _new(self, optuna: Any, study: Any, states: Any, report: Report | None) -> Iterator[Trial]:
        """New trials by Optuna: one at a time, each informed by the earlier ones; with workers, the first random ones
        at once."""
        number, end = len(study.get_trials(deepcopy=False)), self._spec.trials or 0
        while number < end:
            ahead = 1 if self._workers.here else max(1, min(_DRAWN, end) - number)
            pending: dict[int, tuple[Any, dict[str, Any]]] = {}
            for _ in range(ahead):
                seed = self._spec.seed + number + len(pending)  # so that a kill changes nothing
                study.sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=_DRAWN)
                one = study.ask()
                settings = {name: _suggested(one, name, entry) for name, entry in self._spec.parameters.items()}
                one.set_user_attr("settings", json.dumps(settings))
                pending[one.number] = one, settings
            for trial in self._run([self._trial(key, settings) for key, (_, settings) in pending.items()], report):
                _tell(study, states, trial)
                yield trial
            number += ahead

    def _trial(self, number: int, settings: Mapping[str, Any]) -> Trial:
        return Trial(number, self._folder / TRIALS / f"{number:03d}", settings)

    def _label(self, trial: Trial) -> str:
        return f"Trial {trial.number + 1} of {self._spec.count}"

    def _run(self, trials: Sequence[Trial], report: Report | None) -> Iterator[Trial]:
        """Run trials and return them with their results, in order."""
        tell = report or (lambda progress: None)
        if self._workers.here:
            for trial in trials:
                yield self._here(trial, tell)
            return
        absent = [trial for trial in trials if not (trial.folder / PART).is_file()]
        wrong = {trial.number: why for trial in absent if (why := self._refused(trial))}
        waiting = [trial for trial in absent if trial.number not in wrong]
        results = self._elsewhere(waiting, tell)
        for trial in trials:
            failed = self._take(trial, next(results)) if trial in waiting else wrong.get(trial.number, "")
            yield self._failed(trial, failed) if failed else self._here(trial, tell)

    def _refused(self, trial: Trial) -> str:
        """The reason why a trial's settings are no valid recipe; empty if they are."""
        try:
            self._recipe(trial.settings)
        except ConfigError as error:
            return error.message
        return ""

    def _here(self, trial: Trial, tell: Report) -> Trial:
        """Train a trial in its folder, or read its result."""

        def report(progress: Progress) -> None:
            tell(replace(progress, stage=f"{self._label(trial)}: {progress.stage}"))

        try:
            part = self._ordered.trained(self._recipe(trial.settings), trial.folder, report)
        except _OWN as error:
            return self._failed(trial, error.message)
        metrics = {name: float(value) for name, value in (part.made.get("metrics") or {}).items()}
        if self.metric not in metrics:
            raise UnknownNameError(
                "metric of the trials", self.metric, metrics, remedy="Name one of these, as in --set train.metric=f1."
            )
        return replace(trial, metrics=metrics, score=metrics[self.metric])

    def _failed(self, trial: Trial, why: str) -> Trial:
        logging.getLogger("dragoman.train").warning("%s failed: %s", self._label(trial), why)
        return replace(trial, failed=why)

    def _elsewhere(self, trials: Sequence[Trial], tell: Report) -> Iterator[_Tried]:
        if not trials:
            return iter(())
        ordered = replace(self._ordered, device=self._ordered.device or "cpu")
        files = ordered.files(self._recipe(trials[0].settings))
        job = ShardJob("sweep", partial(_open, ordered, files), gpus=1 if ordered.device == "cuda" else 0)
        shards = (Shard(self._label(one), (self._recipe(one.settings), one.folder.name)) for one in trials)

        def hear(shard: Shard[tuple[Recipe, str]], news: object) -> None:
            if isinstance(news, Progress):
                tell(replace(news, stage=f"{shard.name}: {news.stage}"))

        return self._workers.map(job, shards, listener=hear)

    def _take(self, trial: Trial, tried: _Tried) -> str:
        """Write the files of a worker, `part.json` last; returns the reason of a failure."""
        with TrainingFolder(trial.folder) as place, writing(trial.folder):
            data = place.path / DATA
            if data.is_file() and data.read_bytes() != tried.files.get(DATA):
                raise TrainingError(
                    f"'{place.path}' was begun on other data. Nothing was changed.",
                    remedy="Give --fresh to throw it away and begin anew, or another folder with --out.",
                )
            shutil.rmtree(place.path / CHECKPOINT, ignore_errors=True)  # of a run that was stopped here
            for name in sorted(tried.files, key=lambda name: name == PART):
                target = place.path / name
                target.parent.mkdir(parents=True, exist_ok=True)
                begun = target.with_name(f".{target.name}.partial")
                begun.write_bytes(tried.files[name])
                begun.replace(target)
        return tried.failed


@contextmanager
def _open(ordered: Ordered, files: frozenset[tuple[str, str]]) -> Iterator[Work[tuple[Recipe, str], _Tried]]:
    """Open the job in a worker, after checking that its data equals the sweep's."""

    def work(trial: tuple[Recipe, str], tell: Tell) -> list[_Tried]:
        recipe, name = trial
        if ordered.files(recipe) != files:
            raise WorkersError(
                "The training data on this node is not that of where the sweep was started.",
                remedy="Put the same files at the same paths on every node, or on a disk that all of them share.",
            )
        with TemporaryDirectory(prefix="dragoman-trial-") as folder:
            place, failed = Path(folder) / name, ""  # the model card says its name
            try:
                ordered.trained(recipe, place, tell)
            except _OWN as error:
                failed = error.message
            paths = (path for path in sorted(place.rglob("*")) if path.is_file() and path.name != ".lock")
            return [_Tried({path.relative_to(place).as_posix(): path.read_bytes() for path in paths}, failed)]

    yield work


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
        texts = [json.dumps(value) for value in entry.values]  # Optuna keeps plain values only
        return json.loads(asked.suggest_categorical(name, texts))
    if entry.kind == "int":
        return asked.suggest_int(name, int(entry.low or 0), int(entry.high or 0), log=entry.log)
    return asked.suggest_float(name, entry.low, entry.high, log=entry.log)
