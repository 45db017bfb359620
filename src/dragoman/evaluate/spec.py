"""An experiment file as typed, checked values: which sets, which systems, which columns, and what the paper printed.

TOML as everywhere: a wrong key is an error with a suggestion, overrides go by the same paths, reading has no effects.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from dragoman.config import RefinerConfig, Table, scalar
from dragoman.core.errors import ConfigError, UnknownNameError

Missing: TypeAlias = Literal["not built", "no data", "no model", "not run"]
"""Why a row has no figure: the system is not there yet, its data or model is not, or it is slow and nobody asked."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DataSpec(_Strict):
    """One set, or one part of it, on which all systems are measured: a table of its own in the result.

    `file` and `train` are looked up below the data folder, or are paths. `split` cuts the set first and takes a part.
    A set that is `asked` runs only where the command names it. Other keys are the loader's options.
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
    """How a set is cut and which part is taken; `pool` are files that are joined with it before."""

    by: Literal["dialogue", "evidence"]
    part: str = "dev"
    parts: dict[str, float] = {"train": 0.8, "dev": 0.1, "test": 0.1}
    pool: tuple[str, ...] = ()
    seed: int = 1


class ColumnSpec(BaseModel):
    """One measure: a metric with its options, the turns it speaks of, and how it is printed.

    A column that is `missing` (its critic is not built, say) shows the paper's figures and why there are none of ours.
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
    """One row: the roles of an agent, or the agent of a folder with some of them changed, or why it cannot run.

    `view` changes options of the set for this row alone (the raw text that a paper's protocol reads). `paper` holds
    the printed figures, by set and column. A `slow` row, which asks a language model on every turn, runs only where it
    is asked for.
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
    """What an experiment file says."""

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
    figures: tuple[FigureSpec, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Experiment:
        sets = [block.name for block in self.data]
        for what, names in (
            ("data", sets),
            ("columns", [column.title for column in self.columns]),
            ("systems", [system.name for system in self.systems]),
        ):
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise ValueError(f"'{twice}' stands twice in {what}")
        titles = {column.title for column in self.columns}
        for system in self.systems:
            for name in (*(system.data or ()), *system.paper):
                _known("set", name, sets, f"systems '{system.name}'")
            for figures in system.paper.values():
                for title in figures:
                    _known("column", title, titles, f"systems '{system.name}', paper")
        limited = [(entry.title, entry.data or ()) for entry in self.columns]
        limited += [(figure.title or figure.kind, figure.data or ()) for figure in self.figures]
        for title, named in limited:
            for name in named:
                _known("set", name, sets, f"'{title}'")
        if self.baseline is not None:
            _known("system", self.baseline, [system.name for system in self.systems], "baseline")
        return self

    def quick(self, named: Sequence[str] = ()) -> Experiment:
        """The same without the slow rows, but for those that are named."""
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
    """Read an experiment file with its overrides, complete every system with `[defaults]`, check all of it."""
    try:
        tables = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"Cannot read {path}: {error.strerror}.", remedy="Give an experiment file.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text.", remedy="Save it as UTF-8.") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}.", remedy="Mend that line.") from error
    return experiment_of(tables, str(path), overrides, agents=agents)


def experiment_of(
    tables: Mapping[str, Any],
    where: str = "experiment",
    overrides: Sequence[str] = (),
    *,
    agents: Sequence[str] = (),
) -> Experiment:
    """The experiment that plain tables describe, with its overrides.

    Each of the `agents` is a further row: the agent as its folder says, without what `[defaults]` says of others.
    """
    from copy import deepcopy

    given = deepcopy(dict(tables))
    rows = _agent_rows(agents, given.get("systems", []))
    if rows:
        given["systems"] = [*given.get("systems", []), *rows]
    for entry in overrides:
        dotted, mark, value = entry.partition("=")
        if not mark:
            raise ConfigError(f"'{entry}' is not an override.", remedy="Write path=value, as in defaults.k=3.")
        _set(given, dotted.strip(), scalar(value.strip()))
    defaults = given.get("defaults", {})
    systems = [
        {**defaults, **entry} if isinstance(entry, dict) and not entry.get("missing") and entry not in rows else entry
        for entry in given.get("systems", [])
    ]
    try:
        return Experiment.model_validate({**given, **({"systems": systems} if "systems" in given else {})})
    except ValidationError as error:
        raise _explained(error, where) from error


def _agent_rows(agents: Sequence[str], systems: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row for each agent, called after its folder, or by what was given where that name is taken."""
    taken = {entry.get("name") for entry in systems}
    rows: list[dict[str, Any]] = []
    for agent in agents:
        path = Path(agent).expanduser()
        name = (path.parent if path.suffix == ".toml" else path).resolve().name
        note = "the roles of its agent.toml, on the sources of the set"
        rows.append({"name": agent if name in taken else name, "group": "agents", "note": note, "agent": agent})
        taken.add(name)
    return rows


def _set(tables: dict[str, Any], dotted: str, value: object) -> None:
    """Set a value by its path; entries of lists go by their name or title."""
    node: Any = tables
    *path, last = dotted.split(".")
    for key in path:
        if isinstance(node, list):
            node = next((entry for entry in node if key in (entry.get("name"), entry.get("title"))), None)
        elif isinstance(node, dict):
            node = node.setdefault(key, {})
        if not isinstance(node, dict | list):
            raise ConfigError(f"Override '{dotted}': there is no '{key}'.", remedy="Check the path.")
    if not isinstance(node, dict) or not last:
        raise ConfigError(f"Override '{dotted}' does not name a value.", remedy="Write path=value.")
    node[last] = value


def _known(what: str, name: str, known: Sequence[str] | set[str], where: str) -> None:
    if name not in known:
        raise ValueError(f"{where}: {UnknownNameError(what, name, known).message.rstrip('.')}")


def _explained(error: ValidationError, where: str) -> ConfigError:
    """The first thing wrong, in the file's words, with a suggestion for a misspelt key."""
    first = error.errors()[0]
    lacking = [str(each["loc"][0]) for each in error.errors() if each["type"] == "missing" and len(each["loc"]) == 1]
    if lacking and first["type"] == "missing":
        return ConfigError(
            f"{where} is no experiment yet: it lacks {', '.join(lacking)}.",
            remedy="It takes a title, and [[data]], [[columns]] and [[systems]] with a table for each.",
        )
    key = ".".join(str(part) for part in first["loc"]) or "experiment"
    if first["type"] == "extra_forbidden":
        owners: dict[object, type[BaseModel]] = {"systems": SystemSpec, "data": DataSpec}
        owner = SplitSpec if "split" in first["loc"] else owners.get(first["loc"][0], Experiment)
        known = sorted(owner.model_fields)
        close = get_close_matches(str(first["loc"][-1]), known, n=1, cutoff=0.5)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        return ConfigError(f"{where}: unknown key '{key}'.{hint} Known: {', '.join(known)}.")
    if first["type"] == "too_short":
        return ConfigError(f"{where}: '{key}' is empty.", remedy="Name at least one.")
    message = first["msg"].removeprefix("Value error, ")
    given = (
        "" if first["type"] == "missing" or isinstance(first["input"], dict | list) else f" It is {first['input']!r}."
    )
    return ConfigError(f"{where}: '{key}': {message[:1].lower()}{message[1:]}.{given}", remedy="Correct the file.")


DataSpec.model_rebuild()
