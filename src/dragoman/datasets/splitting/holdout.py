"""Selection of held-out dialogues that share no evidence with the rest, dropping as few as possible.

Evidence and dialogues are the vertices and edges of a hypergraph; a set of held-out evidence keeps the edges that lie
wholly inside or wholly outside of it. Connected components are held out whole. If the graph is too connected, seeded
simulated annealing moves evidence between the two sides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from random import Random
from typing import Literal, TypeAlias

Side: TypeAlias = Literal["held", "rest", "dropped"]

_NEAR = 0.95
"""Share of the target at which whole components are accepted without a search."""
_STEPS_EACH, _MOST_STEPS = 60, 300_000
_AFFORDED = 16_000
"""Annealing steps in all: a small graph is annealed several times, since one run may end in a local optimum."""
_HOT, _COLD = 1.0, 0.1
"""Temperatures, in dialogues gained or lost on the held-out side."""
_KEEP = 0.05
"""Weight of each kept dialogue, relative to the balance of the two sides."""


def held_out(edges: Sequence[Iterable[str]], share: float, *, seed: int) -> list[Side]:
    """Return the side of each edge; about `share` of the kept edges are held out."""
    graph = _Border(edges, share)
    random = Random(seed)
    graph.hold_groups(random)
    if graph.held < _NEAR * share * len(edges):
        graph.anneal(random)
    return graph.sides()


class _Border:
    """Bipartition of the evidence with the number of dialogues on each side."""

    def __init__(self, edges: Sequence[Iterable[str]], share: float) -> None:
        self._share = share
        self._edges = _reduced(edges)
        self._sizes = [len(edge) for edge in self._edges]
        self._at: list[list[int]] = [[] for _ in range(1 + max((max(e) for e in self._edges), default=-1))]
        for number, edge in enumerate(self._edges):
            for vertex in edge:
                self._at[vertex].append(number)
        self._inside = [False] * len(self._at)
        self._counts = [0] * len(self._edges)  # how much of each edge is inside
        self.held, self.rest = 0, len(self._edges)

    def sides(self) -> list[Side]:
        return [
            "held" if count == len(edge) else "dropped" if count else "rest"
            for edge, count in zip(self._edges, self._counts, strict=True)
        ]

    def hold_groups(self, random: Random) -> None:
        """Hold out whole connected components while they fit."""
        wanted = self._share * len(self._edges)
        groups = self._groups()
        random.shuffle(groups)
        for edges in groups:
            if self.held + len(edges) <= wanted:
                self._move({vertex for edge in edges for vertex in self._edges[edge]})

    def anneal(self, random: Random) -> None:
        """Move single evidence, or all of a dialogue's, to the other side; accept worse states ever more rarely."""
        steps = min(_MOST_STEPS, _STEPS_EACH * (len(self._edges) + len(self._at)))
        best, kept, score = self._inside[:], self._score(), self._score()
        for step in range(steps * max(1, _AFFORDED // steps)):
            temperature = _HOT * (_COLD / _HOT) ** (step % steps / steps) / self._share
            vertices = self._proposed(random)
            self._move(vertices)
            new = self._score()
            if new >= score or random.random() < math.exp((new - score) / temperature):
                score = new
                if score > kept:
                    kept, best = score, self._inside[:]
            else:
                self._move(vertices)
        self._move([vertex for vertex, inside in enumerate(best) if inside != self._inside[vertex]])

    def _proposed(self, random: Random) -> list[int]:
        if random.random() < 0.5:
            return [random.randrange(len(self._at))]
        target = random.random() < 0.5
        edge = self._edges[random.randrange(len(self._edges))]
        return [vertex for vertex in edge if self._inside[vertex] != target]

    def _score(self) -> float:
        """Return the size of the largest set with the target proportions, plus a small reward for each kept edge."""
        return min(self.held / self._share, self.rest / (1 - self._share)) + _KEEP * (self.held + self.rest)

    def _move(self, vertices: Iterable[int]) -> None:
        """Move each vertex to the other side; its own inverse. Nearly all time goes here."""
        counts, sizes, inside, held, rest = self._counts, self._sizes, self._inside, self.held, self.rest
        for vertex in vertices:
            if inside[vertex]:
                for edge in self._at[vertex]:
                    before = counts[edge]
                    if before == sizes[edge]:
                        held -= 1
                    if before == 1:
                        rest += 1
                    counts[edge] = before - 1
            else:
                for edge in self._at[vertex]:
                    before = counts[edge]
                    if before == 0:
                        rest -= 1
                    if before == sizes[edge] - 1:
                        held += 1
                    counts[edge] = before + 1
            inside[vertex] = not inside[vertex]
        self.held, self.rest = held, rest

    def _groups(self) -> list[list[int]]:
        """Return the edges by connected component, in order of their first edge."""
        seen = [False] * len(self._edges)
        groups = []
        for start in range(len(self._edges)):
            if seen[start]:
                continue
            seen[start] = True
            group = [start]
            for edge in group:  # grows while it is walked
                for vertex in self._edges[edge]:
                    for other in self._at[vertex]:
                        if not seen[other]:
                            seen[other] = True
                            group.append(other)
            groups.append(group)
        return groups


def _reduced(edges: Sequence[Iterable[str]]) -> list[list[int]]:
    """Merge vertices that always occur together, since they can stay on one side."""
    places: dict[str, list[int]] = {}
    for number, edge in enumerate(edges):
        for name in sorted(edge):
            places.setdefault(name, []).append(number)
    leading: list[list[int]] = [[] for _ in edges]
    sets: list[set[int]] = []
    for name in sorted(places, key=lambda name: (-len(places[name]), name)):
        at = places[name]
        if not any(sets[leader].issuperset(at) for leader in leading[at[0]]):
            for number in at:
                leading[number].append(len(sets))
            sets.append(set(at))
    return leading
