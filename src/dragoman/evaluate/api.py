"""Public API of the laboratory: run an experiment from Python or from a file.

result = experiment(
    {"bm25": {"retriever": "sparse"}, "hybrid": {"retriever": "hybrid"}},
    "mine.jsonl",
    [{"title": "Hit@1", "metric": "hit", "k": 1}, "mrr"],
    baseline="bm25",
)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from dragoman.core.errors import ConfigError
from dragoman.core.examples import Dataset
from dragoman.core.workers import Workers
from dragoman.evaluate.contract import Progress
from dragoman.evaluate.results import Result
from dragoman.evaluate.running.dataset_table import DatasetTable
from dragoman.evaluate.running.manifest import PYTHON
from dragoman.evaluate.running.run import Opener, Run
from dragoman.evaluate.spec import ROLES, DataSpec, Experiment, SystemSpec, experiment_of
from dragoman.evaluate.systems.trained_parts import Trainer

SystemTables: TypeAlias = Mapping[str, object]


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
    its name, or a column's table. Without `out` the rows of the run are deleted at the end.
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
        "systems": [_system(name, system) for name, system in systems.items()],
    }
    whole = experiment_of(tables)

    def run(folder: Path) -> Result:
        return Run(
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
    parts: Path | None = None,
    trainer: Trainer | None = None,
    workers: Workers | None = None,
) -> Result:
    """Run an experiment into a folder, or go on with it, and write its tables there.

    `data` gives the file of a set, or None for the set's own file: where it names any, only those sets run. Rows that
    are `slow` run where `slow` is set or where they are named. `overrides` are only recorded. Trained parts lie below
    `parts`; a `trainer` trains those that rows need and that are missing, else such rows say "not trained". `workers`
    answer the turns; without them this process does.
    """
    return Run(
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
        parts=parts,
        trainer=trainer,
        workers=workers,
    ).result()


def _column(entry: str | Mapping[str, object]) -> dict[str, object]:
    if isinstance(entry, str):
        return {"title": entry, "metric": entry}
    if not isinstance(entry, Mapping):
        raise ConfigError(
            f"{entry!r} is no metric.", remedy='Give its name, or a table: {"title": "Hit@1", "metric": "hit", "k": 1}.'
        )
    return dict(entry)


def _system(name: str, entry: SystemTables | SystemSpec) -> dict[str, Any]:
    if isinstance(entry, SystemSpec):
        return {**entry.model_dump(exclude_unset=True), "name": name}
    if not isinstance(entry, Mapping):
        raise ConfigError(
            f"The system '{name}' is {entry!r}.", remedy='Give a table of its roles: {"retriever": "sparse"}.'
        )
    tables = {
        key: {"kind": value} if key in ROLES and isinstance(value, str) else value for key, value in entry.items()
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

    def opened(spec: DataSpec, options: Mapping[str, Any]) -> DatasetTable:
        if options["view"]:
            raise ConfigError("A set that is an object has no views.", remedy="Give the set as a DataSpec.")
        return DatasetTable(spec, dataset, limit=options["limit"], skip_bad=options["skip_bad"])

    return spec, opened
