"""agent.toml as a typed, checked config: defaults for everything, overrides by the same paths, no side effects."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from dragoman.core.errors import ConfigError
from dragoman.core.registry import REGISTRIES
from dragoman.core.values import Source

Scalar: TypeAlias = str | int | float | bool
Overrides: TypeAlias = Mapping[str, Scalar] | Iterable[str]
Table: TypeAlias = dict[str, Any]
"""A component's table: `kind`, and options that the component itself is asked about when it is built."""

FILE_NAME = "agent.toml"
_STAYS = ("k", "fallback", "learn")
"""Options that stand in a component's table but are the agent's own."""
_VERSION = re.compile(r"v[1-9][0-9]*")
DEFAULT_KINDS = {
    "gate": "gate.similarity.v1",
    "planner": "planner.similarity.v1",
    "retriever": "retriever.hybrid.v1",
    "reader": "reader.grounded.v1",
    "critic": "critic.overlap.v1",
    "memory": "memory.rules.v1",
    "store": "store.sqlite.v1",
    "model": "model.llamacpp.v1",
    "encoder": "encoder.onnx.v1",
}
_DEFAULT_WEIGHTS = {"model": "smollm2-135m-instruct", "encoder": "all-minilm-l6-v2-int8"}
_SECRET_KEY = re.compile(r"(?:^|[_-])(?:api[_-]?key|key|secret|token|password|passwd)$", re.IGNORECASE)
_SECRET_VALUE = re.compile(r"(?:sk|pk|hf|ghp|gsk|xai)[-_][A-Za-z0-9_-]{16,}")


def _completed(table: Table, role: str) -> Table:
    kind = table.get("kind", DEFAULT_KINDS[role])
    if not isinstance(kind, str):
        raise ValueError(f"kind must be a string, not {kind!r}")
    defaults = {"kind": kind}
    if role in _DEFAULT_WEIGHTS and kind == DEFAULT_KINDS[role]:
        defaults["weights"] = _DEFAULT_WEIGHTS[role]
    return defaults | table


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


class ModelsConfig(_Strict):
    """Which weights the roles share."""

    language: Table = {}
    encoder: Table = {}

    @field_validator("language", "encoder")
    @classmethod
    def _complete(cls, table: Table, info: ValidationInfo) -> Table:
        return _completed(table, "model" if info.field_name == "language" else "encoder")


class SourceConfig(_Strict):
    """A declared source and, where it is read from files, their path."""

    name: str = Field(min_length=1)
    description: str = ""
    needs: tuple[str, ...] = ()
    about: Literal["world", "user", "bot"] = "world"
    private: bool = False
    path: str | None = None

    def source(self) -> Source:
        return Source(self.name, self.description, self.needs, self.about, self.private)


class RefinerConfig(_Strict):
    """Algorithm 1: off, one round, or several."""

    mode: Literal["off", "within-step", "multi-step"] = "off"
    alpha: int = Field(default=1, ge=1)
    steps: int = Field(default=1, ge=1)


class AgentConfig(_Strict):
    """What agent.toml says, complete with defaults."""

    name: str = Field(default="Dragoman", min_length=1)
    language: str = "en"
    greeting: str = ""
    examples: tuple[str, ...] = ()
    tenant: str = Field(default="local", min_length=1)
    history: int = Field(default=12, ge=0)
    max_turn_characters: int = Field(default=32_000, ge=1)
    models: ModelsConfig = ModelsConfig()
    store: Table = {}
    sources: tuple[SourceConfig, ...] = (
        SourceConfig(name="MEMORY", description="what the user has said about themselves", about="user", private=True),
        SourceConfig(name="DOCUMENTS", description="documents that the agent may quote"),
    )
    gate: Table = {}
    planner: Table = {}
    retriever: Table = {}
    reader: Table = {}
    critic: Table = {}
    refiner: RefinerConfig = RefinerConfig()
    memory: Table = {}

    @field_validator("store", "gate", "planner", "retriever", "reader", "critic", "memory")
    @classmethod
    def _complete(cls, table: Table, info: ValidationInfo) -> Table:
        return _completed(table, str(info.field_name))

    def table(self, role: str) -> Table:
        """The table of a component, by the role's name in the registry."""
        tables = {"model": self.models.language, "encoder": self.models.encoder}
        return dict(tables[role] if role in tables else getattr(self, role))

    def declared(self) -> tuple[Source, ...]:
        return tuple(entry.source() for entry in self.sources)

    def resolved(self) -> Table:
        """Everything, with full kind names: enough to repeat a run."""
        whole = self.model_dump(mode="json")
        for role, registry in REGISTRIES.items():
            if role in DEFAULT_KINDS:
                table = whole["models"][_MODEL_TABLES[role]] if role in _MODEL_TABLES else whole[role]
                table["kind"] = registry.resolve(table["kind"])
        return whole


_MODEL_TABLES = {"model": "language", "encoder": "encoder"}


def load_config(path: str | Path | None = None, overrides: Overrides = ()) -> AgentConfig:
    """Read agent.toml (a file, or the folder that holds it), apply the overrides and check all of it."""
    file = None if path is None else _file(Path(path))
    tables = {} if file is None else _read(file)
    where = FILE_NAME if file is None else str(file)
    pairs = list(_pairs(overrides))
    for dotted, value in sorted(pairs, key=lambda pair: not pair[0].endswith(".kind")):
        if dotted.endswith(".kind"):
            _clear(tables, dotted, str(value))
        _set(tables, dotted, value)
    _refuse_secrets(tables, where, ())
    try:
        return AgentConfig.model_validate(tables)
    except ValidationError as error:
        raise _explained(error, where) from error


def _file(path: Path) -> Path:
    return path / FILE_NAME if path.is_dir() else path


def _read(file: Path) -> Table:
    try:
        return tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError as error:
        raise ConfigError(f"There is no {file}.", remedy="'dragoman init FOLDER' makes one.", file=str(file)) from error
    except OSError as error:
        raise ConfigError(f"Cannot read {file}: {error.strerror}.", file=str(file)) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not UTF-8 text.", remedy="Save it as UTF-8.", file=str(file)) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file} is not valid TOML: {error}.", remedy="Mend that line.", file=str(file)) from error


def _pairs(overrides: Overrides) -> Iterable[tuple[str, object]]:
    """`gate.threshold=0.6` and `--gate.threshold 0.6` as path and value."""
    if isinstance(overrides, Mapping):
        for dotted, value in overrides.items():
            yield dotted, scalar(value) if isinstance(value, str) else value
        return
    for entry in overrides:
        text = entry.removeprefix("--")
        dotted, mark, value = text.partition("=" if "=" in text.partition(" ")[0] else " ")
        if not mark:
            raise ConfigError(f"'{entry}' is not an override.", remedy="Write path=value, as in gate.threshold=0.6.")
        yield dotted.strip(), scalar(value.strip())


def scalar(text: str) -> object:
    """A TOML value, or the text itself where it is not one, so that names need no quotes."""
    try:
        return tomllib.loads(f"value = {text}")["value"] if "\n" not in text else text
    except tomllib.TOMLDecodeError:
        return text


def _clear(tables: Table, dotted: str, kind: str) -> None:
    """Another kind of component does not take over the options of the one it replaces."""
    node: Any = tables
    for key in dotted.split(".")[:-1]:
        node = node.get(key) if isinstance(node, dict) else None
    if isinstance(node, dict) and "kind" in node and _short(str(node["kind"])) != _short(kind):
        for option in [option for option in node if option not in _STAYS]:
            del node[option]


def _short(kind: str) -> str:
    """`prompted` of `gate.prompted.v1`."""
    return next((part for part in reversed(kind.split(".")) if not _VERSION.fullmatch(part)), kind)


def _set(tables: Table, dotted: str, value: object) -> None:
    """Set a value by its path; an entry of a list of tables goes by its name, as in `sources.MEMORY.private`."""
    *path, last = dotted.split(".")
    node: Any = tables
    for i, key in enumerate(path):
        if isinstance(node, list):
            node = next((entry for entry in node if entry.get("name") == key), None)
        else:
            node = node.setdefault(key, {})
        if not isinstance(node, dict | list):
            raise ConfigError(
                f"Override '{dotted}': there is no table '{'.'.join(path[: i + 1])}'.", remedy="Check the path."
            )
    if not isinstance(node, dict) or not last:
        raise ConfigError(f"Override '{dotted}' does not name a value.", remedy="Write path=value.")
    node[last] = value


def _refuse_secrets(node: object, where: str, path: tuple[str, ...]) -> None:
    if isinstance(node, dict):
        for key, value in node.items():
            _refuse_secrets(value, where, (*path, str(key)))
    elif isinstance(node, list):
        for entry in node:
            _refuse_secrets(entry, where, path)
    elif isinstance(node, str) and path and (_SECRET_KEY.search(path[-1]) or _SECRET_VALUE.fullmatch(node)):
        raise ConfigError(
            f"{where}: '{'.'.join(path)}' looks like a secret, which has no place in a config file.",
            remedy="Put it into an environment variable and give that variable's name as key_env.",
            file=where,
            key=".".join(path),
        )


def _explained(error: ValidationError, where: str) -> ConfigError:
    """The first thing wrong, in the file's words, with a suggestion for a misspelt key."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    fields: dict[str, object] = {"file": where, "key": key}
    if first["type"] == "extra_forbidden":
        known = _siblings(first["loc"])
        close = get_close_matches(str(first["loc"][-1]), known, n=1, cutoff=0.5)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        return ConfigError(f"{where}: unknown key '{key}'.{hint} Known: {', '.join(known)}.", **fields)  # type: ignore[arg-type]
    message = first["msg"].removeprefix("Value error, ")
    given = "" if first["type"] == "missing" or isinstance(first["input"], dict) else f" It is {first['input']!r}."
    return ConfigError(f"{where}: '{key}': {message[:1].lower()}{message[1:]}.{given}", **fields)  # type: ignore[arg-type]


def _siblings(location: tuple[int | str, ...]) -> list[str]:
    """The keys that are known where an unknown one stood."""
    tables: dict[object, type[BaseModel]] = {"models": ModelsConfig, "sources": SourceConfig, "refiner": RefinerConfig}
    owner = tables.get(location[0], AgentConfig) if len(location) > 1 else AgentConfig
    return sorted(owner.model_fields)
