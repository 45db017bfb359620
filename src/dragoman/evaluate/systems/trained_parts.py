"""Trained parts that an experiment declares: their identity, their folders, and what to do where one is missing.

A part goes by its recipe, what is changed in it, and the bytes of its data: experiments that declare the same share one
folder, and another recipe or other data is another folder. The caller passes the trainer: nothing is trained here.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeAlias

from dragoman.agent.create import parameters
from dragoman.config import Table
from dragoman.core.environment import home
from dragoman.core.errors import (
    ConfigError,
    InputError,
    NoDataError,
    TrainingError,
    UnknownNameError,
    WeightsError,
)
from dragoman.core.examples import Dataset
from dragoman.core.registry import REGISTRIES
from dragoman.core.toml import read_toml
from dragoman.datasets.open import SHIPPED, open_dataset, resolve
from dragoman.evaluate.columns import component_tables
from dragoman.evaluate.contract import Progress
from dragoman.evaluate.spec import PART_MARK, ROLES, ColumnSpec, Experiment, Missing, PartSpec, SystemSpec, marked
from dragoman.evaluate.systems import vector_cache
from dragoman.evaluate.systems.build import system_design
from dragoman.models.part import FILE, find_part, sha256
from dragoman.models.weights import CATALOGUE

_DIGITS = 12
_METRIC = "metric"
_WORDS = ("about", "name", "licence")
"""Keys of a recipe that describe it and do not change what is learned."""
_LABELS = "input.relevance"
"""The setting that names label files, which are found like data and identified by their bytes."""
_WEIGHTS = ("weights", "adapter", "base", "teacher")
"""Options that name files or folders of a model, by a path or by a name of the catalogue."""


@dataclass(frozen=True, slots=True)
class TrainingOrder:
    """A part to be trained: recipe, overrides, data files and the target folder."""

    name: str
    recipe: str
    overrides: Mapping[str, object]
    data: Mapping[str, tuple[str, ...]]
    options: Mapping[str, object]
    folder: Path

    @property
    def settings(self) -> tuple[str, ...]:
        """The overrides as the command line takes them."""
        return _arguments(self.overrides)

    @property
    def command(self) -> str:
        """The command that trains the part by hand into its folder."""
        words = ["dragoman", "train", self.recipe]
        words += [word for side, files in self.data.items() for file in files for word in ("--data", f"{side}={file}")]
        words += [word for option in _arguments(self.options) for word in ("--option", option)]
        words += [word for setting in self.settings for word in ("--set", setting)]
        return f"{shlex.join(words)} --out {_written_folder(self.folder)}"


Trainer: TypeAlias = Callable[[TrainingOrder, Progress], object]
"""Trains a part into its folder, or resumes a training that was stopped."""


@dataclass(frozen=True, slots=True)
class Hole:
    """Why a part cannot be used, and what to do about it."""

    missing: Missing
    note: str


class TrainedParts:
    """The trained parts of an experiment on disk, below `folder` (default: the home folder)."""

    def __init__(self, experiment: Experiment, folder: Path | None = None) -> None:
        self._declared = {part.name: part for part in experiment.parts}
        self._folder = folder or home() / "parts"
        self._orders: dict[str, TrainingOrder | Hole] = {}

    def train(
        self, systems: Sequence[SystemSpec], columns: Sequence[ColumnSpec], trainer: Trainer, progress: Progress
    ) -> None:
        """Train the missing parts of these rows and columns, one after another, where their data is present."""
        names = [name for system in systems for name in marked(_used_tables(system))]
        names += [name for column in columns for name in marked(column.options)]
        for name in dict.fromkeys(names):
            order = self._order(name)
            if isinstance(order, Hole) or _is_there(order.folder):
                continue
            trainer(order, progress)
            if not _is_there(order.folder):
                raise TrainingError(
                    f"The training of the part '{name}' left no {FILE} in '{order.folder}'.",
                    remedy=f"Try it by hand: {order.command}",
                )

    def place(self, name: str) -> Path | Hole:
        """The folder of a declared part, or why it cannot be used."""
        order = self._order(name)
        if isinstance(order, Hole):
            return order
        if _is_there(order.folder):
            return order.folder
        return Hole("not trained", f"the part '{name}' is not trained: give --train, or by hand: {order.command}")

    def filled(self, experiment: Experiment) -> Experiment:
        """The experiment with folders in place of part names; rows and columns without their part become missing."""
        experiment = experiment.model_copy(update={"defaults": _filled(experiment.defaults, self.place)})
        tables = component_tables(experiment)
        systems = [self._system(system) if system.runs else system for system in experiment.systems]
        columns = [self._column(column, tables) for column in experiment.columns]
        return experiment.model_copy(update={"systems": tuple(systems), "columns": tuple(columns)})

    def _system(self, system: SystemSpec) -> SystemSpec:
        hole = _first_hole(self.place(name) for name in marked(_used_tables(system)))
        made = system.model_copy(update={role: _filled(getattr(system, role), self.place) for role in ROLES})
        hole = hole or _first_hole(_opened_parts(made).values())
        if hole is None:
            return made
        note = "; ".join(words.rstrip(".") for words in (system.note, hole.note) if words)
        return system.model_copy(update={"missing": hole.missing, "note": note})

    def _column(self, column: ColumnSpec, tables: Mapping[str, Table]) -> ColumnSpec:
        if column.missing is not None:
            return column
        made = column.model_copy(update=_filled(column.options, self.place))
        places = [self.place(name) for name in marked(column.options)]
        hole = _first_hole([*places, *_opened_by_column(made, tables).values()])
        return made if hole is None else column.model_copy(update={"missing": hole.missing})

    def _order(self, name: str) -> TrainingOrder | Hole:
        if name not in self._orders:
            self._orders[name] = self._training_order(self._declared[name])
        return self._orders[name]

    def _training_order(self, part: PartSpec) -> TrainingOrder | Hole:
        try:
            digest = identity(part)
        except NoDataError as error:
            return Hole("no data", f"the part '{part.name}' cannot be trained here: {error.message}")
        shared = sorted(self._folder.glob(f"*-{digest}/{FILE}"))  # another experiment may call it otherwise
        folder = shared[0].parent if shared else self._folder / f"{part.name}-{digest}"
        data = {str(side): files for side, files in part.data.items()}
        overrides = dict(part.set)
        if _LABELS in overrides:
            overrides[_LABELS] = [str(place) for place in _label_files(part)]
        return TrainingOrder(part.name, part.recipe, overrides, data, dict(part.options), folder)


def identity(part: PartSpec) -> str:
    """A short digest of a part: its recipe, the overrides and the bytes of its training files."""
    tables = {key: value for key, value in _recipe(part.recipe).items() if key not in _WORDS}
    data = {side: [_hashes(file) for file in files] for side, files in part.data.items()}
    changed = dict(part.set)
    if _LABELS in changed:
        changed[_LABELS] = [sha256(place) for place in _label_files(part)]
    content = json.dumps([tables, changed, data, part.options], sort_keys=True, default=str, ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()[:_DIGITS]


def as_named(named: Experiment, filled: Experiment) -> Experiment:
    """The filled experiment with part names again, as the manifest records it: folders differ between machines."""
    systems = [
        system.model_copy(update={"missing": made.missing, "note": made.note})
        for system, made in zip(named.systems, filled.systems, strict=True)
    ]
    columns = [
        column.model_copy(update={"missing": made.missing})
        for column, made in zip(named.columns, filled.columns, strict=True)
    ]
    return named.model_copy(update={"systems": tuple(systems), "columns": tuple(columns)})


def used_parts(named: Experiment, filled: Experiment) -> dict[str, dict[str, dict[str, str]]]:
    """Identify the parts that rows and columns run: the hash of each `part.json`, by the names of the experiment file.

    Weights of one's own beside them, by the option that names them.
    """
    tables = component_tables(filled)
    digest = cache(_weights_digest)  # rows share their models, which may be large
    rows, columns = {}, {}
    for system, made in zip(named.systems, filled.systems, strict=True):
        if made.runs:
            used = _used_tables(system)
            parts = _part_names(used, _used_tables(made), _opened_parts(made))
            rows[made.name] = parts | _digests_by_option(used, system_design(system).folder, digest)
    for column, judge in zip(named.columns, filled.columns, strict=True):
        if judge.missing is None:
            parts = _part_names(column.options, judge.options, _opened_by_column(judge, tables))
            columns[judge.title] = parts | _digests_by_option(column.options, None, digest)
    return {"systems": rows, "columns": columns}


def _part_names(named: Table, filled: Table, opened: Mapping[str, Path | Hole]) -> dict[str, str]:
    places = {str(place): Path(name).name if Path(name).is_absolute() else name for name, place in opened.items()}
    places |= {folder: name for name, folder in _pairs(named, filled)}
    return {name: sha256(Path(folder) / FILE) for folder, name in sorted(places.items())}


def _digests_by_option(
    tables: Table, folder: Path | None, digest: Callable[[str, Path | None], str | None]
) -> dict[str, str]:
    """The hashes of local weights by the option that names them, since a path does not identify its contents."""
    digests = {option: digest(name, folder) for option, name in _own_weights(tables)}
    return {option: value for option, value in digests.items() if value is not None}


def _weights_digest(name: str, folder: Path | None) -> str | None:
    try:
        return vector_cache.identity({}, name, agent=folder).hex()
    except (UnknownNameError, WeightsError):  # whoever opens them says so
        return None


def _own_weights(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """The options that name weights; weights of the catalogue are left out, since it holds their hashes."""
    if isinstance(value, Mapping):
        for key, entry in value.items():
            inner = f"{place}.{key}" if place else str(key)
            if key not in _WEIGHTS or not isinstance(entry, str):
                yield from _own_weights(entry, inner)
            elif not entry.startswith(PART_MARK) and entry not in CATALOGUE:
                yield inner, entry
    elif isinstance(value, list | tuple):
        for number, entry in enumerate(value):
            yield from _own_weights(entry, f"{place}.{number}")


def _used_tables(system: SystemSpec) -> dict[str, Table]:
    """The tables of all components that a row runs, including those of its agent and of `[defaults]`."""
    whole = system_design(system)
    return {role: whole.tables[role] for role in whole.used}


def _opened_parts(system: SystemSpec) -> dict[str, Path | Hole]:
    """The folder of each part that the components of a row open themselves, or why it is missing."""
    whole = system_design(system)
    names = (name for role in whole.roles for name in _opened(role, whole.tables[role], whole.tables))
    return {name: _located(name, whole.folder) for name in names}


def _opened_by_column(column: ColumnSpec, tables: Mapping[str, Table]) -> dict[str, Path | Hole]:
    return {name: _located(name) for name in _opened(_METRIC, {"kind": column.metric, **column.options}, tables)}


def _opened(role: str, table: Mapping[str, Any], tables: Mapping[str, Table]) -> Iterator[str]:
    """The option `part` of a component and of its own components, as given or by default."""
    kind = table.get("kind", tables.get(role, {}).get("kind"))
    if not isinstance(kind, str):
        return
    factory = REGISTRIES[role].factory(kind)
    for name, parameter in parameters(factory).items():
        inner = table.get(name)
        if name == "part" and role != _METRIC:  # what a metric calls so is its own: the L of ROUGE-L
            value = table.get(name, inspect.signature(factory).parameters[name].default)
            if isinstance(value, str) and not value.startswith(PART_MARK):
                yield value
        elif parameter.role and isinstance(inner, str | Mapping):
            yield from _opened(parameter.role, {"kind": inner} if isinstance(inner, str) else inner, tables)
        elif parameter.role and parameter.required and parameter.role in tables:
            yield from _opened(parameter.role, tables[parameter.role], tables)


def _located(name: str, folder: Path | None = None) -> Path | Hole:
    try:
        return find_part(name, folder=folder)
    except (UnknownNameError, WeightsError) as error:
        return Hole("not trained", error.message)


def _first_hole(places: Iterable[Path | Hole]) -> Hole | None:
    return next((place for place in places if isinstance(place, Hole)), None)


def _filled(value: Any, place: Callable[[str], Path | Hole]) -> Any:
    """The tables with folders in place of part names; the name of a missing part stays."""
    if isinstance(value, str) and value.startswith(PART_MARK):
        path = place(value.removeprefix(PART_MARK))
        return str(path) if isinstance(path, Path) else value
    if isinstance(value, Mapping):
        return {key: _filled(entry, place) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(entry, place) for entry in value]
    return value


def _pairs(named: Any, filled: Any) -> Iterator[tuple[str, str]]:
    """Part names with the folders that replaced them."""
    if isinstance(named, str) and named.startswith(PART_MARK):
        yield named.removeprefix(PART_MARK), filled
    elif isinstance(named, Mapping):
        for key, entry in named.items():
            yield from _pairs(entry, filled[key])
    elif isinstance(named, list | tuple):
        for entry, twin in zip(named, filled, strict=True):
            yield from _pairs(entry, twin)


def _recipe(name: str) -> Table:
    shipped = resources.files("dragoman") / "train" / "recipes"
    own = Path(name).expanduser()
    if own.is_file():
        return read_toml(own)
    if (shipped / f"{name}.toml").is_file():
        return read_toml(Path(str(shipped / f"{name}.toml")))
    if own.suffix or len(own.parts) > 1:
        raise ConfigError(f"There is no recipe '{name}'.", remedy="Give the path of a file, or a shipped one's name.")
    names = [file.name.removesuffix(".toml") for file in shipped.iterdir()] if shipped.is_dir() else []
    raise UnknownNameError("recipe", name, names, remedy="Or give the path of a file.")


def _hashes(file: str) -> list[object]:
    """The hashes of a set's files; a shipped set adds its name, since its languages share files."""
    if file in SHIPPED:
        return [file, *_digests(open_dataset(None, file))]
    return _digests(open_dataset(None, _resolved(file)))


def _label_files(part: PartSpec) -> list[Path]:
    """The files of similarity labels that a part is trained on."""
    named = part.set[_LABELS]
    return [_resolved(file) for file in ([named] if isinstance(named, str) else named)]


def _written_folder(folder: Path) -> str:
    """A folder as the command line takes it; below the home folder, by name, so that notes hold no machine's paths."""
    if folder.parent == home() / "parts":
        return f'"${{DRAGOMAN_HOME:-$HOME/.dragoman}}/parts/{folder.name}"'
    return shlex.quote(str(folder))


def _resolved(file: str) -> Path:
    try:
        return resolve(file)
    except InputError as error:
        raise NoDataError(error.message, remedy=error.remedy, file=file) from error


def _digests(dataset: Dataset) -> list[object]:
    """Hash and size of a file, without its name."""
    return [sha256(file) for file in dataset.files]


def _is_there(folder: Path) -> bool:
    return (folder / FILE).is_file()


def _arguments(values: Mapping[str, object]) -> tuple[str, ...]:
    """Values by name as the command line takes them."""
    return tuple(f"{name}={value if isinstance(value, str) else _inline(value)}" for name, value in values.items())


def _inline(value: object) -> str:
    """A value as TOML has it in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {_inline(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
