"""agent.toml as a typed, checked config: defaults for everything, overrides by the same paths, no side effects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator, model_validator

from dragoman.core.errors import ConfigError
from dragoman.core.model_names import model_table
from dragoman.core.registry import REGISTRIES
from dragoman.core.toml import explained, override, read_toml, scalar, set_by_path
from dragoman.core.values import Source
from dragoman.presets import AGENT_OPTIONS, PRESET, short_kind, with_preset, with_unified

Scalar: TypeAlias = str | int | float | bool
Overrides: TypeAlias = Mapping[str, Scalar] | Iterable[str]
Table: TypeAlias = dict[str, Any]
"""A component's table: `kind`, and options that the component itself is asked about when it is built."""

FILE_NAME = "agent.toml"
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
_SECRET_ADDRESS = re.compile(r"^[a-z][a-z0-9+.-]*://[^/?#\s]*:[^/?#\s]+@|\bpassword\s*=", re.IGNORECASE)


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

    @field_validator("language", mode="before")
    @classmethod
    def _by_name(cls, value: object) -> object:
        """A name instead of a table, as in `language = "ollama:qwen3:4b"`."""
        return model_table(value) if isinstance(value, str) else value

    @field_validator("language", "encoder")
    @classmethod
    def _complete(cls, table: Table, info: ValidationInfo) -> Table:
        return _completed(table, "model" if info.field_name == "language" else "encoder")


class McpConfig(_Strict):
    """MCP server of a tool: a program to start, or a URL. Secrets are named by their environment variable."""

    command: tuple[str, ...] = ()
    url: str | None = Field(default=None, pattern=r"^https?://")
    env: tuple[str, ...] = ()
    key_env: str | None = None
    seconds: float = Field(default=10.0, gt=0, le=600)

    @model_validator(mode="after")
    def _one(self) -> McpConfig:
        if bool(self.command) == bool(self.url):
            raise ValueError("give either the command that starts the server, or its url")
        return self


class SourceConfig(_Strict):
    """A declared source and, where it is read from files, their path; where it is a tool, which one."""

    name: str = Field(min_length=1)
    description: str = ""
    needs: tuple[str, ...] = ()
    about: Literal["world", "user", "bot"] = "world"
    private: bool = False
    path: str | None = None
    dialogues: bool = False
    """Whether the source is the user's own past dialogues."""
    mcp: McpConfig | None = None
    tool: str | None = Field(default=None, min_length=1)
    argument: str = Field(default="query", min_length=1)

    @model_validator(mode="after")
    def _whole(self) -> SourceConfig:
        if (self.mcp is None) != (self.tool is None):
            raise ValueError("a tool needs both `mcp`, where it lives, and `tool`, its name")
        if self.dialogues and (self.path or self.mcp or self.about == "user" or not self.private):
            raise ValueError("a source of dialogues needs private = true, and has no path, no tool and no about")
        return self

    def source(self) -> Source:
        return Source(self.name, self.description, self.needs, self.about, self.private)


class RefinerConfig(_Strict):
    """Algorithm 1: off, one round, or several."""

    mode: Literal["off", "within-step", "multi-step"] = "off"
    alpha: int = Field(default=1, ge=1)
    steps: int = Field(default=1, ge=1)
    below: float | None = Field(default=None, gt=0, le=1)
    """Evidence whose score reaches it is not replaced."""


class AgentConfig(_Strict):
    """Contents of agent.toml, complete with defaults."""

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
    """Read agent.toml (a file or its folder), fill in its preset, apply the overrides and check all of it."""
    file = None if path is None else _file(Path(path))
    tables = {} if file is None else read_toml(file, absent="'dragoman init FOLDER' makes one.")
    where = FILE_NAME if file is None else str(file)
    pairs = list(_pairs(overrides))
    tables |= {dotted: value for dotted, value in pairs if dotted == PRESET}
    tables = with_preset(tables, where=where)
    changes = [pair for pair in pairs if pair[0] != PRESET]
    for dotted, value in sorted(changes, key=lambda pair: not pair[0].endswith(".kind")):
        if dotted.endswith(".kind"):
            _clear(tables, dotted, str(value))
        set_by_path(tables, dotted, value)
    tables = with_unified(tables, where=where)
    _refuse_secrets(tables, where, ())
    try:
        return AgentConfig.model_validate(tables)
    except ValidationError as error:
        raise explained(error, where, AgentConfig) from error


def _file(path: Path) -> Path:
    return path / FILE_NAME if path.is_dir() else path


def _pairs(overrides: Overrides) -> Iterable[tuple[str, object]]:
    """`gate.threshold=0.6` and `--gate.threshold 0.6` as path and value."""
    if isinstance(overrides, Mapping):
        for dotted, value in overrides.items():
            yield dotted, scalar(value) if isinstance(value, str) else value
        return
    for entry in overrides:
        text = entry.removeprefix("--")
        yield override(text if "=" in text.partition(" ")[0] else text.replace(" ", "=", 1))


def _clear(tables: Table, dotted: str, kind: str) -> None:
    """Another kind of component does not take over the options of the one it replaces."""
    node: Any = tables
    for key in dotted.split(".")[:-1]:
        node = node.get(key) if isinstance(node, dict) else None
    if isinstance(node, dict) and "kind" in node and short_kind(str(node["kind"])) != short_kind(kind):
        for option in [option for option in node if option not in AGENT_OPTIONS]:
            del node[option]


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
    elif isinstance(node, str) and path and path[-1] == "url" and _SECRET_ADDRESS.search(node):
        raise ConfigError(
            f"{where}: '{'.'.join(path)}' holds a password, which has no place in a config file.",
            remedy="Put the address into an environment variable, and where it is a store's, write env: and its name.",
            file=where,
            key=".".join(path),
        )
