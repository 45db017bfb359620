"""The planner that asks every source: the papers' ablation without planning."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.core.registry import planners
from dragoman.core.values import Context, Plan, Source
from dragoman.sources.graph import SourceGraph


@planners.register("all.v1")
class AllPlanner:
    """Every declared source, each after those it needs."""

    def plan(self, turns: Sequence[Context], sources: Sequence[Source]) -> Sequence[Plan]:
        names = [source.name for source in sources]
        plan = Plan(SourceGraph(sources).plan(names).steps, dict.fromkeys(names, 1.0), "all sources")
        return [plan] * len(turns)
