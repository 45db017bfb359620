"""A passage and the one that it depends on, chosen together: PK-ICR's idea over the relevance of any retriever.

Asked one after the other, a wrong parent takes the right child with it. As pairs, the child helps to find its parent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dragoman.core.errors import ConfigError
from dragoman.core.protocols import Retriever
from dragoman.core.registry import retrievers
from dragoman.core.values import Evidence, Request, Source, SourceName
from dragoman.core.warming import warm
from dragoman.retriever.search import merge_by_relevance

PAIR = "pair"
"""The score by which evidence that was chosen in pairs is ranked."""


@retrievers.register("paired.v1")
class PairedRetriever:
    """Ranks a parent and its child by the product of the relevance that `inner` gives to each.

    Inputs:
        inner: gives the relevance, which should be a probability, as that of a trained part is. It is asked for all
            children, whatever parent was found before them.
        pool: how many of a source are weighed.

    A source is asked together with those of the plan that need it, and with those that it needs itself. Where the plan
    has no such pair, the best of `inner` are given as they are.
    """

    def __init__(self, *, inner: Retriever, sources: tuple[Source, ...] = (), pool: int = 50) -> None:
        if pool < 1:
            raise ConfigError(f"retriever.paired: pool = {pool}.", remedy="Give at least 1.")
        self._inner = inner
        self._sources = sources
        self._pool = pool

    def warm_up(self) -> None:
        """Load what the inner retriever needs."""
        warm(self._inner)

    def retrieve(self, requests: Sequence[Request]) -> list[list[Evidence]]:
        asked = [self._asked(request) for request in requests]
        answers = self._inner.retrieve([one.widened(self._pool) for one in asked])
        return [one.ranked(pieces) for one, pieces in zip(asked, answers, strict=True)]

    def _asked(self, request: Request) -> _Asked:
        by_name = {source.name: source for source in (*self._sources, *request.sources)}
        now = {source.name for source in request.sources}
        planned = [by_name[name] for name in request.plan if name in by_name and name not in now]
        needed = {name for source in request.sources for name in source.needs}
        return _Asked(
            request,
            above=tuple(source for source in planned if source.name in needed),
            below=tuple(source for source in planned if now & {*source.needs}),
        )


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request, and the planned sources that it needs and that need it."""

    request: Request
    above: tuple[Source, ...]
    below: tuple[Source, ...]

    def widened(self, pool: int) -> Request:
        """What `inner` is asked: with the other sides of the pairs, and without the parents that would narrow them."""
        request = self.request
        if not self.above and not self.below:
            return request
        parents = {source.name for source in (*self.above, *(request.sources if self.below else ()))}
        given = tuple(piece for piece in request.given if piece.source not in parents)
        sources = (*request.sources, *self.above, *self.below)
        return replace(request, sources=sources, k=max(request.k, pool), given=given)

    def ranked(self, pieces: Sequence[Evidence]) -> list[Evidence]:
        if not self.above and not self.below:
            return list(pieces)
        now = [source.name for source in self.request.sources]
        own = [piece for piece in pieces if piece.source in now]
        below = {source.name for source in self.below}
        children = [piece for piece in pieces if piece.source in below]
        # what was given counts too: in a later step it may not be found again
        together = paired(own, children, {piece.id: piece.relevance for piece in (*self.request.given, *pieces)})
        return best(together, now, self.request.k)


def paired(pieces: Sequence[Evidence], children: Sequence[Evidence], score: Mapping[str, float]) -> list[Evidence]:
    """Each piece with the score of the best pair that it is in.

    One that has neither parent nor child keeps its own; one whose other side was not found has none where others of its
    source are pairs.
    """
    found: dict[str, float] = {}
    sides: set[str] = set()
    for child in (*pieces, *children):
        parent = child.passage.parent or ""
        if parent in score:
            pair = score[parent] * score[child.id]
            found |= {id_: max(found.get(id_, 0.0), pair) for id_ in (parent, child.id)}
            sides.add(child.id)
    parents = {child.passage.parent for child in children}
    with_children = {piece.source for piece in pieces if piece.id in parents}
    with_parents = {piece.source for piece in pieces if piece.id in sides}

    def alone(piece: Evidence) -> float:
        torn = piece.source in with_children or (piece.passage.parent is not None and piece.source in with_parents)
        return 0.0 if torn else score[piece.id]

    return [replace(piece, scores={**piece.scores, PAIR: found.get(piece.id, alone(piece))}) for piece in pieces]


def best(
    pieces: Sequence[Evidence], names: Sequence[SourceName], k: int, score: Mapping[str, float] | None = None
) -> list[Evidence]:
    """The best k of each source by their pairs, then by themselves; a tie keeps the order."""
    lists: dict[SourceName, list[Evidence]] = {name: [] for name in names}
    for piece in pieces:
        lists[piece.source].append(piece)

    def rank(piece: Evidence) -> tuple[float, float]:
        own = piece.relevance if score is None else score[piece.id]
        return -piece.scores.get(PAIR, own), -own

    return merge_by_relevance([sorted(found, key=rank)[:k] for found in lists.values()])
