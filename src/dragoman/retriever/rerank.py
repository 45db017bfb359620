"""A trained cross-encoder over another retriever's candidates: each is read together with what is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock

from dragoman.core.errors import ConfigError
from dragoman.core.protocols import Retriever
from dragoman.core.registry import retrievers
from dragoman.core.values import Evidence, Request
from dragoman.core.warming import warm
from dragoman.models.calibration import log_odds, mixed
from dragoman.models.onnx.scorer import Scorer
from dragoman.retriever.search import PREFERENCE, Asked, Dependency, SourceSearch, merged, searches
from dragoman.retriever.trained import CROSS, HEAD, Trained, Way


@retrievers.register("rerank.v1")
class RerankRetriever:
    """Puts the best `pool` of each source that `inner` finds in order of what a trained part makes of each pair.

    All pairs of a batch are scored in one pass, by length. Relevance is the part's calibrated probability, or, with
    `first` above 0, that and the relevance of `inner`, mixed as log-odds: `first` is the share of `inner`, whose
    relevance should be a probability too. `query` and `dependency` are those that the part was trained with, unless
    they are given: with "filter" only the children of the given evidence stay, with "query" it is read too, with
    "prefer" its children are moved up.
    """

    def __init__(
        self,
        *,
        inner: Retriever,
        part: str,
        pool: int = 20,
        first: float = 0.0,
        query: Asked | None = None,
        dependency: Dependency | None = None,
        batch: int = 32,
        threads: int | None = None,
        folder: Path | None = None,
    ) -> None:
        if pool < 1:
            raise ConfigError(f"retriever.rerank: pool = {pool}.", remedy="Give at least 1.")
        if not 0.0 <= first <= 1.0:
            raise ConfigError(f"retriever.rerank: first = {first}.", remedy="Give a share from 0 to 1.")
        self._inner = inner
        self._pool = pool
        self._first = first
        self._trained = Trained(part, folder, kind=CROSS, query=query, dependency=dependency)
        self._batch = batch
        self._threads = threads
        self._lock = Lock()
        self._scorer: Scorer | None = None

    def warm_up(self) -> None:
        """Load the weights, those of the inner retriever too."""
        warm(self._inner)
        self._loaded(self._trained.way()).warm_up()

    def retrieve(self, requests: Sequence[Request]) -> list[list[Evidence]]:
        way = self._trained.way()
        wider = [replace(request, k=max(request.k, self._pool)) for request in requests]
        found = self._inner.retrieve(wider)
        asked = searches(requests, analyse=_no_words, dependency=way.dependency, query=way.query)
        offered = [_offered(search, found[search.nth]) for search in asked]
        pairs = [
            (search.query.text, piece.passage.indexed)
            for search, pieces in zip(asked, offered, strict=True)
            for piece in pieces
        ]
        scores = iter(self._loaded(way).scores(pairs, HEAD)[:, 0].tolist() if pairs else ())
        ranked = [
            (search, _ranked(way, search, self._first, [(next(scores), piece) for piece in pieces]))
            for search, pieces in zip(asked, offered, strict=True)
        ]
        return merged(requests, ranked)

    def _loaded(self, way: Way) -> Scorer:
        with self._lock:
            if self._scorer is None:
                assert way.part is not None
                self._scorer = Scorer(way.part, batch=self._batch, threads=self._threads)
            return self._scorer


def _offered(search: SourceSearch, found: Sequence[Evidence]) -> list[Evidence]:
    """What the inner retriever found in a search's source; where dependency filters, without strangers' children."""
    mine = [piece for piece in found if piece.source == search.source.name]
    if search.dependency != "filter" or not any(piece.passage.parent in search.parents for piece in mine):
        return mine
    return [piece for piece in mine if piece.passage.parent is None or piece.passage.parent in search.parents]


def _ranked(way: Way, search: SourceSearch, first: float, scored: Sequence[tuple[float, Evidence]]) -> list[Evidence]:
    """The evidence, best first; where calibration makes two alike, by their scores."""
    keyed = []
    for score, piece in scored:
        relevance = mixed(piece.relevance, way.relevance(score, search.source.name), first)
        liked = PREFERENCE if search.prefers(piece.passage) else 0.0
        judged = replace(piece, relevance=relevance, scores={**piece.scores, "first": piece.relevance, "rerank": score})
        keyed.append((log_odds(relevance) + liked, score, judged))
    return [piece for _, _, piece in sorted(keyed, key=lambda row: (-row[0], -row[1]))]


def _no_words(text: str) -> tuple[str, ...]:
    return ()
