"""Planner with a trained encoder: a probability for each source that it knows, and the best legal plan.

A source asks for others by `needs`, and the classifier may want one without the other. So the plan with the largest sum
of log-odds above the thresholds is chosen, where a source below its threshold counts negatively: a clearly wanted
source brings in what it needs, a barely wanted one is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

from dragoman.core.registry import planners
from dragoman.core.values import Context, Plan, Source, SourceName
from dragoman.models.calibration import log_odds
from dragoman.models.onnx.scorer import LazyScorer
from dragoman.models.part import Head
from dragoman.sources.graph import SourceGraph
from dragoman.text.view import View

KIND = "planner.classifier"
HEAD = "plan"
_MOST_TRIED = 10
_EDGE = 1e-6


@planners.register("classifier.v1")
class ClassifierPlanner:
    """Planner with a part of `dragoman train planner-classifier`; NULL if no source reaches its threshold.

    The part knows sources by name. It never asks an unknown source or a source that needs one; the plan's reason says
    so. `threshold` replaces the part's own thresholds of all sources.
    """

    def __init__(self, *, part: str, threshold: float | None = None, folder: Path | None = None) -> None:
        self._scorer = LazyScorer(part, kind=KIND, folder=folder)
        self._threshold = threshold

    def warm_up(self) -> None:
        """Load the weights."""
        self._scorer.warm_up()

    def plan(self, turns: Sequence[Context], sources: Sequence[Source]) -> Sequence[Plan]:
        graph = SourceGraph(sources)
        scorer = self._scorer.get()
        head, view = scorer.part.head(HEAD), View.from_json(scorer.part.options["view"])
        scores = scorer.scores([view.text(context) for context in turns], HEAD)  # (N, labels)
        places = {name: head.labels.index(name) for name in graph.names if name in head.labels}
        return [self._one(graph, head, {name: float(row[place]) for name, place in places.items()}) for row in scores]

    def _one(self, graph: SourceGraph, head: Head, scores: Mapping[SourceName, float]) -> Plan:
        probabilities = {name: head.probability(score, name) for name, score in scores.items()}
        thresholds = {
            name: head.threshold(name) if self._threshold is None else self._threshold for name in probabilities
        }
        chosen = best_legal(graph, probabilities, thresholds)
        passing = {name for name, probability in probabilities.items() if probability >= thresholds[name]}
        notes = []
        if unknown := [name for name in graph.names if name not in probabilities]:
            notes.append(f"not known to the part: {', '.join(unknown)}")
        if pulled := [source.name for source in graph.close(chosen) if source.name not in passing]:
            notes.append(f"needed: {', '.join(pulled)}")
        if dropped := [name for name in graph.names if name in passing and name not in chosen]:
            notes.append(f"dropped with what they need: {', '.join(dropped)}")
        return Plan(graph.plan(chosen).steps, probabilities, "; ".join(notes))


def best_legal(
    graph: SourceGraph, probabilities: Mapping[SourceName, float], thresholds: Mapping[SourceName, float]
) -> tuple[SourceName, ...]:
    """Return the legal set of sources with the largest sum of log-odds above the thresholds, in legal order.

    A source that passes together with all that it needs is always included; only the others are chosen. Of equal sums
    the smaller set wins.
    """
    cut = {name: log_odds(threshold, edge=_EDGE) for name, threshold in thresholds.items()}
    worth = {name: log_odds(chance, edge=_EDGE) - cut[name] for name, chance in probabilities.items()}
    passing = [name for name in graph.names if name in worth and probabilities[name] >= thresholds[name]]
    closed = {name: {source.name for source in graph.close([name])} for name in passing}
    wanted = [name for name in passing if closed[name] <= set(worth)]
    sure = {name for name in wanted if closed[name] <= set(passing)}
    unsure = sorted((name for name in wanted if name not in sure), key=lambda name: -worth[name])[:_MOST_TRIED]
    best, gain = sure, 0.0
    for size in range(1, len(unsure) + 1):
        for some in combinations(unsure, size):
            tried = sure.union(*(closed[name] for name in some))
            new_gain = sum(worth[name] for name in tried - sure)
            if new_gain > gain:
                best, gain = tried, new_gain
    return tuple(source.name for source in graph.order if source.name in best)
