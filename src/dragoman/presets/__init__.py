"""The papers as presets: the tables of an agent by name, one TOML file each.

`preset = "unims"` in agent.toml or in a row of an experiment takes the tables of that file; a role's own table changes
single options, and with another kind replaces the preset's table. `[unified]` holds the options of the unified model
(`part`, `runtime`, `device`, `base`, `names`) once for all roles that run it. Both are filled in here, before anything
is checked, so that the rest of the code knows only the tables of roles.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.core.toml import read_toml

Table: TypeAlias = dict[str, Any]

PRESET, UNIFIED = "preset", "unified"
AGENT_OPTIONS = ("k", "fallback", "learn", "personal")
"""Options that stand in a role's table and belong to the agent: they survive a change of kind."""
_FOLDER = Path(__file__).parent
_VERSION = re.compile(r"v[1-9][0-9]*")
_UNIFIED_ROLES = {"planner": "acting", "retriever": "evaluating", "reader": "unified"}


def presets() -> dict[str, Path]:
    """The shipped presets, by name."""
    return {file.stem: file for file in sorted(_FOLDER.glob("*.toml"))}


def with_preset(tables: Mapping[str, Any], *, where: str) -> Table:
    """The tables over those of the preset that they name; `where` is the file for messages."""
    own = {key: value for key, value in tables.items() if key != PRESET}
    name = tables.get(PRESET)
    if name is None:
        return own
    files = presets()
    if not isinstance(name, str) or name not in files:
        raise UnknownNameError(f"{where}: preset", str(name), files)
    base = read_toml(files[name])
    for key, value in own.items():
        both_tables = isinstance(value, dict) and isinstance(base.get(key), dict)
        base[key] = over(base[key], value) if both_tables else value
    return base


def row_with_preset(row: Mapping[str, Any], *, where: str) -> Table:
    """A row of an experiment over its preset: there `k` and `fallback` stand beside the roles, not in them."""
    if PRESET not in row:
        return dict(row)
    base = with_preset({PRESET: row[PRESET]}, where=where)
    base.get("retriever", {}).pop("personal", None)
    settings = {
        "k": base.get("retriever", {}).pop("k", None),
        "fallback": base.get("planner", {}).pop("fallback", None),
    }
    whole: Table = {**base, **{key: value for key, value in settings.items() if value is not None}}
    for key, value in row.items():
        both_tables = isinstance(value, dict) and isinstance(whole.get(key), dict)
        whole[key] = over(whole[key], value) if both_tables else value
    del whole[PRESET]
    return whole


def with_unified(tables: Mapping[str, Any], *, where: str) -> Table:
    """The tables with the options of `[unified]` in each role that runs the unified model, unless it has its own."""
    whole = {key: value for key, value in tables.items() if key != UNIFIED}
    options = tables.get(UNIFIED)
    if options is None:
        return whole
    if not isinstance(options, dict) or "part" not in options:
        raise ConfigError(f"{where}: [unified] has no part.", remedy='Name the trained model: part = "FOLDER".')
    for role, kind in _UNIFIED_ROLES.items():
        table = whole.get(role)
        if isinstance(table, dict) and short_kind(str(table.get("kind"))) == kind:
            whole[role] = {**options, **table}
    return whole


def over(base: Table, own: Table) -> Table:
    """A table over the one that it changes; one of another kind keeps only the agent's options of it."""
    if "kind" in own and "kind" in base and short_kind(str(own["kind"])) != short_kind(str(base["kind"])):
        base = {key: value for key, value in base.items() if key in AGENT_OPTIONS}
    return {**base, **own}


def short_kind(kind: str) -> str:
    """`prompted` of `gate.prompted.v1`."""
    return next((word for word in reversed(kind.split(".")) if not _VERSION.fullmatch(word)), kind)
