"""SAFARI: the language model as planner of sources."""

from __future__ import annotations

from typing import Literal

from dragoman.agent.agent import Agent
from dragoman.core.parts import Parts
from dragoman.systems.compose import compose


def safari(parts: Parts, *, style: Literal["zero-shot", "in-context"] = "zero-shot", k: int = 1) -> Agent:
    """Unsupervised SAFARI: plan, retrieve by BM25 with the dependency, assemble. The supervised one comes later."""
    return compose(
        parts,
        gate={"kind": "gate.always.v1"},
        planner={"kind": "planner.prompted.v1", "style": style},
        retriever={"kind": "retriever.sparse.v1"},
        reader={"kind": "reader.prompted.v1"},
        k=k,
        fallback="none",
    )
