"""PK-ICR: persona and knowledge found for each other."""

from __future__ import annotations

from dragoman.agent.agent import Agent
from dragoman.core.parts import Parts
from dragoman.systems.compose import compose


def pkicr(
    parts: Parts,
    part: str | None = None,
    knowledge: str | None = None,
    *,
    threshold: float = 0.5,
    k: int = 1,
) -> Agent:
    """Every source on every turn, in one step: pairs of persona and knowledge are scored together.

    Inputs:
        part: the fine-tuned persona model (`retriever-joint`); zero-shot without.
        knowledge: a cross-encoder for the pairs (`retriever-cross`), or the bi-encoder (`retriever-bi`) that the
            agent's encoder runs; the encoder as it is without.
        threshold: a persona that is less probable is left out (Eq. 7); so there may be none.
    """
    trained = {"part": part, "knowledge": knowledge}
    return compose(
        parts,
        gate={"kind": "gate.always.v1"},
        planner={"kind": "planner.all.v1", "joint": True},
        retriever={
            "kind": "retriever.joint.v1",
            "threshold": threshold,
            **{name: folder for name, folder in trained.items() if folder is not None},
        },
        reader={"kind": "reader.prompted.v1"},
        k=k,
    )
