"""Sets that several experiments measure: tables of `data.toml` beside the experiment files, referred to by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.core.toml import read_toml

FILE_NAME = "data.toml"


def with_shared_sets(sets: object, experiment: Path) -> object:
    """The `data` of an experiment file with the table of each set in place of its name."""
    if not isinstance(sets, list) or not any(isinstance(entry, str) for entry in sets):
        return sets
    file = experiment.parent / FILE_NAME
    tables = read_toml(file, absent=f"{experiment} names sets of it; put their tables there, or into the experiment.")
    return [_table(entry, tables, file) if isinstance(entry, str) else entry for entry in sets]


def _table(name: str, tables: dict[str, Any], file: Path) -> dict[str, Any]:
    if name not in tables:
        raise UnknownNameError(f"set in {file}: set", name, tables)
    if not isinstance(tables[name], dict):
        raise ConfigError(f"{file}: '{name}' is no set.", remedy=f"Write a table: [{name}] with kind and file.")
    return {"name": name, **tables[name]}
