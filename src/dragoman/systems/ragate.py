"""RAGate: look something up only where it helps."""

from __future__ import annotations

from typing import Literal

from dragoman.agent.agent import Agent
from dragoman.core.parts import Parts
from dragoman.systems.compose import compose


def ragate(parts: Parts, *, style: Literal["zero-shot", "in-context"] = "zero-shot", k: int = 3) -> Agent:
    """RAGate-Prompt: the model gates, and an open turn asks every source. RAGate-PEFT and -MHA come with training."""
    return compose(
        parts,
        gate={"kind": "gate.prompted.v1", "style": style},
        planner={"kind": "planner.all.v1"},
        retriever={"kind": "retriever.sparse.v1"},
        reader={"kind": "reader.prompted.v1"},
        k=k,
    )
