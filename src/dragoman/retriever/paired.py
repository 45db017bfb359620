"""Joint choice of a passage and its parent: PK-ICR's idea over the relevance of any retriever.

Retrieved one after the other, a wrong parent excludes the right child. As pairs, the child helps to find its parent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dragoman.core.errors import ConfigError
from dragoman.core.protocols import Retriever, warm
from dragoman.core.registry import retrievers
from dragoman.core.values import Evidence, Request, Source, SourceName
from dragoman.retriever.search import merge_by_relevance

PAIR = "pair"
"""Name of the score that ranks evidence by its best pair."""


@retrievers.register("paired.v1")
class PairedRetriever:
    """Retriever that ranks a parent and its child by the product of their relevance.

    Inputs:
        inner: returns the relevance, which should be a probability, as that of a trained part. It is called for all
            children, whatever their parent.
        pool: the number of passages of a source that are compared.

    A source is searched together with the planned sources that need it and those that it needs. If the plan has no
    such pair, the results of `inner` are returned unchanged.
    """

    def __init__(self, *, inner: Retriever, sources: tuple[Source, ...] = (), pool: int = 50) -> None:
        if pool < 1:
            raise ConfigError(f"retriever.paired: pool = {pool}.", remedy="Give at least 1.")
        self._inner = inner
        self._sources = sources
        self._pool = pool

    def warm_up(self) -> None:
        """Load the inner retriever."""
        warm(self._inner)

    def retrieve(self, requests: Sequence[Request]) -> list[list[Evidence]]:
        paired_requests = [self._paired(request) for request in requests]
        answers = self._inner.retrieve([one.widened(self._pool) for one in paired_requests])
        return [one.ranked(pieces) for one, pieces in zip(paired_requests, answers, strict=True)]

    def _paired(self, request: Request) -> _PairedRequest:
        by_name = {source.name: source for source in (*self._sources, *request.sources)}
        now = {source.name for source in request.sources}
        planned = [by_name[name] for name in request.plan if name in by_name and name not in now]
        needed = {name for source in request.sources for name in source.needs}
        return _PairedRequest(
            request,
            above=tuple(source for source in planned if source.name in needed),
            below=tuple(source for source in planned if now & {*source.needs}),
        )


@dataclass(frozen=True, slots=True)
class _PairedRequest:
    """Request with the planned sources that it needs (`above`) and that need it (`below`)."""

    request: Request
    above: tuple[Source, ...]
    below: tuple[Source, ...]

    def widened(self, pool: int) -> Request:
        """Return the request for `inner`: with the sources of both sides, without the parents that would filter."""
        request = self.request
        if not self.above and not self.below:
            return request
        parents = {source.name for source in (*self.above, *(request.sources if self.below else ()))}
        evidence = tuple(piece for piece in request.given if piece.source not in parents)
        sources = (*request.sources, *self.above, *self.below)
        return replace(request, sources=sources, k=max(request.k, pool), given=evidence)

    def ranked(self, pieces: Sequence[Evidence]) -> list[Evidence]:
        if not self.above and not self.below:
            return list(pieces)
        now = [source.name for source in self.request.sources]
        own = [piece for piece in pieces if piece.source in now]
        below = {source.name for source in self.below}
        children = [piece for piece in pieces if piece.source in below]
        # evidence of earlier steps counts too, since this step may not retrieve it again
        together = paired(own, children, {piece.id: piece.relevance for piece in (*self.request.given, *pieces)})
        return best(together, now, self.request.k)


def paired(pieces: Sequence[Evidence], children: Sequence[Evidence], score: Mapping[str, float]) -> list[Evidence]:
    """Add to each piece the score of its best pair.

    A piece without parent and child keeps its own score; a piece whose other side is missing gets 0 if other pieces of
    its source form pairs.
    """
    pair_scores: dict[str, float] = {}
    sides: set[str] = set()
    for child in (*pieces, *children):
        parent = child.passage.parent or ""
        if parent in score:
            pair = score[parent] * score[child.id]
            pair_scores |= {id_: max(pair_scores.get(id_, 0.0), pair) for id_ in (parent, child.id)}
            sides.add(child.id)
    parents = {child.passage.parent for child in children}
    with_children = {piece.source for piece in pieces if piece.id in parents}
    with_parents = {piece.source for piece in pieces if piece.id in sides}

    def alone(piece: Evidence) -> float:
        torn = piece.source in with_children or (piece.passage.parent is not None and piece.source in with_parents)
        return 0.0 if torn else score[piece.id]

    return [replace(piece, scores={**piece.scores, PAIR: pair_scores.get(piece.id, alone(piece))}) for piece in pieces]


def best(
    pieces: Sequence[Evidence], names: Sequence[SourceName], k: int, score: Mapping[str, float] | None = None
) -> list[Evidence]:
    """Return the best k of each source by pair score, then by own score; ties keep the order."""
    lists: dict[SourceName, list[Evidence]] = {name: [] for name in names}
    for piece in pieces:
        lists[piece.source].append(piece)

    def rank(piece: Evidence) -> tuple[float, float]:
        own = piece.relevance if score is None else score[piece.id]
        return -piece.scores.get(PAIR, own), -own

    return merge_by_relevance([sorted(evidence, key=rank)[:k] for evidence in lists.values()])
