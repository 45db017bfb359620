"""UniMS-RAG: planner, retriever and reader with self-refinement."""

from __future__ import annotations

from dragoman.agent.agent import Agent
from dragoman.agent.refine import Mode
from dragoman.core.parts import Parts
from dragoman.systems.compose import compose


def unims(parts: Parts, *, mode: Mode = "within-step", alpha: int = 1, steps: int = 1, k: int = 3) -> Agent:
    """The pipeline with prompted roles and Algorithm 1; the one model that plays all three comes with training."""
    return compose(
        parts,
        gate={"kind": "gate.always.v1"},
        planner={"kind": "planner.prompted.v1", "style": "in-context"},
        retriever={"kind": "retriever.hybrid.v1"},
        reader={"kind": "reader.prompted.v1"},
        critic={"kind": "critic.overlap.v1"},
        refine=(mode, alpha, steps),
        k=k,
        fallback="none",
    )
