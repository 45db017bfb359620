"""An experiment file as typed, checked values: sets, systems, columns, and the figures that the paper prints.

The file is TOML: a wrong key is an error with a suggestion, overrides use the same paths, and reading has no effects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from dragoman.config import RefinerConfig, Table
from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.core.toml import explained, override, read_toml, set_by_path
from dragoman.presets import row_with_preset, with_unified

Missing: TypeAlias = Literal["not built", "no data", "no model", "not run", "not trained"]
"""Why a row has no figure: the paper's own system was not built again, its data or its model is missing, it is slow and
was not named, or its part is not trained yet."""
PART_MARK = "@"
"""Prefix of the name of a declared part where an option takes the part's folder."""
ROLES = ("gate", "planner", "retriever", "reader", "critic", "model", "encoder")
"""The tables of a system that describe components."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DataSpec(_Strict):
    """One set, or one part of it, on which all systems are measured: a table of its own in the result.

    `file` and `train` are looked up below the data folder, or are paths. `split` cuts the set first and takes a part.
    A set with `asked` runs only where the command names it. Other keys are options of the loader.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str = Field(min_length=1)
    kind: str
    title: str = ""
    file: str | None = None
    train: str | None = None
    split: SplitSpec | None = None
    asked: bool = False
    note: str = ""

    @property
    def options(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class SplitSpec(_Strict):
    """How a set is split and which part is measured; files of `pool` are joined to the set first."""

    by: Literal["dialogue", "evidence"]
    part: str = "dev"
    parts: dict[str, float] = {"train": 0.8, "dev": 0.1, "test": 0.1}
    pool: tuple[str, ...] = ()
    seed: int = 1


class PartSpec(_Strict):
    """A trained part that rows use: a recipe, its training files, and overrides of the recipe.

    `recipe` is a shipped one or a path; files are looked up below the data folder (`aux`: another set's, to begin
    with); `options` are those of their loaders; `set` holds overrides of the recipe by path.
    """

    name: str = Field(min_length=1, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    recipe: str = Field(min_length=1)
    data: dict[Literal["train", "dev", "aux"], tuple[str, ...]]
    options: Table = {}
    set: Table = {}
    note: str = ""

    @field_validator("set")
    @classmethod
    def _by_path(cls, tables: Table) -> Table:
        """Flatten nested tables, as `--set parts.NAME.set.model.base=...` makes them, into dotted paths."""
        by_path = {path: value for path, value in tables.items() if "." in path or not isinstance(value, dict)}
        for name in tables.keys() - by_path.keys():
            by_path |= dict(_leaves(tables[name], name))
        return by_path

    @model_validator(mode="after")
    def _taught(self) -> PartSpec:
        if not self.data.get("train"):
            raise ValueError("data.train names no file")
        return self


def _leaves(table: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        here = f"{path}.{name}"
        if isinstance(value, dict):
            yield from _leaves(value, here)
        else:
            yield here, value


class ColumnSpec(BaseModel):
    """One column: a metric with its options, the turns that it counts, and how it is printed.

    A `missing` column (because its critic is not trained, say) shows the paper's figures and the reason.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    title: str = Field(min_length=1)
    metric: str
    where: Table = {}
    data: tuple[str, ...] | None = None
    missing: Missing | None = None
    scale: float = 1.0
    digits: int = Field(default=2, ge=0, le=6)

    @property
    def options(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class SystemSpec(_Strict):
    """One row: the roles of an agent, an agent's folder with some roles changed, or the reason why it cannot run.

    `view` changes options of the set for this row alone (the raw text that a paper's protocol reads). `paper` holds
    the printed figures, by set and column. A `slow` row, which prompts a language model on every turn, runs only with
    `--slow` or by name.
    """

    name: str = Field(min_length=1)
    group: str = ""
    note: str = ""
    agent: str | None = None
    gate: Table = {}
    planner: Table = {}
    retriever: Table = {}
    reader: Table = {}
    critic: Table = {}
    model: Table = {}
    encoder: Table = {}
    refiner: RefinerConfig = RefinerConfig()
    k: int | None = Field(default=None, ge=1)
    fallback: Literal["all", "none", "error"] | None = None
    view: Table = {}
    data: tuple[str, ...] | None = None
    missing: Missing | None = None
    slow: bool = False
    paper: dict[str, dict[str, float]] = {}

    @property
    def runs(self) -> bool:
        return self.missing is None


class FigureSpec(BaseModel):
    """One plot of the report."""

    model_config = ConfigDict(extra="allow", frozen=True)

    kind: str
    title: str = ""
    data: tuple[str, ...] | None = None

    @property
    def options(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class Experiment(_Strict):
    """A whole experiment file."""

    title: str = Field(min_length=1)
    about: str = ""
    paper: str = ""
    table: str = ""
    seed: int = 1
    draws: int = Field(default=1000, ge=100)
    baseline: str | None = None
    batch: int = Field(default=64, ge=1)
    defaults: Table = {}
    data: tuple[DataSpec, ...] = Field(min_length=1)
    columns: tuple[ColumnSpec, ...] = Field(min_length=1)
    systems: tuple[SystemSpec, ...] = Field(min_length=1)
    parts: tuple[PartSpec, ...] = ()
    figures: tuple[FigureSpec, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Experiment:
        sets = [block.name for block in self.data]
        for what, names in (
            ("data", sets),
            ("columns", [column.title for column in self.columns]),
            ("systems", [system.name for system in self.systems]),
            ("parts", [part.name for part in self.parts]),
        ):
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise ValueError(f"'{twice}' stands twice in {what}")
        titles = {column.title for column in self.columns}
        for system in self.systems:
            for name in (*(system.data or ()), *system.paper):
                _require("set", name, sets, f"systems '{system.name}'")
            for figures in system.paper.values():
                for title in figures:
                    _require("column", title, titles, f"systems '{system.name}', paper")
        limited = [(entry.title, entry.data or ()) for entry in self.columns]
        limited += [(figure.title or figure.kind, figure.data or ()) for figure in self.figures]
        for title, named in limited:
            for name in named:
                _require("set", name, sets, f"'{title}'")
        parts = [part.name for part in self.parts]
        asking: list[tuple[str, object]] = [("defaults", self.defaults)]
        asking += [(f"systems '{entry.name}'", [getattr(entry, role) for role in ROLES]) for entry in self.systems]
        asking += [(f"'{entry.title}'", entry.options) for entry in self.columns]
        for where, tables in asking:
            for name in marked(tables):
                _require("part", name, parts, where)
        if self.baseline is not None:
            _require("system", self.baseline, [system.name for system in self.systems], "baseline")
        return self

    def quick(self, named: Sequence[str] = ()) -> Experiment:
        """The experiment without its slow rows, except those that are named."""
        systems = tuple(
            system.model_copy(update={"missing": "not run"})
            if system.slow and system.runs and system.name not in named
            else system
            for system in self.systems
        )
        return self.model_copy(update={"systems": systems})

    def columns_of(self, block: str) -> tuple[ColumnSpec, ...]:
        return tuple(column for column in self.columns if column.data is None or block in column.data)

    def systems_of(self, block: str) -> tuple[SystemSpec, ...]:
        return tuple(system for system in self.systems if system.data is None or block in system.data)


def load_experiment(path: Path, overrides: Sequence[str] = (), *, agents: Sequence[str] = ()) -> Experiment:
    """Read an experiment file with its overrides, complete every system with `[defaults]`, check all of it.

    `library` in the file is the path, from its folder, of a file of `[[parts]]` that several experiments use. A name in
    `data` stands for a table of `data.toml` in the same folder.
    """
    tables = read_toml(path, absent="Give an experiment file.")
    if "data" in tables:
        tables["data"] = _with_shared_sets(tables["data"], path)
    library = tables.pop("library", None)
    if library is not None:
        tables["parts"] = [*tables.get("parts", []), *_lent(tables, path, library)]
    return experiment_of(tables, str(path), overrides, agents=agents)


def _lent(tables: Mapping[str, Any], path: Path, library: object) -> list[Table]:
    """The parts of a library that an experiment uses; all of them where a name is unknown, for the error message."""
    if not isinstance(library, str):
        raise ConfigError(f"{path}: library = {library!r} is no path.", remedy="Name a file of [[parts]].")
    file = path.parent / library
    lent = read_toml(file, absent=f"`library` in {path} is a path from that file's folder.")
    parts = lent.pop("parts", [])
    if lent or not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise ConfigError(f"{file} is no library: it holds more than [[parts]].", remedy="Keep the parts alone.")
    asked = {*marked({key: value for key, value in tables.items() if key != "parts"})}
    own = {part.get("name") for part in tables.get("parts", []) if isinstance(part, dict)}
    if asked - own - {part.get("name") for part in parts}:
        return parts  # so that the error can say what is meant
    return [part for part in parts if part.get("name") in asked]


def experiment_of(
    tables: Mapping[str, Any],
    where: str = "experiment",
    overrides: Sequence[str] = (),
    *,
    agents: Sequence[str] = (),
) -> Experiment:
    """The experiment that plain tables describe, with its overrides.

    A row's `preset` and its `unified` options become plain tables of its roles. Each of the `agents` is a further row:
    the agent as its folder says, without `[defaults]`.
    """
    from copy import deepcopy

    experiment = deepcopy(dict(tables))
    rows = _agent_rows(agents, experiment.get("systems", []))
    if rows:
        experiment["systems"] = [*experiment.get("systems", []), *rows]
    for entry in overrides:
        dotted, value = override(entry, example="defaults.k=3")
        set_by_path(experiment, dotted, value)
    defaults = experiment.get("defaults", {})
    systems = [
        _expanded(entry, {} if entry.get("missing") or entry in rows else defaults, where)
        if isinstance(entry, dict)
        else entry
        for entry in experiment.get("systems", [])
    ]
    try:
        return Experiment.model_validate({**experiment, **({"systems": systems} if "systems" in experiment else {})})
    except ValidationError as error:
        raise _unfinished(error, where) or explained(error, where, Experiment) from error


def _expanded(row: Table, defaults: Table, where: str) -> Table:
    """A row over its preset over `[defaults]`, with the options of its unified model in the roles that run it."""
    place = f"{where}: system '{row.get('name', '')}'"
    return with_unified({**defaults, **row_with_preset(row, where=place)}, where=place)


def _agent_rows(agents: Sequence[str], systems: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row for each agent, named after its folder, or by the whole path where that name is taken."""
    names = {entry.get("name") for entry in systems}
    rows: list[dict[str, Any]] = []
    for agent in agents:
        path = Path(agent).expanduser()
        name = (path.parent if path.suffix == ".toml" else path).resolve().name
        note = "the roles of its agent.toml, on the sources of the set"
        rows.append({"name": agent if name in names else name, "group": "agents", "note": note, "agent": agent})
        names.add(name)
    return rows


def marked(value: object) -> Iterator[str]:
    """The names of declared parts in nested tables, with repetitions."""
    if isinstance(value, str) and value.startswith(PART_MARK):
        yield value.removeprefix(PART_MARK)
    elif isinstance(value, Mapping):
        for entry in value.values():
            yield from marked(entry)
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from marked(entry)


def _require(what: str, name: str, choices: Sequence[str] | set[str], where: str) -> None:
    if name not in choices:
        raise ValueError(f"{where}: {UnknownNameError(what, name, choices).message.rstrip('.')}")


def _unfinished(error: ValidationError, where: str) -> ConfigError | None:
    """The error for a file without its main tables; None where something else is wrong first."""
    faults = error.errors()
    lacking = [str(each["loc"][0]) for each in faults if each["type"] == "missing" and len(each["loc"]) == 1]
    if faults[0]["type"] != "missing" or not lacking:
        return None
    return ConfigError(
        f"{where} is no experiment yet: it lacks {', '.join(lacking)}.",
        remedy="It takes a title, and [[data]], [[columns]] and [[systems]] with a table for each.",
    )


DataSpec.model_rebuild()


def _with_shared_sets(sets: object, experiment: Path) -> object:
    """Replace names in the `data` of an experiment file by their tables in the `data.toml` beside it."""
    if not isinstance(sets, list) or not any(isinstance(entry, str) for entry in sets):
        return sets
    file = experiment.parent / "data.toml"
    tables = read_toml(file, absent=f"{experiment} names sets of it; put their tables there, or into the experiment.")
    return [_shared_set(entry, tables, file) if isinstance(entry, str) else entry for entry in sets]


def _shared_set(name: str, tables: dict[str, Any], file: Path) -> dict[str, Any]:
    if name not in tables:
        raise UnknownNameError(f"set in {file}: set", name, tables)
    if not isinstance(tables[name], dict):
        raise ConfigError(f"{file}: '{name}' is no set.", remedy=f"Write a table: [{name}] with kind and file.")
    return {"name": name, **tables[name]}
