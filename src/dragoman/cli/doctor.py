"""What works on this machine: every part is tried, none may stop the others from being tried."""

from __future__ import annotations

import importlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Literal

from dragoman.core.errors import DragomanError
from dragoman.core.registry import REGISTRIES

if TYPE_CHECKING:
    from dragoman.config import AgentConfig

_PARTS = ("apsw", "onnxruntime", "tokenizers", "xllamacpp", "tantivy", "usearch")
_EXTRAS = {"zh": ("jieba", "cuts Chinese into words; without it into pairs of characters")}
_PYTHON = (3, 11)
_ROOM_WANTED = 1 << 30


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was tried, how it went, and what to do about it."""

    what: str
    state: Literal["ok", "note", "broken"]
    found: str
    remedy: str = ""


def examine(agent: str) -> list[Finding]:
    """Try everything, from the interpreter up to the agent."""
    return [
        _python(),
        *(_tried(name, lambda name=name: _part(name), f"pip install --force-reinstall {name}") for name in _PARTS),  # type: ignore[misc]
        _tried("home", _home, "Set DRAGOMAN_HOME to a folder that can be written."),
        *_components(),
        *_agent(agent),
        *_extras(),
    ]


def _tried(what: str, try_it: Callable[[], Finding], remedy: str = "") -> Finding:
    """The finding, or what went wrong instead of it."""
    try:
        return try_it()
    except DragomanError as error:
        return Finding(what, "broken", error.message, error.remedy or remedy)
    except Exception as error:  # noqa: BLE001 - whatever is broken here is exactly what is to be reported
        return Finding(what, "broken", f"{type(error).__name__}: {error}", remedy)


def _python() -> Finding:
    version = ".".join(str(part) for part in sys.version_info[:3])
    if tuple(sys.version_info) >= _PYTHON:
        return Finding("Python", "ok", version)
    return Finding("Python", "broken", version, "Install Python 3.11 or newer.")


def _part(name: str) -> Finding:
    module = importlib.import_module(name)
    version = metadata.version(name)
    if name == "apsw":
        version = f"{version}, SQLite {module.sqlite_lib_version()}"
    return Finding(name, "ok", version)


def _home() -> Finding:
    from dragoman.models.weights import home

    folder = home()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(b"dragoman")
    free = shutil.disk_usage(folder).free
    found = f"{folder}, {free / (1 << 30):.1f} GiB free"
    if free < _ROOM_WANTED:
        return Finding("home", "note", found, "Free some space, or set DRAGOMAN_HOME to a folder on a larger disk.")
    return Finding("home", "ok", found)


def _components() -> Iterator[Finding]:
    for role, registry in REGISTRIES.items():
        yield _tried(role, lambda registry=registry, role=role: _names(role, registry.names()))  # type: ignore[misc]


def _names(role: str, names: tuple[str, ...]) -> Finding:
    short = ", ".join(name.removeprefix(f"{role}.") for name in names)
    return Finding(role, "ok" if names else "note", short or "none registered")


def _extras() -> Iterator[Finding]:
    for extra, (package, what) in _EXTRAS.items():
        try:
            yield Finding(f"extra {extra}", "ok", f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            yield Finding(f"extra {extra}", "note", f"not installed: {what}", f"pip install 'dragoman[{extra}]'")


def _agent(agent: str) -> Iterator[Finding]:
    """The agent's config, models and store; what stands on a broken part is not tried."""
    from dragoman.agent.build import agent_folder
    from dragoman.config import load_config

    try:
        config = load_config(agent_folder(agent))
    except DragomanError as error:
        yield Finding("agent", "broken", error.message, error.remedy)
        return
    yield Finding("agent", "ok", f"{config.name} ({agent}): {', '.join(s.name for s in config.sources)}")
    yield _tried("language model", lambda: _generates(config), "dragoman models pull")
    yield _tried("encoder", lambda: _encodes(config), "dragoman models pull")
    yield _tried("store", lambda: _store(agent))


def _generates(config: AgentConfig) -> Finding:
    raise NotImplementedError


def _encodes(config: AgentConfig) -> Finding:
    raise NotImplementedError


def _store(agent: str) -> Finding:
    raise NotImplementedError
