"""Planners that ignore the turn, for the papers' rows without planning: all sources, or always the same."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.core.errors import ConfigError
from dragoman.core.registry import planners
from dragoman.core.values import Context, Plan, Source
from dragoman.sources.graph import SourceGraph


@planners.register("all.v1")
class AllPlanner:
    """Plans every declared source, each after those it needs; with `joint`, all in one step, as in PK-ICR."""

    def __init__(self, *, joint: bool = False) -> None:
        self._joint = joint

    def plan(self, turns: Sequence[Context], sources: Sequence[Source]) -> Sequence[Plan]:
        names = [source.name for source in sources]
        steps = SourceGraph(sources).plan(names).steps
        if self._joint and steps:
            steps = (tuple(name for step in steps for name in step),)
        plan = Plan(steps, dict.fromkeys(names, 1.0), "all sources, jointly" if self._joint else "all sources")
        return [plan] * len(turns)


@planners.register("fixed.v1")
class FixedPlanner:
    """Plans the same sources on every turn, one per step: SAFARI's rows without planning."""

    def __init__(self, *, sources: tuple[str, ...]) -> None:
        if any(isinstance(name, Source) for name in sources):  # the builder passes the declared sources
            raise ConfigError("planner.fixed needs the option 'sources'.", remedy="Name those to ask, in order.")
        self._names = tuple(sources)

    def plan(self, turns: Sequence[Context], sources: Sequence[Source]) -> Sequence[Plan]:
        steps = tuple((name,) for name in self._names)
        plan = Plan(steps, {source.name: float(source.name in self._names) for source in sources}, "fixed")
        SourceGraph(sources).check(plan)  # a fallback would silently carry out another plan
        return [plan] * len(turns)
