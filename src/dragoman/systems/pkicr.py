"""PK-ICR: persona and knowledge found for each other."""

from __future__ import annotations

from dragoman.agent.agent import Agent
from dragoman.core.parts import Parts
from dragoman.systems.compose import compose


def pkicr(parts: Parts, *, k: int = 1) -> Agent:
    """Every source on every turn, one piece each. Scoring persona and knowledge in pairs comes with its retriever."""
    return compose(
        parts,
        gate={"kind": "gate.always.v1"},
        planner={"kind": "planner.all.v1"},
        retriever={"kind": "retriever.dense.v1"},
        reader={"kind": "reader.prompted.v1"},
        k=k,
    )
