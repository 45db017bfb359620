"""RAGate: look something up only where it helps."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from dragoman.agent.agent import Agent
from dragoman.core.errors import ConfigError
from dragoman.core.parts import Parts
from dragoman.systems.compose import compose

GateKind: TypeAlias = Literal["prompted", "linear", "encoder", "attention", "tuned", "uncertainty"]
_UNTRAINED = ("prompted", "uncertainty")


def ragate(
    parts: Parts,
    gate: GateKind = "prompted",
    part: str | None = None,
    *,
    style: Literal["zero-shot", "in-context"] = "zero-shot",
    replies: str | None = None,
    threshold: float | None = None,
    k: int = 3,
) -> Agent:
    """A gate, and every source where it is open: RAGate-Prompt ("prompted"), -PEFT ("tuned"), -MHA ("attention").

    Inputs:
        part: the trained gate's folder or name; prompted and uncertainty gates have one where they are calibrated.
        style: how the prompted gate is asked; a part says that itself.
        replies: the reader whose unaided reply a gate reads that was trained with `resp`.
        threshold: in place of the gate's own, which is one half where there is no part.
    """
    if part is None and gate not in _UNTRAINED:
        raise ConfigError(
            f"RAGate with gate = '{gate}' needs a trained part.",
            remedy=f"Run `dragoman train gate-{gate} --data train=FILE --out DIR`, and give part = 'DIR'.",
        )
    given: dict[str, Any] = {"part": part, "reader": replies, "threshold": threshold}
    if gate == "prompted":
        given["style"] = style
    return compose(
        parts,
        gate={"kind": f"gate.{gate}.v1", **{name: value for name, value in given.items() if value is not None}},
        planner={"kind": "planner.all.v1"},
        retriever={"kind": "retriever.sparse.v1"},
        reader={"kind": "reader.prompted.v1"},
        k=k,
    )
