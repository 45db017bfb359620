"""An experiment from beginning to end: sets opened and columns checked, systems run, figures made, all of it kept.

result = experiment(
    {"bm25": {"retriever": "sparse"}, "hybrid": {"retriever": "hybrid"}},
    "mine.jsonl",
    [{"title": "Hit@1", "metric": "hit", "k": 1}, "mrr"],
    baseline="bm25",
)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias, cast

from dragoman.core.codec import Json
from dragoman.core.errors import ConfigError, DragomanError, InputError, NoDataError, UnknownNameError
from dragoman.core.examples import Dataset
from dragoman.evaluate.assemble import Measured, assemble, joined, split_repeatable
from dragoman.evaluate.block import Block, open_block
from dragoman.evaluate.build import Models, needs_training
from dragoman.evaluate.folder import MANIFEST, RunFolder
from dragoman.evaluate.manifest import PYTHON, hashes, make_manifest, refuse_other
from dragoman.evaluate.measures import Measures
from dragoman.evaluate.results import Result
from dragoman.evaluate.runner import run_block
from dragoman.evaluate.show.tables import csv_text, markdown, result_json, result_of
from dragoman.evaluate.spec import DataSpec, Experiment, SystemSpec, experiment_of
from dragoman.evaluate.turns import write_scores, write_turns

Progress: TypeAlias = Callable[[str, int, int | None, str], None]
"""Called with what is under way, how much of it is done, how much there is, and what is at hand."""
SystemTables: TypeAlias = Mapping[str, object]
Opener: TypeAlias = Callable[[DataSpec, Mapping[str, Any]], Block]

RESULTS, TIMES, MARKDOWN, CSV, PAGE = "results.json", "times.json", "results.md", "results.csv", "report.html"
_KEPT, _MADE = "kept.json", "made.json"
_ROLES = ("gate", "planner", "retriever", "reader", "critic", "model", "encoder")


def experiment(
    systems: Mapping[str, SystemTables | SystemSpec],
    dataset: Dataset | DataSpec | str | Path,
    metrics: Iterable[str | Mapping[str, object]],
    baseline: str | None = None,
    *,
    out: str | Path | None = None,
    limit: int | None = None,
    seed: int = 1,
    draws: int = 1000,
    batch: int = 64,
    title: str = "experiment",
    fresh: bool = False,
    skip_bad: bool = False,
    progress: Progress | None = None,
) -> Result:
    """Measure systems on a set: one table, each cell with its interval and its tests against the baseline.

    A system is a table of roles, as in an experiment file, where a role may be just the name of its kind. A metric is
    its name, or a column's table. Without `out` the rows of the run are thrown away at the end.
    """
    spec, opener = _data(dataset)
    tables = {
        "title": title,
        "seed": seed,
        "draws": draws,
        "batch": batch,
        "baseline": baseline,
        "data": [spec.model_dump()],
        "columns": [_column(entry) for entry in ([metrics] if isinstance(metrics, str) else metrics)],
        "systems": [_system(name, given) for name, given in systems.items()],
    }
    whole = experiment_of(tables)

    def run(folder: Path) -> Result:
        return _Run(
            whole, folder, name=title, limit=limit, fresh=fresh, skip_bad=skip_bad, progress=progress, opener=opener
        ).result()

    if out is not None:
        return run(Path(out))
    with TemporaryDirectory(prefix="dragoman-") as folder:
        return run(Path(folder))


def run_experiment(
    spec: Experiment,
    out: Path,
    *,
    name: str | None = None,
    data: Mapping[str, Path | None] | None = None,
    systems: Sequence[str] | None = None,
    slow: bool = False,
    limit: int | None = None,
    fresh: bool = False,
    skip_bad: bool = False,
    overrides: Sequence[str] = (),
    progress: Progress | None = None,
) -> Result:
    """Run an experiment into a folder, or go on with it, and write its tables there.

    `data` gives the file of a set, or None to choose a set as it is: where any is chosen, only those that are named
    run. Rows that are `slow` run where that is said, or where they are named. `overrides` are only recorded.
    """
    return _Run(
        spec if slow else spec.quick(systems or ()),
        out,
        name=name,
        data=data,
        systems=systems,
        limit=limit,
        fresh=fresh,
        skip_bad=skip_bad,
        overrides=overrides,
        progress=progress,
    ).result()


def load_run(folder: str | Path) -> Result:
    """The result of a run that came to its end, seconds included."""
    run = RunFolder(folder)
    text = run.read(RESULTS) if run.path.is_dir() else None
    if text is None:
        raise _no_result(run)
    result = result_of(text, str(run.path / RESULTS))
    times = run.read(TIMES)
    if times is None:
        return result
    described = cast(Mapping[str, Any], result.manifest.get("experiment") or {})
    order = [str(column["title"]) for column in described.get("columns", ())]
    return joined(result, replace(result_of(times, str(run.path / TIMES)), manifest=result.manifest), order)


def _no_result(run: RunFolder) -> InputError:
    if not run.path.is_dir():
        what = f"'{run.path}' is a file." if run.path.exists() else f"There is no folder '{run.path}'."
        return InputError(what, remedy="Give the folder of a run of `dragoman evaluate`.")
    what = f"There is no {RESULTS} in '{run.path}'."
    if (run.path / MANIFEST).exists():
        return InputError(what, remedy="The run was not finished. Give its command again: it goes on.")
    inside = ", ".join(str(file.parent) for file in sorted(run.path.glob(f"*/{RESULTS}")))
    return InputError(what, remedy=f"Give the folder of a run{': ' if inside else ''}{inside}.")


@dataclass(frozen=True, slots=True)
class _Opened:
    """A set that is here, as every view of a system shows it."""

    spec: DataSpec
    block: Block
    measured: Measured
    views: tuple[Block, ...]
    systems: tuple[SystemSpec, ...]

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(dict.fromkeys(file for block in (self.block, *self.views) for file in block.files))


class _Run:
    """One run, in the order of its methods; nothing is written before everything that can be checked was."""

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
    ) -> None:
        self._spec = spec
        self._out = out
        self._name = name or out.name
        self._data = dict(data or {})
        self._systems = self._chosen_systems(systems)
        self._limit = limit
        self._fresh = fresh
        self._skip_bad = skip_bad
        self._overrides = overrides
        self._progress = progress or (lambda *_: None)
        self._opener = opener

    def result(self) -> Result:
        sets = [self._opened(spec) for spec in self._chosen_sets()]
        here = [entry for entry in sets if isinstance(entry, _Opened)]
        if not here:
            absent = next(entry for entry in sets if isinstance(entry, DataSpec))
            raise _no_data(absent, [spec.name for spec in self._spec.data if spec.asked])
        manifest = self._manifest(here)
        with RunFolder(self._out) as folder:
            self._claim(folder, manifest)
            with Models() as models:
                for opened in here:
                    self._run(opened, folder, models)
            self._refuse_changed(here, folder, manifest)
            result = self._assembled(sets, folder, manifest)
            self._refuse_changed(here, folder, manifest)
            self._write(folder, result)
        return result

    def _chosen_sets(self) -> list[DataSpec]:
        names = [spec.name for spec in self._spec.data]
        for name in self._data:
            if name not in names:
                raise UnknownNameError("set", name, names, remedy="--data NAME or NAME=FILE takes these.")
        only = any(file is None for file in self._data.values())
        return [spec for spec in self._spec.data if spec.name in self._data or not (only or spec.asked)]

    def _chosen_systems(self, names: Sequence[str] | None) -> tuple[str, ...] | None:
        known = [system.name for system in self._spec.systems]
        for name in names or ():
            if name not in known:
                raise UnknownNameError("system", name, known)
        return tuple(names) if names else None

    def _opened(self, spec: DataSpec) -> _Opened | DataSpec:
        systems = tuple(
            system
            for system in self._spec.systems_of(spec.name)
            if system.runs and (self._systems is None or system.name in self._systems)
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
        measures = Measures(self._spec).of(spec.name, block)
        return _Opened(spec, block, Measured(spec, block, measures, untaught), views, systems)

    def _open(self, spec: DataSpec, view: Mapping[str, Any]) -> Block:
        if self._opener is not None:
            return self._opener(spec, {"view": view, "limit": self._limit, "skip_bad": self._skip_bad})
        return open_block(spec, view=view, limit=self._limit, file=self._data.get(spec.name), skip_bad=self._skip_bad)

    def _viewed(self, block: Block, view: Mapping[str, Any]) -> Block:
        return block.viewed(view) if self._opener is None else self._open(block.spec, view)

    def _manifest(self, sets: Sequence[_Opened]) -> dict[str, Json]:
        """What is run; reading every set through for it tells what is wrong with a row before anything is spent."""
        if not any(opened.systems for opened in sets):
            raise ConfigError("No system of the experiment can run here.", remedy="Choose others with --system.")
        for done, opened in enumerate(sets):
            self._progress("Reading", done, len(sets), opened.spec.name)
            if opened.block.count() == 0:
                raise InputError(f"The set '{opened.spec.name}' has no turns.", remedy="Check its file and options.")
        manifest = make_manifest(
            self._spec,
            {opened.spec.name: opened.files for opened in sets},
            overrides=self._overrides,
            limit=self._limit,
            skip_bad=self._skip_bad,
        )
        manifest["only"] = None if self._systems is None else list[Json](sorted(self._systems))
        return manifest

    def _claim(self, folder: RunFolder, manifest: dict[str, Json]) -> None:
        """Make the folder this run's own, or refuse it where its rows came about otherwise."""
        if self._fresh:
            folder.drop()
            folder.discard(_KEPT, RESULTS, TIMES, MARKDOWN, CSV, PAGE)
        before = _earlier(folder) if not self._fresh else None
        if before is not None:
            refuse_other(before, manifest, folder.path)
        folder.write(_KEPT, _dump(_kept(before, manifest)))
        folder.write(MANIFEST, _dump(manifest))
        folder.write(_MADE, _dump({"began": _now()}))

    def _refuse_changed(self, sets: Sequence[_Opened], folder: RunFolder, manifest: dict[str, Json]) -> None:
        """Rows that were read from other bytes than the manifest says have no figures; nor may they be gone on with."""
        for opened in sets:
            name = opened.spec.name
            now = hashes(opened.files)
            if now != cast(dict[str, Json], manifest["data"])[name]:
                folder.write(MANIFEST, _dump({**manifest, "data": {**cast(Any, manifest["data"]), name: None}}))
                raise InputError(
                    f"The files of the set '{name}' changed while it was measured: some rows were read before, some "
                    "after, so that no figures are made of them.",
                    remedy="Give the same command with --fresh.",
                    data=name,
                )

    def _run(self, opened: _Opened, folder: RunFolder, models: Models) -> None:
        run_block(
            opened.block,
            partial(self._viewed, opened.block),
            opened.systems,
            folder,
            seed=self._spec.seed,
            batch=self._spec.batch,
            progress=lambda done, total, name: self._progress(opened.spec.name, done, total, name),
            models=models,
        )
        folder.sync()

    def _assembled(self, sets: Sequence[_Opened | DataSpec], folder: RunFolder, manifest: Mapping[str, Json]) -> Result:
        return assemble(
            self._spec,
            [entry.measured if isinstance(entry, _Opened) else entry for entry in sets],
            folder,
            name=self._name,
            manifest=manifest,
            systems=self._systems,
            progress=lambda done, total, name: self._progress("Figures", done, total, name),
            keep=_Keeper(folder.path),
        )

    def _write(self, folder: RunFolder, result: Result) -> None:
        repeatable, times = split_repeatable(result)
        folder.write(RESULTS, result_json(repeatable))
        folder.write(TIMES, result_json(replace(times, manifest={})))
        folder.write(MARKDOWN, markdown(result))
        folder.write(CSV, csv_text(result))
        folder.write(PAGE, _page(result))
        folder.write(_MADE, _dump({**json.loads(folder.read(_MADE) or "{}"), "ended": _now()}))


class _Keeper:
    """Writes what a run keeps of its turns."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def turns(self, block: str, examples: Sequence[Any]) -> None:
        write_turns(self._folder, block, examples)

    def scores(
        self, block: str, system: str, examples: Sequence[str], columns: Mapping[str, Sequence[float | None]]
    ) -> None:
        write_scores(self._folder, block, system, examples, columns)


def _page(result: Result) -> str:
    from dragoman.evaluate.show.report import page

    return page([result])


def _earlier(folder: RunFolder) -> dict[str, Json] | None:
    """The manifest of before, with every set and system that the folder holds rows of."""
    text = folder.read(MANIFEST)
    if text is None:
        return None
    try:
        manifest, kept = json.loads(text), json.loads(folder.read(_KEPT) or "{}")
        described = manifest["experiment"]
        described["systems"] = list({**kept.get("systems", {}), **_named(described["systems"])}.values())
        described["data"] = list({**kept.get("sets", {}), **_named(described["data"])}.values())
        manifest["data"] = {**kept.get("files", {}), **manifest["data"]}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"'{folder.path / MANIFEST}' is not the manifest of a run: {error!r}.",
            remedy="Give --fresh to begin anew, or another folder with --out.",
        ) from error
    return cast(dict[str, Json], manifest)


def _kept(before: Mapping[str, Json] | None, manifest: Mapping[str, Json]) -> dict[str, Json]:
    """Every set and system that has rows here, also those that this run leaves out."""
    told: dict[str, Any] = {"systems": {}, "sets": {}, "files": {}}
    for one in (before, manifest):
        if one is not None:
            described = cast(Mapping[str, Any], one["experiment"])
            told["systems"] |= {
                name: entry for name, entry in _named(described["systems"]).items() if not entry.get("missing")
            }
            told["sets"] |= _named(described["data"])
            told["files"] |= cast(dict[str, Json], one["data"])
    return told


def _named(entries: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {str(entry["name"]): entry for entry in entries}


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _no_data(spec: DataSpec, asked: Sequence[str]) -> DragomanError:
    shipped = f" Or run it on the shipped set: --data {asked[0]}." if asked else ""
    return NoDataError(
        f"The file '{spec.file}' of the set '{spec.name}' is not here, nor that of any other set.",
        remedy=f"Set DRAGOMAN_DATA to the folder that holds it, or give --data {spec.name}=FILE.{shipped}",
        data=spec.name,
    )


def _column(entry: str | Mapping[str, object]) -> dict[str, object]:
    if isinstance(entry, str):
        return {"title": entry, "metric": entry}
    if not isinstance(entry, Mapping):
        raise ConfigError(
            f"{entry!r} is no metric.", remedy='Give its name, or a table: {"title": "Hit@1", "metric": "hit", "k": 1}.'
        )
    return dict(entry)


def _system(name: str, given: SystemTables | SystemSpec) -> dict[str, Any]:
    if isinstance(given, SystemSpec):
        return {**given.model_dump(exclude_unset=True), "name": name}
    if not isinstance(given, Mapping):
        raise ConfigError(
            f"The system '{name}' is {given!r}.", remedy='Give a table of its roles: {"retriever": "sparse"}.'
        )
    tables = {
        key: {"kind": value} if key in _ROLES and isinstance(value, str) else value for key, value in given.items()
    }
    return {**tables, "name": name}


def _data(dataset: Dataset | DataSpec | str | Path) -> tuple[DataSpec, Opener | None]:
    if isinstance(dataset, DataSpec):
        return dataset, None
    if isinstance(dataset, str | Path):
        from dragoman.datasets.open import SHIPPED, sniff

        kind = sniff(dataset)
        if str(dataset) in SHIPPED:
            return DataSpec.model_validate({"name": str(dataset), "kind": kind, **SHIPPED[str(dataset)]}), None
        return DataSpec(name=Path(dataset).stem, kind=kind, file=str(dataset)), None
    spec = DataSpec(name=dataset.name, kind=f"{PYTHON}{type(dataset).__module__}.{type(dataset).__qualname__}")

    def opened(spec: DataSpec, options: Mapping[str, Any]) -> Block:
        if options["view"]:
            raise ConfigError("A set that is an object has no views.", remedy="Give the set as a DataSpec.")
        return Block(spec, dataset, limit=options["limit"], skip_bad=options["skip_bad"])

    return spec, opened
