"""Dependency injection: shared parts that a component's constructor can request by parameter name.

A component's options are its keyword-only parameters. Those named as a field of `Parts` are given by
whoever builds the agent; every other one is an option that a config file may set.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dragoman.core.values import Source

if TYPE_CHECKING:
    from pathlib import Path

    from dragoman.core.protocols import Encoder, LanguageModel, Store


@dataclass(frozen=True, slots=True)
class Parts:
    """The shared parts of an agent. Models are lazy: asking for one loads nothing."""

    language_model: LanguageModel
    encoder: Encoder
    store: Store
    sources: tuple[Source, ...]
    analyse: Callable[[str], tuple[str, ...]]
    language: str = "en"
    name: str = "Dragoman"
    folder: Path | None = None
