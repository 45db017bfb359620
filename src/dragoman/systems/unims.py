"""UniMS-RAG: planner, retriever and reader with self-refinement; one model for all three where one was trained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from dragoman.agent.agent import Agent
from dragoman.agent.refine import Mode
from dragoman.core.errors import ConfigError
from dragoman.core.parts import Parts
from dragoman.systems.compose import compose

Plans: TypeAlias = Literal["itself", "aware", "all", "never"]
Judge: TypeAlias = Literal["itself", "bm25", "bi", "cross", "prompted"]


def unims(
    parts: Parts,
    part: str | None = None,
    *,
    plans: Plans = "itself",
    judge: Judge = "itself",
    judge_part: str | None = None,
    critic: Mapping[str, Any] | None = None,
    mode: Mode | Literal["off"] = "within-step",
    alpha: int = 1,
    steps: int = 1,
    below: float | None = None,
    k: int = 3,
    **options: Any,
) -> Agent:
    """The pipeline with Algorithm 1; with prompted roles where there is no trained part.

    Inputs:
        part: the unified part; one that was trained with the layout plain is the paper's row without the mask.
        plans: the model itself; itself after reading candidates (`aware`, not the paper's); every source on every turn;
            never any. Ground planning and retrieval (Table VII) are `planner.gold` and `retriever.gold` of experiments.
        judge: who finds evidence: the model itself, BM25, a bi-encoder (`judge_part`, which the agent's encoder runs),
            a cross-encoder (`judge_part`) over BM25, or a prompted language model.
        critic: the table of Algorithm 1's critic; word overlap where it is not given.
        mode, alpha, steps: refinement within a step, in several steps, or off.
        below: evidence whose score reaches it is not replaced (not the paper's).
        k: pieces of evidence a source (the paper's n, 1 to 3).
        options: `names`, `runtime`, `device` and `base` of the unified model.
    """
    if part is None and (plans == "aware" or options):
        raise ConfigError(
            "UniMS-RAG with these options needs a trained part.", remedy="Run `dragoman train unims`, and give `part`."
        )
    if plans == "aware":
        options = {"runtime": "torch", **options}
    model = {"part": part, **options}
    return compose(
        parts,
        gate={"kind": "gate.never.v1" if plans == "never" else "gate.always.v1"},
        planner=_planner(plans, model),
        retriever=_retriever(judge, judge_part, model),
        reader={"kind": "reader.prompted.v1"} if part is None else {"kind": "reader.unified.v1", **model},
        critic=critic or {"kind": "critic.overlap.v1"},
        refine=None if mode == "off" else {"mode": mode, "alpha": alpha, "steps": steps, "below": below},
        k=k,
        fallback="none",
    )


def _planner(plans: Plans, model: Mapping[str, Any]) -> dict[str, Any]:
    if plans in ("all", "never"):
        return {"kind": "planner.all.v1"}
    if model["part"] is None:
        return {"kind": "planner.prompted.v1", "style": "in-context"}
    aware = {"aware": True, "retriever": "retriever.hybrid.v1"} if plans == "aware" else {}
    return {"kind": "planner.acting.v1", **model, **aware}


def _retriever(judge: Judge, judge_part: str | None, model: Mapping[str, Any]) -> dict[str, Any]:
    trained = {} if judge_part is None else {"part": judge_part}
    if judge == "itself":
        inner = {"kind": "retriever.hybrid.v1"}
        return inner if model["part"] is None else {"kind": "retriever.evaluating.v1", "inner": inner, **model}
    if judge == "cross":
        return {"kind": "retriever.rerank.v1", "inner": {"kind": "retriever.sparse.v1"}, **trained}
    kinds = {"bm25": "retriever.sparse.v1", "bi": "retriever.dense.v1", "prompted": "retriever.prompted.v1"}
    return {"kind": kinds[judge], **(trained if judge == "bi" else {})}
