"""An agent from the kinds of its roles and shared parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from dragoman.agent.agent import Agent, Fallback
from dragoman.agent.create import Creator
from dragoman.agent.refine import Refiner
from dragoman.core.parts import Parts
from dragoman.core.registry import REGISTRIES

ROLES = ("gate", "planner", "retriever", "reader", "critic")


def compose(
    parts: Parts,
    *,
    k: int = 3,
    fallback: Fallback = "all",
    refine: Mapping[str, Any] | None = None,
    **tables: Mapping[str, Any],
) -> Agent:
    """The agent whose roles the tables describe; `refine` the settings of Algorithm 1."""
    creator = Creator({field.name: getattr(parts, field.name) for field in fields(parts)}, tables)
    made = {role: creator.shared(role) for role in ROLES if role in tables}
    names = {role: REGISTRIES[role].resolve(str(tables[role]["kind"])) for role in made}
    refiner = None
    if refine is not None:
        names["refiner"] = f"refiner.{refine['mode']}"
        refiner = Refiner(made["critic"], made["retriever"], made["reader"], **refine)
    return Agent(**made, sources=parts.sources, refiner=refiner, k=k, fallback=fallback, names=names)
