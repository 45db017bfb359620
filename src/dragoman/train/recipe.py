"""Recipes by name or path, with overrides by dotted path, and their serialisation as TOML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.core.toml import blamed, explained, override, read_toml, scalar, set_by_path
from dragoman.datasets.open import SHIPPED
from dragoman.train.spec import Recipe

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_OF_DATA = (".json", ".jsonl", ".txt", ".csv")


def shipped_recipes() -> dict[str, Path]:
    """Return the shipped recipes by name."""
    root = Path(str(resources.files("dragoman.train"))) / "recipes"
    return {path.stem: path for path in sorted(root.glob("*.toml"))}


def find_recipe(named: str | Path) -> Path:
    """Return the file of a recipe, by path or by the name of a shipped one."""
    path = Path(named).expanduser()
    recipes = shipped_recipes()
    if path.is_file() and path.suffix not in _OF_DATA:
        return path
    name = str(named).removesuffix(".toml").removeprefix("recipes/")
    if name in recipes:
        return recipes[name]
    if path.suffix in _OF_DATA or str(named) in SHIPPED:
        raise ConfigError(f"'{named}' is a set, not a recipe.", remedy=f"Write: train RECIPE --data train={named}")
    if path.is_dir():
        raise ConfigError(f"'{named}' is a folder, not a recipe.", remedy="Give the recipe.toml in it, or a name.")
    raise UnknownNameError("recipe", str(named), recipes, remedy="Give one of these or the path of a file.")


def load_recipe(name: str | Path, overrides: Mapping[str, object] | Sequence[str] = ()) -> Recipe:
    """Read a recipe, apply the overrides (`train.epochs=3`, or a mapping of paths) and validate it."""
    path = find_recipe(name)
    tables = read_toml(path)
    values = dict(_pairs(overrides))
    for dotted, value in values.items():
        set_by_path(tables, dotted, value)
    return recipe_of(tables, str(path), values)


def recipe_of(tables: Mapping[str, Any], where: str = "recipe", overrides: Iterable[str] = ()) -> Recipe:
    """Build a recipe from plain tables; errors name `where` or the override at fault."""
    try:
        return Recipe.model_validate(dict(tables))
    except ValidationError as error:
        raise explained(error, blamed(error, where, overrides), Recipe) from error


def toml_of(recipe: Recipe) -> str:
    """Return a recipe as TOML with all defaults written out, enough to repeat a training."""
    return "\n".join(_table(recipe.model_dump(), ())).strip() + "\n"


def differences(before: Mapping[str, Any], now: Mapping[str, Any], path: str = "") -> list[str]:
    """Return the differences of two sets of tables, by path."""
    paths = []
    for key in dict.fromkeys((*before, *now)):
        here, old, new = f"{path}{key}", before.get(key), now.get(key)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            paths += differences(old, new, f"{here}.")
        elif old != new:
            paths.append(f"{here}: {_short(old)} before, {_short(new)} now")
    return paths


def _pairs(overrides: Mapping[str, object] | Sequence[str]) -> Iterator[tuple[str, object]]:
    if isinstance(overrides, Mapping):
        for dotted, value in overrides.items():
            yield dotted, scalar(value) if isinstance(value, str) else value
        return
    for entry in overrides:
        yield override(entry, example="train.epochs=3")


def _table(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    plain = {key: value for key, value in table.items() if not isinstance(value, Mapping) and value is not None}
    if path and (plain or not table):
        yield f"\n[{'.'.join(map(_key, path))}]"
    for key, value in plain.items():
        yield f"{_key(key)} = {_value(value)}"
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _table(value, (*path, key))


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_key(key)} = {_value(entry)}' for key, entry in value.items() if entry is not None)}}}"
    return str(value) if isinstance(value, int) else _text(str(value))


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:59]}…"
