"""UniMS-RAG's retriever: a unified model scores all candidates of a turn in one packed pass.

Relevance is the expected value over the evaluation tokens (Eq. 3 takes the token itself), calibrated if the part has
a calibration.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from dragoman.core.errors import ConfigError
from dragoman.core.protocols import Retriever, Store, warm
from dragoman.core.registry import retrievers
from dragoman.core.values import Evidence, Passage, Request, Source, SourceName
from dragoman.models.calibration import log_odds, mixed
from dragoman.models.unified import candidates as offers
from dragoman.models.unified.loading import Device, LazyUnified, Runtime, UnifiedPart
from dragoman.models.unified.model import Judging, Order
from dragoman.retriever.paired import best, paired

log = logging.getLogger(__name__)
Children: TypeAlias = Literal["filter", "pairs", "off"]


@dataclass(frozen=True, slots=True)
class _CandidateRequest:
    """Candidates of a request; `judged` are those of trained sources, each after its parent.

    `ahead` are candidates of sources that come later in the plan: a parent is scored with its children.
    """

    request: Request
    offered: tuple[Evidence, ...]
    judged: tuple[Passage, ...]
    ahead: tuple[Evidence, ...] = ()


@retrievers.register("evaluating.v1")
class EvaluatingRetriever:
    """Retriever that scores candidates by a part of `dragoman train unims`.

    Inputs:
        inner: finds the candidates, `pool` per source; a source of at most `small` passages is scored whole. Without
            it the first `pool` passages of a source are scored, at least `small`; the log reports left-out ones.
        first: weight of the inner retriever's relevance in the result, mixed as log-odds, for a model that learned
            little; above 0 every candidate comes from `inner`.
        dependency: "filter" keeps children of the given evidence and passages without a parent; "off" keeps all;
            "pairs" keeps all and ranks a parent and its child by the product of their similarities, so that a wrong
            parent does not exclude the right child. A candidate with a parent is scored after that parent, as in
            training.
        names: map from the agent's source names to the part's, {USER = "MEMORY"}.
        runtime, device, base: where the model runs, and with which weights.

    Sources that the part was not trained with keep the relevance of `inner`.
    """

    def __init__(
        self,
        *,
        part: str,
        store: Store,
        sources: tuple[Source, ...] = (),
        inner: Retriever | None = None,
        pool: int = 32,
        small: int = 64,
        first: float = 0.0,
        dependency: Children = "filter",
        names: dict[str, str] | None = None,
        runtime: Runtime = "auto",
        device: Device = "auto",
        base: str | None = None,
        folder: Path | None = None,
    ) -> None:
        if pool < 1 or small < 0:
            raise ConfigError(
                f"retriever.evaluating: pool = {pool}, small = {small}.", remedy="Give at least 1, and at least 0."
            )
        if not 0.0 <= first <= 1.0 or (first and inner is None):
            raise ConfigError(
                f"retriever.evaluating: first = {first} with{'out' if inner is None else ''} an inner retriever.",
                remedy="Give a share from 0 to 1, and an inner retriever where it is above 0.",
            )
        self._unified = LazyUnified(part, names=names, folder=folder, runtime=runtime, device=device, base=base)
        self._store = store
        self._sources = sources
        self._first = first
        self._inner = inner
        self._pool = pool
        self._small = small
        self._dependency = dependency

    def warm_up(self) -> None:
        """Load the weights, also those of the inner retriever."""
        warm(self._inner)
        self._unified.warm_up()

    def retrieve(self, requests: Sequence[Request]) -> list[list[Evidence]]:
        if not requests:
            return []
        opened = self._unified.get()
        trained_sources = frozenset(opened.shape.grammar.sources)
        offered = self._offered(requests)
        pairs = self._dependency == "pairs"
        ahead = self._ahead(requests, trained_sources) if pairs else [[] for _ in requests]
        candidates = [self._candidates(*one, trained_sources) for one in zip(requests, offered, ahead, strict=True)]
        judgings = [
            Judging(one.request.context, offers.candidates(one.judged), _planned(one.request, trained_sources))
            for one in candidates
        ]
        scores = opened.runtime.judge(judgings)
        return [
            _ranked(opened, one, similarities, self._first, pairs)
            for one, similarities in zip(candidates, scores, strict=True)
        ]

    def _offered(self, requests: Sequence[Request]) -> list[list[Evidence]]:
        store = None if self._first else self._store  # rows that the store lists have no relevance to mix
        return offers.find_candidates(requests, store=store, inner=self._inner, pool=self._pool, small=self._small)

    def _ahead(self, requests: Sequence[Request], trained_sources: frozenset[SourceName]) -> list[list[Evidence]]:
        """Return the candidates of trained sources that come later in each request's plan."""
        by_name = {source.name: source for source in self._sources}
        candidates: list[list[Evidence]] = [[] for _ in requests]
        later = []
        for number, request in enumerate(requests):
            now = {source.name for source in request.sources}
            last = max((place for place, name in enumerate(request.plan) if name in now), default=len(request.plan))
            after = tuple(
                by_name[name] for name in request.plan[last + 1 :] if name in trained_sources and name in by_name
            )
            if after:
                later.append((number, replace(request, sources=after)))
        for (number, _), pieces in zip(later, self._offered([request for _, request in later]), strict=True):
            candidates[number] = pieces
        return candidates

    def _candidates(
        self,
        request: Request,
        pieces: Sequence[Evidence],
        ahead: Sequence[Evidence],
        trained_sources: frozenset[SourceName],
    ) -> _CandidateRequest:
        candidates = tuple(_filtered(request, pieces) if self._dependency == "filter" else pieces)
        untrained = {piece.source for piece in candidates} - trained_sources
        if untrained:
            log.warning("The part was not trained with the sources %s: retrain it to judge them.", sorted(untrained))
        ids = {piece.id for piece in candidates}
        children = tuple(piece for piece in ahead if piece.passage.parent in ids)
        rows = [piece.passage for piece in (*candidates, *children) if piece.source in trained_sources]
        available = {piece.id: piece.passage for piece in (*request.given, *candidates)}
        below = [row for row in offers.parents(rows, available, request, self._store) if row.source in trained_sources]
        return _CandidateRequest(request, candidates, tuple(offers.parents_first((*below, *rows))), children)


def _filtered(request: Request, pieces: Sequence[Evidence]) -> list[Evidence]:
    """Drop children of other parents in each source that has children of the given evidence."""
    given_ids = {piece.id for piece in request.given}
    narrowed = {piece.source for piece in pieces if piece.passage.parent in given_ids}
    return [
        piece
        for piece in pieces
        if piece.source not in narrowed or piece.passage.parent is None or piece.passage.parent in given_ids
    ]


def _planned(request: Request, trained_sources: frozenset[SourceName]) -> Order:
    """Return the turn's plan; without one, the sources of the request and of its given evidence."""
    so_far = (*(piece.source for piece in request.given), *(source.name for source in request.sources))
    return tuple(name for name in dict.fromkeys(request.plan or so_far) if name in trained_sources)


def _ranked(
    opened: UnifiedPart, candidates: _CandidateRequest, scores: Sequence[float], first: float, pairs: bool
) -> list[Evidence]:
    """Return the best k of each source, best first; ties keep the order of the candidates."""
    by_id = {passage.id: score for passage, score in zip(candidates.judged, scores, strict=True)}

    def score(piece: Evidence) -> float:
        return piece.relevance if first else piece.scores.get("similarity", piece.relevance)

    judged = [_judged(opened, piece, by_id.get(piece.id), first) for piece in candidates.offered]
    if pairs:
        children = [_judged(opened, piece, by_id.get(piece.id), first) for piece in candidates.ahead]
        judged = paired(judged, children, by_id | {piece.id: score(piece) for piece in (*judged, *children)})
    names = [source.name for source in candidates.request.sources]
    return best(judged, names, candidates.request.k, {piece.id: score(piece) for piece in judged})


def _judged(opened: UnifiedPart, piece: Evidence, similarity: float | None, first: float) -> Evidence:
    if similarity is None:
        return piece
    head = opened.head
    label = piece.source if piece.source in head.calibrations else None
    relevance = mixed(piece.relevance, head.probability(log_odds(similarity), label), first)
    return replace(piece, relevance=relevance, scores={**piece.scores, "similarity": similarity})
