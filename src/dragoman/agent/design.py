"""Design of an agent, read once from its config: a table for each role, and the agent's own settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dragoman.agent.agent import Fallback
from dragoman.config import DEFAULT_KINDS, FILE_NAME, AgentConfig, RefinerConfig
from dragoman.core.errors import ConfigError

K = 3
"""Pieces of evidence a source where a config does not say."""


@dataclass(frozen=True, slots=True)
class AgentDesign:
    """The tables of all roles, without `k`, `fallback` and `personal`, which agent.toml keeps in them."""

    tables: dict[str, dict[str, Any]]
    refiner: RefinerConfig
    k: int
    fallback: Fallback
    personal: bool


def design_of(config: AgentConfig, *, file: str = FILE_NAME) -> AgentDesign:
    """The design of a config; `file` is named in messages."""
    tables = {role: config.table(role) for role in DEFAULT_KINDS}
    k = tables["retriever"].pop("k", K)
    if not isinstance(k, int) or isinstance(k, bool):
        raise ConfigError(f"{file}: 'retriever.k' must be a whole number, not {k!r}.", key="retriever.k")
    personal = bool(tables["retriever"].pop("personal", True))
    return AgentDesign(tables, config.refiner, k, tables["planner"].pop("fallback", "all"), personal)
