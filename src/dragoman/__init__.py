"""Conversational agents that decide whether, where and in which order to look, what to take, and whether it holds."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dragoman.core.environment import disable_telemetry

if TYPE_CHECKING:
    from dragoman.agent.agent import Agent
    from dragoman.agent.assistant import Assistant, UserTurn
    from dragoman.agent.build import load
    from dragoman.agent.refine import Refiner
    from dragoman.core.errors import (
        ConfigError,
        DragomanError,
        InputError,
        MissingExtraError,
        ModelError,
        PlanError,
        SourceError,
        StoreError,
        UnknownNameError,
    )
    from dragoman.core.trace import Note, Refinement, Reply, Retrieval, Trace
    from dragoman.core.values import (
        Context,
        Draft,
        Erasure,
        Evidence,
        Learned,
        Passage,
        Plan,
        ReadTask,
        Request,
        Scope,
        Source,
        Turn,
        Verdict,
    )

__version__ = "0.1.0"

disable_telemetry()  # before any library that would report is imported

_HOMES = {
    "dragoman.agent.agent": ("Agent",),
    "dragoman.agent.assistant": ("Assistant", "UserTurn"),
    "dragoman.agent.build": ("load",),
    "dragoman.agent.refine": ("Refiner",),
    "dragoman.core.errors": (
        "ConfigError",
        "DragomanError",
        "InputError",
        "MissingExtraError",
        "ModelError",
        "PlanError",
        "SourceError",
        "StoreError",
        "UnknownNameError",
    ),
    "dragoman.core.trace": ("Note", "Refinement", "Reply", "Retrieval", "Trace"),
    "dragoman.core.values": (
        "Context",
        "Draft",
        "Erasure",
        "Evidence",
        "Learned",
        "Passage",
        "Plan",
        "ReadTask",
        "Request",
        "Scope",
        "Source",
        "Turn",
        "Verdict",
    ),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Agent",
    "Assistant",
    "ConfigError",
    "Context",
    "Draft",
    "DragomanError",
    "Erasure",
    "Evidence",
    "InputError",
    "Learned",
    "MissingExtraError",
    "ModelError",
    "Note",
    "Passage",
    "Plan",
    "PlanError",
    "ReadTask",
    "Refinement",
    "Refiner",
    "Reply",
    "Request",
    "Retrieval",
    "Scope",
    "Source",
    "SourceError",
    "StoreError",
    "Trace",
    "Turn",
    "UnknownNameError",
    "UserTurn",
    "Verdict",
    "load",
]


def __getattr__(name: str) -> object:
    """Public names load when first used: importing the package costs next to nothing."""
    if name not in _HOME:
        raise AttributeError(f"module 'dragoman' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
