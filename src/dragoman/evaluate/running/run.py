"""One run of an experiment: open the sets, train parts, answer the turns, compute the figures, write results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, cast

from dragoman.core.codec import Json
from dragoman.core.errors import ConfigError, DragomanError, InputError, NoDataError, UnknownNameError
from dragoman.core.protocols import warm
from dragoman.core.workers import Workers
from dragoman.evaluate.aggregate import Measured, aggregate
from dragoman.evaluate.columns import Measures
from dragoman.evaluate.contract import Progress
from dragoman.evaluate.results import Result
from dragoman.evaluate.running.dataset_table import DatasetTable, open_table
from dragoman.evaluate.running.kept_turns import write_scores, write_turns
from dragoman.evaluate.running.manifest import PYTHON, hashes, make_manifest
from dragoman.evaluate.running.run_folder import RunFolder
from dragoman.evaluate.running.run_record import claim, write_manifest, write_result
from dragoman.evaluate.running.runner import run_table
from dragoman.evaluate.spec import DataSpec, Experiment, SystemSpec
from dragoman.evaluate.systems.build import Models, fetch_weights, needs_training
from dragoman.evaluate.systems.trained_parts import TrainedParts, Trainer, as_named, used_parts

Opener: TypeAlias = Callable[[DataSpec, Mapping[str, Any]], DatasetTable]


@dataclass(frozen=True, slots=True)
class _OpenedSet:
    """A set whose file was found, in the view of every group of systems."""

    spec: DataSpec
    block: DatasetTable
    measured: Measured
    views: tuple[DatasetTable, ...]
    systems: tuple[SystemSpec, ...]

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(dict.fromkeys(file for block in (self.block, *self.views) for file in block.files))

    def contents(self) -> list[Json]:
        """Hashes of the files of a set and, where it is a Python object, of its turns."""
        contents = [self.block.contents()] if self.spec.kind.startswith(PYTHON) else []
        return [*hashes(self.files), *contents]


class Run:
    """One run, in the order of its methods; everything that can be checked is checked before anything is written."""

    def __init__(
        self,
        spec: Experiment,
        out: Path,
        *,
        name: str | None = None,
        data: Mapping[str, Path | None] | None = None,
        systems: Sequence[str] | None = None,
        limit: int | None = None,
        fresh: bool = False,
        skip_bad: bool = False,
        overrides: Sequence[str] = (),
        progress: Progress | None = None,
        opener: Opener | None = None,
        parts: Path | None = None,
        trainer: Trainer | None = None,
        workers: Workers | None = None,
    ) -> None:
        self._data = dict(data or {})
        spec = _retitled(spec, self._data)
        self._named = spec
        self._parts = TrainedParts(spec, parts)
        self._trainer = trainer
        self._workers = workers
        self._spec = self._parts.filled(spec)
        self._measures = Measures(self._spec)
        self._out = out
        self._name = name or out.name
        self._systems = self._chosen_systems(systems)
        self._limit = limit
        self._fresh = fresh
        self._skip_bad = skip_bad
        self._overrides = overrides
        self._progress = progress or (lambda *_: None)
        self._opener = opener

    def result(self) -> Result:
        sets = [self._opened(spec) for spec in self._chosen_sets()]
        if self._trainer is not None:
            sets = self._trained(sets, self._trainer)
        here = [entry for entry in sets if isinstance(entry, _OpenedSet)]
        if not here:
            absent = next(entry for entry in sets if isinstance(entry, DataSpec))
            raise _no_data(absent, [spec.name for spec in self._spec.data if spec.asked])
        manifest = self._manifest(here)
        with RunFolder(self._out) as folder:
            claim(folder, manifest, fresh=self._fresh)
            self._prepare(here, folder)
            with Models() as models:
                for opened in here:
                    self._run(opened, folder, models)
            self._refuse_changed(here, folder, manifest)
            result = self._assembled(sets, folder, manifest)
            self._refuse_changed(here, folder, manifest)
            write_result(folder, result)
        return result

    def _prepare(self, sets: Sequence[_OpenedSet], folder: RunFolder) -> None:
        """Load what the columns need, and fetch the weights of the rows, before the first turn is answered.

        Otherwise a missing critic would fail only after all replies are written.
        """
        components = self._measures.components
        for done, component in enumerate(components):
            self._progress("Loading", done, len(components), type(component).__name__)
            warm(component)
        if self._workers is None or self._workers.here:
            unfinished = [
                system
                for opened in sets
                for system in opened.systems
                if folder.done(opened.spec.name, system.name) < opened.block.count()
            ]
            fetch_weights(unfinished)

    def _trained(self, sets: Sequence[_OpenedSet | DataSpec], trainer: Trainer) -> list[_OpenedSet | DataSpec]:
        """Train the missing parts of rows and columns, and open the sets again."""
        names = [entry.spec.name for entry in sets if isinstance(entry, _OpenedSet)]
        systems = {system.name: system for name in names for system in self._named.systems_of(name)}
        columns = {column.title: column for name in names for column in self._named.columns_of(name)}
        running = [system for system in systems.values() if system.runs and self._is_chosen(system)]
        judging = [column for column in columns.values() if column.missing is None]
        self._parts.train(running, judging, trainer, self._progress)
        self._spec = self._parts.filled(self._named)
        self._measures = Measures(self._spec)
        return [self._opened(entry.spec if isinstance(entry, _OpenedSet) else entry) for entry in sets]

    def _is_chosen(self, system: SystemSpec) -> bool:
        return self._systems is None or system.name in self._systems

    def _chosen_sets(self) -> list[DataSpec]:
        names = [spec.name for spec in self._spec.data]
        for name in self._data:
            if name not in names:
                raise UnknownNameError("set", name, names, remedy="--data NAME or NAME=FILE takes these.")
        return [spec for spec in self._spec.data if spec.name in self._data or not (self._data or spec.asked)]

    def _chosen_systems(self, names: Sequence[str] | None) -> tuple[str, ...] | None:
        declared = [system.name for system in self._spec.systems]
        for name in names or ():
            if name not in declared:
                raise UnknownNameError("system", name, declared)
        return tuple(names) if names else None

    def _opened(self, spec: DataSpec) -> _OpenedSet | DataSpec:
        systems = tuple(
            system for system in self._spec.systems_of(spec.name) if system.runs and self._is_chosen(system)
        )
        try:
            block = self._open(spec, {})
            views = tuple(self._viewed(block, system.view) for system in systems if system.view)
        except NoDataError:
            if spec.name in self._data:
                raise
            return spec
        untaught = frozenset(system.name for system in systems if block.is_untaught and needs_training(system))
        systems = tuple(system for system in systems if system.name not in untaught)
        measured = Measured(spec, block, self._measures.of(spec.name, block), untaught)
        return _OpenedSet(spec, block, measured, views, systems)

    def _open(self, spec: DataSpec, view: Mapping[str, Any]) -> DatasetTable:
        if self._opener is not None:
            return self._opener(spec, {"view": view, "limit": self._limit, "skip_bad": self._skip_bad})
        return open_table(spec, view=view, limit=self._limit, file=self._data.get(spec.name), skip_bad=self._skip_bad)

    def _viewed(self, block: DatasetTable, view: Mapping[str, Any]) -> DatasetTable:
        return block.viewed(view) if self._opener is None else self._open(block.spec, view)

    def _manifest(self, sets: Sequence[_OpenedSet]) -> dict[str, Json]:
        """The manifest of the run; reading every set here finds bad rows before any model runs."""
        if not any(opened.systems for opened in sets):
            raise self._nothing_runs()
        for done, opened in enumerate(sets):
            self._progress("Reading", done, len(sets), opened.spec.name)
            if opened.block.count() == 0:
                raise InputError(f"The set '{opened.spec.name}' has no turns.", remedy="Check its file and options.")
        named = as_named(self._named, self._spec)
        manifest = make_manifest(
            named,
            {opened.spec.name: opened.contents() for opened in sets},
            overrides=self._overrides,
            limit=self._limit,
            skip_bad=self._skip_bad,
            parts=used_parts(named, self._spec),
        )
        manifest["only"] = None if self._systems is None else list[Json](sorted(self._systems))
        return manifest

    def _nothing_runs(self) -> ConfigError:
        without = [system for system in self._spec.systems if system.missing and self._is_chosen(system)]
        untrained = [system for system in without if system.missing == "not trained"]
        remedy = "Give --train, which trains the parts that they need." if untrained else "Choose others with --system."
        reason = "".join(f" '{system.name}': {system.note.rstrip('.')}." for system in (untrained or without)[:1])
        return ConfigError(f"No system of the experiment can run here.{reason}", remedy=remedy)

    def _refuse_changed(self, sets: Sequence[_OpenedSet], folder: RunFolder, manifest: dict[str, Json]) -> None:
        """Refuse figures where the files of a set changed during the run, and mark the run as not resumable."""
        for opened in sets:
            name = opened.spec.name
            now = opened.contents()
            if now != cast(dict[str, Json], manifest["data"])[name]:
                write_manifest(folder, {**manifest, "data": {**cast(Any, manifest["data"]), name: None}})
                raise InputError(
                    f"The files of the set '{name}' changed while it was measured: some rows were read before, some "
                    "after, so that no figures are made of them.",
                    remedy="Give the same command with --fresh.",
                    data=name,
                )

    def _run(self, opened: _OpenedSet, folder: RunFolder, models: Models) -> None:
        run_table(
            opened.block,
            partial(self._viewed, opened.block),
            opened.systems,
            folder,
            seed=self._spec.seed,
            batch=self._spec.batch,
            progress=lambda done, total, name: self._progress(opened.spec.name, done, total, name),
            models=models,
            workers=self._workers,
        )
        folder.sync()

    def _assembled(
        self, sets: Sequence[_OpenedSet | DataSpec], folder: RunFolder, manifest: Mapping[str, Json]
    ) -> Result:
        return aggregate(
            self._spec,
            [entry.measured if isinstance(entry, _OpenedSet) else entry for entry in sets],
            folder,
            name=self._name,
            manifest=manifest,
            systems=self._systems,
            progress=lambda done, total, name: self._progress("Figures", done, total, name),
            keep=_Keeper(folder.path),
        )


class _Keeper:
    """Writes the turns and their scores into the run folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def turns(self, block: str, examples: Sequence[Any]) -> None:
        write_turns(self._folder, block, examples)

    def scores(
        self, block: str, system: str, examples: Sequence[str], columns: Mapping[str, Sequence[float | None]]
    ) -> None:
        write_scores(self._folder, block, system, examples, columns)


def _retitled(spec: Experiment, files: Mapping[str, Path | None]) -> Experiment:
    """Rename each set that is read from another file after that file, and drop the set's note."""
    replaced = {name: file for name, file in files.items() if file is not None}
    sets = tuple(
        entry.model_copy(update={"title": replaced[entry.name].name, "note": ""}) if entry.name in replaced else entry
        for entry in spec.data
    )
    return spec.model_copy(update={"data": sets}) if replaced else spec


def _no_data(spec: DataSpec, names: Sequence[str]) -> DragomanError:
    shipped = f" Or run it on the shipped set: --data {names[0]}." if names else ""
    return NoDataError(
        f"The file '{spec.file}' of the set '{spec.name}' is not here, nor that of any other set.",
        remedy=f"Set DRAGOMAN_DATA to the folder that holds it, or give --data {spec.name}=FILE.{shipped}",
        data=spec.name,
    )
