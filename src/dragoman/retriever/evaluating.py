"""UniMS-RAG's retriever: a unified model says how similar each candidate is, all of a turn in one packed pass.

Relevance is the expected value over the evaluation tokens (Eq. 3 asks for the token itself), calibrated where the part
was.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from dragoman.core.errors import ConfigError
from dragoman.core.protocols import Retriever, Store
from dragoman.core.registry import retrievers
from dragoman.core.values import Evidence, Passage, Request, Source, SourceName
from dragoman.core.warming import warm
from dragoman.models.calibration import log_odds, mixed
from dragoman.models.unified import candidates as offers
from dragoman.models.unified.loading import Device, LazyUnified, Runtime, UnifiedPart
from dragoman.models.unified.model import Judging, Order
from dragoman.retriever.paired import best, paired

log = logging.getLogger(__name__)
Children: TypeAlias = Literal["filter", "pairs", "off"]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request's candidates; `judged` are those that the part knows, with what they stand on before them.

    `ahead` are candidates of sources that the plan asks later, which tell a parent from another by its children.
    """

    request: Request
    offered: tuple[Evidence, ...]
    judged: tuple[Passage, ...]
    ahead: tuple[Evidence, ...] = ()


@retrievers.register("evaluating.v1")
class EvaluatingRetriever:
    """Judges candidates by a part that `dragoman train unims` made.

    Inputs:
        inner: finds the candidates, `pool` a source; a source of at most `small` passages is judged whole. Without it
            the first `pool` passages of a source are judged, at least `small`; more are told of in the log.
        first: the share of the inner retriever's relevance in the judged one, both as log-odds, for a model that
            learned little; above 0 every candidate comes from `inner`.
        dependency: "filter" keeps, where evidence was given, its children and what has no parent; "off" keeps all;
            "pairs" keeps all and ranks a parent and its child together, by the product of their similarities, so that
            a wrong parent does not take the right child with it. A candidate with a parent is judged on that parent,
            as in training.
        names: the part's sources by the agent's names, {USER = "MEMORY"}, where they differ.
        runtime, device, base: where the model runs, and on which weights.

    A source that the part was not trained with keeps the relevance of `inner`.
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
        """Load the weights, and what the inner retriever needs."""
        warm(self._inner)
        self._unified.warm_up()

    def retrieve(self, requests: Sequence[Request]) -> list[list[Evidence]]:
        if not requests:
            return []
        opened = self._unified.get()
        known = frozenset(opened.shape.grammar.sources)
        offered = self._offered(requests)
        pairs = self._dependency == "pairs"
        ahead = self._ahead(requests, known) if pairs else [[] for _ in requests]
        asked = [self._asked(*one, known) for one in zip(requests, offered, ahead, strict=True)]
        judgings = [
            Judging(one.request.context, offers.candidates(one.judged), _planned(one.request, known)) for one in asked
        ]
        scores = opened.runtime.judge(judgings)
        return [_ranked(opened, one, found, self._first, pairs) for one, found in zip(asked, scores, strict=True)]

    def _offered(self, requests: Sequence[Request]) -> list[list[Evidence]]:
        store = None if self._first else self._store  # what the store gives whole has no relevance yet
        return offers.offered(requests, store=store, inner=self._inner, pool=self._pool, small=self._small)

    def _ahead(self, requests: Sequence[Request], known: frozenset[SourceName]) -> list[list[Evidence]]:
        """The candidates of the sources that each request's plan asks after this one, as far as the part knows them."""
        by_name = {source.name: source for source in self._sources}
        found: list[list[Evidence]] = [[] for _ in requests]
        later = []
        for number, request in enumerate(requests):
            now = {source.name for source in request.sources}
            last = max((place for place, name in enumerate(request.plan) if name in now), default=len(request.plan))
            after = tuple(by_name[name] for name in request.plan[last + 1 :] if name in known and name in by_name)
            if after:
                later.append((number, replace(request, sources=after)))
        for (number, _), pieces in zip(later, self._offered([request for _, request in later]), strict=True):
            found[number] = pieces
        return found

    def _asked(
        self, request: Request, pieces: Sequence[Evidence], ahead: Sequence[Evidence], known: frozenset[SourceName]
    ) -> _Asked:
        kept = tuple(_filtered(request, pieces) if self._dependency == "filter" else pieces)
        strange = {piece.source for piece in kept} - known
        if strange:
            log.warning("The part was not trained with the sources %s: retrain it to judge them.", sorted(strange))
        ids = {piece.id for piece in kept}
        children = tuple(piece for piece in ahead if piece.passage.parent in ids)
        rows = [piece.passage for piece in (*kept, *children) if piece.source in known]
        given = {piece.id: piece.passage for piece in (*request.given, *kept)}
        below = [row for row in offers.parents(rows, given, request, self._store) if row.source in known]
        return _Asked(request, kept, tuple(offers.ordered((*below, *rows))), children)


def _filtered(request: Request, pieces: Sequence[Evidence]) -> list[Evidence]:
    """Without the children of what was not given, in each source in which something given has children."""
    given = {piece.id for piece in request.given}
    narrowed = {piece.source for piece in pieces if piece.passage.parent in given}
    return [
        piece
        for piece in pieces
        if piece.source not in narrowed or piece.passage.parent is None or piece.passage.parent in given
    ]


def _planned(request: Request, known: frozenset[SourceName]) -> Order:
    """The plan of the turn; where it is not told, what was asked so far."""
    asked = (*(piece.source for piece in request.given), *(source.name for source in request.sources))
    return tuple(name for name in dict.fromkeys(request.plan or asked) if name in known)


def _ranked(opened: UnifiedPart, asked: _Asked, scores: Sequence[float], first: float, pairs: bool) -> list[Evidence]:
    """The best k of each source, best first; a tie keeps the order of the candidates."""
    by_id = {passage.id: score for passage, score in zip(asked.judged, scores, strict=True)}

    def score(piece: Evidence) -> float:
        return piece.relevance if first else piece.scores.get("similarity", piece.relevance)

    judged = [_judged(opened, piece, by_id.get(piece.id), first) for piece in asked.offered]
    if pairs:
        children = [_judged(opened, piece, by_id.get(piece.id), first) for piece in asked.ahead]
        judged = paired(judged, children, by_id | {piece.id: score(piece) for piece in (*judged, *children)})
    names = [source.name for source in asked.request.sources]
    return best(judged, names, asked.request.k, {piece.id: score(piece) for piece in judged})


def _judged(opened: UnifiedPart, piece: Evidence, similarity: float | None, first: float) -> Evidence:
    if similarity is None:
        return piece
    head = opened.head
    label = piece.source if piece.source in head.calibrations else None
    relevance = mixed(piece.relevance, head.probability(log_odds(similarity), label), first)
    return replace(piece, relevance=relevance, scores={**piece.scores, "similarity": similarity})
