"""Shared handling of TOML files: reading, overrides by path, and error messages in the file's terms.

Agents, experiments and recipes use these functions; their own types validate the tables.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast, get_args

from dragoman.core.errors import ConfigError

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

Table: TypeAlias = dict[str, Any]
_DEEPEST = 50


def read_toml(file: Path, *, absent: str = "") -> Table:
    """The tables of a file; `absent` is the remedy for a missing file."""
    try:
        table = tomllib.loads(file.read_bytes().decode("utf-8-sig"))
        if _nests_beyond(table, _DEEPEST):
            raise RecursionError
        return table
    except FileNotFoundError as error:
        raise ConfigError(f"There is no {file}.", remedy=absent, file=str(file)) from error
    except OSError as error:
        raise ConfigError(f"Cannot read {file}: {error.strerror}.", remedy=absent, file=str(file)) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not UTF-8 text.", remedy="Save it as UTF-8.", file=str(file)) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file} is not valid TOML: {error}.", remedy="Mend that line.", file=str(file)) from error
    except RecursionError as error:
        raise ConfigError(f"{file} nests too deeply.", remedy="Write flatter values.", file=str(file)) from error


def _nests_beyond(table: Table, levels: int) -> bool:
    """Whether tables or lists nest too deeply for the recursive code that reads them."""
    nodes: list[object] = [table]
    while nodes and levels:
        inner = [node.values() if isinstance(node, dict) else node for node in nodes if isinstance(node, dict | list)]
        nodes, levels = [value for values in inner for value in values], levels - 1
    return any(isinstance(node, dict | list) for node in nodes)


def scalar(text: str) -> object:
    """A TOML value, or the text itself if it is not one, so that names need no quotes."""
    try:
        return tomllib.loads(f"value = {text}")["value"] if "\n" not in text else text
    except (tomllib.TOMLDecodeError, RecursionError):
        return text


def override(entry: str, *, example: str = "gate.threshold=0.6") -> tuple[str, object]:
    """`path=value` as the path and the value."""
    dotted, mark, value = entry.partition("=")
    if not mark:
        raise ConfigError(f"'{entry}' is not an override.", remedy=f"Write path=value, as in {example}.")
    return dotted.strip(), scalar(value.strip())


def set_by_path(tables: Table, dotted: str, value: object) -> None:
    """Set a value by its path; an entry of a list of tables goes by its name or title (`sources.MEMORY.private`)."""
    *path, last = dotted.split(".")
    node: Any = tables
    for place, key in enumerate(path, start=1):
        if isinstance(node, list):
            named = (entry for entry in node if isinstance(entry, dict))
            node = next((entry for entry in named if key in (entry.get("name"), entry.get("title"))), None)
        else:
            node = node.setdefault(key, {})
        if not isinstance(node, dict | list):
            raise ConfigError(
                f"Override '{dotted}': there is no table '{'.'.join(path[:place])}'.", remedy="Check the path."
            )
    if not isinstance(node, dict) or not last:
        raise ConfigError(f"Override '{dotted}' does not name a value.", remedy="Write path=value.")
    node[last] = value


def explained(error: ValidationError, where: str, model: type[BaseModel]) -> ConfigError:
    """The first validation error in the file's terms, with a suggestion for a misspelt key."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        known_names = known_keys(model, first["loc"])
        close = get_close_matches(str(first["loc"][-1]), known_names, n=1, cutoff=0.5)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        return ConfigError(f"{where}: unknown key '{key}'.{hint} Known: {', '.join(known_names)}.", file=where, key=key)
    if first["type"] == "too_short":
        return ConfigError(f"{where}: '{key}' is empty.", remedy="Name at least one.", file=where, key=key)
    message = first["msg"].removeprefix("Value error, ")
    has_value = first["type"] != "missing" and not isinstance(first["input"], dict | list)
    value = f" It is {first['input']!r}." if has_value else ""
    named = f"'{key}': " if key else ""
    return ConfigError(f"{where}: {named}{message[:1].lower()}{message[1:]}.{value}", file=where, key=key)


def blamed(error: ValidationError, where: str, overrides: Iterable[str]) -> str:
    """The origin of the first error: an override, by its dotted path, or else `where`."""
    key = ".".join(str(part) for part in error.errors()[0]["loc"])
    theirs = (path for path in overrides if f"{path}.".startswith(f"{key}.") or f"{key}.".startswith(f"{path}."))
    return next((f"--set {path}" for path in theirs), where)


def known_keys(model: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    """The valid keys at the place of a location's last key."""
    owner = model
    for part in location[:-1]:
        field = owner.model_fields.get(part) if isinstance(part, str) else None
        owner = next(_models(field.annotation), owner) if field is not None else owner
    return sorted(owner.model_fields)


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    """The models that an annotation is made of: `X`, `X | None`, `tuple[X, ...]`."""
    if hasattr(annotation, "model_fields"):
        yield cast("type[BaseModel]", annotation)
    for part in get_args(annotation):
        yield from _models(part)
