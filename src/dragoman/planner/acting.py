"""Trained planner of UniMS-RAG and SAFARI: a unified model writes acting tokens, limited to legal orders of sources.

Every legal order has a probability; the plan is the most probable one. With `aware`, the model also plans after reading
the candidates, and the two plans are averaged, unlike in the papers.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Literal

from dragoman.core.errors import ConfigError
from dragoman.core.protocols import Encoder, Retriever, Store, warm
from dragoman.core.registry import planners
from dragoman.core.values import Context, Plan, Request, Source, SourceName
from dragoman.models.choice import normalise
from dragoman.models.unified import candidates as offers
from dragoman.models.unified import turn_trees
from dragoman.models.unified.loading import Device, LazyUnified, Runtime, UnifiedPart, offsets_of
from dragoman.models.unified.model import Judging, Order
from dragoman.models.unified.source_names import BETWEEN
from dragoman.sources.graph import SourceGraph

log = logging.getLogger(__name__)
MOST_ORDERS = 512
_LEAST = 1e-12
_TOLD = 4


@planners.register("acting.v1")
class ActingPlanner:
    """Planner with a part of `dragoman train unims` or `safari`; the reason lists the probabilities of orders.

    Inputs:
        aware: plan also after reading candidates: those of `retriever`, or all of a source of at most `small` passages.
        average: the share of the plan from the dialogue alone beside the one after reading; 0 is the latter alone. What
            training fitted where it is not given.
        offsets: added to the log-probability of each order: "part" are those that training fitted, "none" leaves them
            out, a table gives them by order ("PERSONA>DOCUMENTS"; "" is NULL).
        unknown: a source that the part was not trained with is asked where the dialogue's last turn is at least as
            close to its description as `closeness` ("describe"; without an encoder nobody can tell), or never, nor
            one that needs it ("never").
        names: the part's sources by the agent's names, {USER = "MEMORY"}, where they differ.
        runtime, device, base: where the model runs, and on which weights.
    """

    def __init__(
        self,
        *,
        part: str,
        encoder: Encoder | None = None,
        store: Store | None = None,
        aware: bool = False,
        retriever: Retriever | None = None,
        pool: int = 32,
        small: int = 64,
        average: float | None = None,
        offsets: Literal["part", "none"] | dict[str, float] = "part",
        unknown: Literal["describe", "never"] = "describe",
        closeness: float = 0.4,
        names: dict[str, str] | None = None,
        runtime: Runtime = "auto",
        device: Device = "auto",
        base: str | None = None,
        folder: Path | None = None,
    ) -> None:
        if aware and store is None and retriever is None:
            raise ConfigError("planner.acting: aware = true needs candidates.", remedy="Give it a retriever.")
        if not 0.0 <= (average or 0.0) <= 1.0 or pool < 1 or small < 0:
            raise ConfigError(
                f"planner.acting: average = {average}, pool = {pool}, small = {small}.",
                remedy="Give an average from 0 to 1, a pool of at least 1, small from 0.",
            )
        self._unified = LazyUnified(
            part, names=names, folder=folder, runtime=runtime, device=device, base=base, check=aware
        )
        self._encoder = encoder
        self._store = store
        self._aware = aware
        self._retriever = retriever
        self._pool = pool
        self._small = small
        self._average = average
        self._offsets = offsets
        self._looks = unknown == "describe" and encoder is not None
        self._closeness = closeness

    @staticmethod
    def spared(options: Mapping[str, object]) -> frozenset[str]:
        """Components that need not be loaded with these options: the store unless candidates are read, the encoder
        unless unknown sources are chosen by their descriptions.
        """
        store = frozenset() if options.get("aware") else frozenset({"store"})
        return store if options.get("unknown") == "describe" else store | {"encoder"}

    def warm_up(self) -> None:
        """Load the weights, and what the candidates' retriever needs."""
        warm(self._retriever)
        self._unified.warm_up()

    def plan(self, turns: Sequence[Context], sources: Sequence[Source]) -> Sequence[Plan]:
        if not turns:
            return []
        opened, graph = self._unified.get(), SourceGraph(sources)
        trained_sources = {name for name in graph.names if name in opened.shape.grammar.sources}
        strange = tuple(name for name in graph.names if name not in trained_sources)
        if strange:
            consequence = "they are asked by their descriptions" if self._looks else "they are never asked"
            log.warning(
                "The part was not trained with the sources %s: %s until it is.", ", ".join(strange), consequence
            )
        orders = legal_orders(graph, trained_sources, loose=self._looks)
        chances = self._chances(opened, turns, [source for source in graph if source.name in trained_sources], orders)
        described = self._described(turns, [graph[name] for name in strange])
        return [
            _plan(graph, chance, near, strange, self._lost(opened, context))
            for context, chance, near in zip(turns, chances, described, strict=True)
        ]

    def _chances(
        self, opened: UnifiedPart, turns: Sequence[Context], sources: Sequence[Source], orders: Sequence[Order]
    ) -> list[dict[Order, float]]:
        """Return the probability of each order, for each turn."""
        if not self._aware:
            return [self._moved(opened, "context", one) for one in opened.runtime.plan(turns, orders)]
        if opened.shape.layout != "tree":
            raise ConfigError(
                f"planner.acting: the layout {opened.shape.layout} has no plan after reading.",
                remedy="Set aware = false, or train the layout tree.",
            )
        checked = [scores for scores, _ in opened.runtime.check(self._judgings(turns, sources), orders)]
        share = opened.average if self._average is None else self._average
        if not share:
            return [self._moved(opened, "check", one) for one in checked]
        alone = opened.runtime.plan(turns, orders)
        fitted = opened.offsets("average") is not None and share == opened.average
        apart = self._offsets == "part" and not fitted  # each plan by its own offsets if none fit the mean
        if apart:
            alone = [self._moved(opened, "context", one) for one in alone]
            checked = [self._moved(opened, "check", one) for one in checked]
        means = [
            {order: share * one[order] + (1.0 - share) * other[order] for order in orders}
            for one, other in zip(alone, checked, strict=True)
        ]
        return means if apart else [self._moved(opened, "average", one) for one in means]

    def _moved(
        self, opened: UnifiedPart, which: Literal["context", "check", "average"], chances: Mapping[Order, float]
    ) -> dict[Order, float]:
        """Add the offset of each order, if there is one, to its log-probability, and normalise."""
        if isinstance(self._offsets, dict):
            offsets = offsets_of(self._offsets)
        else:
            offsets = (opened.offsets(which) or {}) if self._offsets == "part" else {}
        moved = {order: math.log(max(chance, _LEAST)) + offsets.get(order, 0.0) for order, chance in chances.items()}
        return normalise(moved) if offsets else dict(chances)

    def _judgings(self, turns: Sequence[Context], sources: Sequence[Source]) -> list[Judging]:
        requests = [Request(context, tuple(sources), k=self._pool) for context in turns]
        candidates = offers.find_candidates(
            requests, store=self._store, inner=self._retriever, pool=self._pool, small=self._small
        )
        return [
            Judging(context, offers.candidates(offers.parents_first(piece.passage for piece in pieces)))
            for context, pieces in zip(turns, candidates, strict=True)
        ]

    def _described(self, turns: Sequence[Context], strange: Sequence[Source]) -> list[dict[SourceName, float]]:
        """Return the closeness of each turn to the descriptions of sources that the part does not know, if enabled."""
        if self._encoder is None or not self._looks or not strange:
            return [{} for _ in turns]
        texts = [source.description or source.name for source in strange]
        vectors = self._encoder.encode([*(context.last for context in turns), *texts])
        close = vectors[: len(turns)] @ vectors[len(turns) :].T  # (turns, sources)
        return [
            {source.name: float(value) for source, value in zip(strange, row, strict=True) if value >= self._closeness}
            for row in close
        ]

    @staticmethod
    def _lost(opened: UnifiedPart, context: Context) -> list[str]:
        """Return notes on turns that did not fit into the window."""
        turns = getattr(opened.runtime, "turns", None)
        if turns is None:
            return []
        read = turn_trees.trunk(turns, context)
        oldest = [f"the oldest {read.left_out} turns found no room"] if read.left_out else []
        return [*oldest, *(["the beginning of the newest turn found no room"] if read.cut else [])]


def legal_orders(
    graph: SourceGraph, trained_sources: set[SourceName], *, most: int = MOST_ORDERS, loose: bool = False
) -> tuple[Order, ...]:
    """Return NULL and every order of known sources in which each comes after all sources that it needs.

    With `loose`, needed sources that are not known are ignored.

    If there are more than `most`, each set of sources counts only in the graph's own order, smallest sets first.
    """
    orders: list[Order] = []
    needs = {
        name: {need for need in graph[name].needs if not loose or need in trained_sources} for name in trained_sources
    }
    for order in _orders(graph, needs, ()):
        orders.append(order)
        if len(orders) > most:
            return _sets(graph, needs, most)
    return tuple(sorted(orders, key=len))


def _orders(graph: SourceGraph, needs: Mapping[SourceName, set[SourceName]], done: Order) -> Iterator[Order]:
    yield done
    for name in graph.names:
        if name in needs and name not in done and needs[name] <= set(done):
            yield from _orders(graph, needs, (*done, name))


def _sets(graph: SourceGraph, needs: Mapping[SourceName, set[SourceName]], most: int) -> tuple[Order, ...]:
    names = [source.name for source in graph.order if source.name in needs]
    orders: list[Order] = []
    for size in range(len(names) + 1):
        for some in combinations(names, size):
            if all(needs[name] <= set(some) for name in some):
                orders.append(some)
                if len(orders) == most:
                    return tuple(orders)
    return tuple(orders)


def _plan(
    graph: SourceGraph,
    chances: Mapping[Order, float],
    near: Mapping[SourceName, float],
    strange: Sequence[SourceName],
    lost: Sequence[str],
) -> Plan:
    """Return the most probable order, with sources added by their description, and the reason."""
    best = max(chances, key=lambda order: (chances[order], -len(order)))
    needed = {source.name for source in graph.close(best)} - {*best}
    asked = [name for name in graph.names if name in near and _is_met(graph, name, {*best, *near, *needed})]
    also = [name for name in graph.names if name in needed and name not in asked]
    names = _legal(graph, best, (*asked, *also))
    named = {name for order in chances for name in order}
    marginals = {name: min(1.0, math.fsum(p for order, p in chances.items() if name in order)) for name in graph.names}
    top = sorted(chances.items(), key=lambda pair: -pair[1])[:_TOLD]
    notes = [", ".join(f"{BETWEEN.join(order) or 'NULL'} {chance:.2f}" for order, chance in top)]
    if left := [name for name in strange if name not in asked and name not in also]:
        notes.append(f"not known to the part, so not asked: {', '.join(left)}")
    if asked:
        close = ", ".join(f"{name} {near[name]:.2f}" for name in asked)
        notes.append(f"not known to the part, asked by description: {close}")
    if also:
        notes.append(f"not known to the part, asked because others need them: {', '.join(also)}")
    notes += lost
    probabilities = {name: chance for name, chance in marginals.items() if name in named}
    probabilities |= {name: min(1.0, near[name]) for name in asked}
    return Plan(tuple((name,) for name in names), probabilities, "; ".join(notes))


def _is_met(graph: SourceGraph, name: SourceName, asked: set[SourceName]) -> bool:
    return {source.name for source in graph.close([name])} <= asked


def _legal(graph: SourceGraph, best: Order, more: Sequence[SourceName]) -> Order:
    """Insert the sources of `more` into the model's order, each before sources that need it, otherwise at the end."""
    order: list[SourceName] = []
    for name in best:
        order += [source.name for source in graph.close([name]) if source.name in more and source.name not in order]
        order.append(name)
    return (*order, *(source.name for source in graph.order if source.name in more and source.name not in order))
