"""SAFARI: the language model as planner of sources, prompted or trained."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from dragoman.agent.agent import Agent
from dragoman.core.errors import ConfigError
from dragoman.core.parts import Parts
from dragoman.systems.compose import compose

Retrieves: TypeAlias = Literal["bm25", "dense"]


def safari(
    parts: Parts,
    part: str | None = None,
    *,
    style: Literal["zero-shot", "in-context"] = "zero-shot",
    retrieves: Retrieves = "bm25",
    dependency: Literal["filter", "query", "prefer", "off"] = "prefer",
    k: int = 1,
    **options: Any,
) -> Agent:
    """Plan, retrieve with the dependency between sources, assemble.

    Inputs:
        part: the unified part of `dragoman train safari`: supervised. Without one the model is prompted, in `style`.
        retrieves: BM25, or the agent's encoder.
        dependency: children of the given evidence alone, asked with it, moved up, or no matter.
        options: `runtime`, `device` and `base` of the trained model.
    """
    if part is None and options:
        raise ConfigError(
            f"SAFARI with the option '{next(iter(options))}' needs a trained part.",
            remedy="Run `dragoman train safari`, and give `part`.",
        )
    model = {"part": part, **options}
    searched = {"bm25": "retriever.sparse.v1", "dense": "retriever.dense.v1"}
    return compose(
        parts,
        gate={"kind": "gate.always.v1"},
        planner={"kind": "planner.prompted.v1", "style": style}
        if part is None
        else {"kind": "planner.acting.v1", **model},
        retriever={"kind": searched[retrieves], "dependency": dependency},
        reader={"kind": "reader.prompted.v1"} if part is None else {"kind": "reader.unified.v1", **model},
        k=k,
        fallback="none",
    )
