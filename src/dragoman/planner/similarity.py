"""The default planner: a source is asked where it holds something relevant and the question is its business."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from dragoman.core.protocols import Retriever
from dragoman.core.registry import planners
from dragoman.core.values import Context, Plan, Request, Source, SourceName
from dragoman.sources.graph import SourceGraph
from dragoman.text.form import Form, form
from dragoman.text.query import standalone

Matter: TypeAlias = Literal["user", "bot", "world"]
_ADDITION = re.compile(r"(?:and|or|what about|how about|then)\s+(?:\S+\s*){1,4}$|[那还].{1,8}呢", re.IGNORECASE)


@planners.register("similarity.v1")
class SimilarityPlanner:
    """Weighs the best candidate of each source by whom the question is about.

    A question about the user is for the sources about the user alone. One that addresses the bot goes
    to its persona, unless the documents answer it clearly better. All else goes to the sources about
    the world whose best candidate passes `threshold`, or to the best of them, so that the reader can
    say honestly that nothing was found; a question that mentions the user takes their memory along
    where that passes `personal`.
    """

    def __init__(
        self, *, retriever: Retriever, threshold: float = 0.5, personal: float = 0.6, margin: float = 0.15
    ) -> None:
        self._retriever = retriever
        self._threshold = threshold
        self._personal = personal
        self._margin = margin

    def plan(self, turns: Sequence[Context], sources: Sequence[Source]) -> Sequence[Plan]:
        graph = SourceGraph(sources)
        requests = [Request(context, (source,), k=1) for context in turns for source in sources]
        found = self._retriever.retrieve(requests)
        best = [max((piece.relevance for piece in evidence), default=0.0) for evidence in found]
        width = len(sources)
        return [
            self._one(context, graph, dict(zip(graph.names, best[i * width : (i + 1) * width], strict=True)))
            for i, context in enumerate(turns)
        ]

    def _one(self, context: Context, graph: SourceGraph, best: dict[SourceName, float]) -> Plan:
        matter, personal = matter_of(context)
        by: dict[Matter, list[Source]] = {"user": [], "bot": [], "world": []}
        for source in graph:
            by[source.about].append(source)
        chosen = self._chosen(matter, personal, by, best)
        return Plan(graph.plan([source.name for source in chosen]).steps, best, f"about the {matter}")

    def _chosen(
        self, matter: Matter, personal: bool, by: dict[Matter, list[Source]], best: dict[SourceName, float]
    ) -> list[Source]:
        def strongest(group: Sequence[Source]) -> float:
            return max((best[source.name] for source in group), default=0.0)

        if matter == "user" and by["user"]:
            return by["user"]
        bot, world = strongest(by["bot"]), strongest(by["world"])
        if matter == "bot" and by["bot"] and world < max(self._threshold, bot + self._margin):
            return by["bot"]
        if matter == "world" and bot >= self._threshold and bot >= world + self._margin:
            return by["bot"]
        chosen = self._passing(by["world"] or by["bot"], best)
        if personal and strongest(by["user"]) >= self._personal:
            chosen += self._passing(by["user"], best)
        return chosen

    def _passing(self, group: Sequence[Source], best: dict[SourceName, float]) -> list[Source]:
        passing = [source for source in group if best[source.name] >= self._threshold]
        return passing or sorted(group, key=lambda source: -best[source.name])[:1]


def matter_of(context: Context) -> tuple[Matter, bool]:
    """Whom the last turn is about, and whether it mentions the user; a follow-up inherits from the turn before."""
    shape = form(context.last)
    matter: Matter = shape.about or "world"
    before = [turn.text for turn in context.history if turn.speaker == "user"]
    if matter == "world" and before and (standalone(context).is_follow_up or _is_addition(shape)):
        matter = form(before[-1]).about or matter
    return matter, shape.personal


def _is_addition(shape: Form) -> bool:
    """"And my dog?", asked after a question about the user."""
    return shape.personal and bool(_ADDITION.match(shape.core))
