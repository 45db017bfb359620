"""Trained cross-encoder that reranks another retriever's candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock

from dragoman.core.errors import ConfigError
from dragoman.core.protocols import Retriever, warm
from dragoman.core.registry import retrievers
from dragoman.core.values import Evidence, Request
from dragoman.models.calibration import log_odds, mixed
from dragoman.models.onnx.scorer import Scorer
from dragoman.retriever.search import PREFERENCE, Dependency, QueryKind, SourceSearch, merge_evidence, searches
from dragoman.retriever.trained import CROSS, HEAD, SearchOptions, Trained


@retrievers.register("rerank.v1")
class RerankRetriever:
    """Reranks the best `pool` candidates of each source of `inner` by a trained part.

    All pairs of a batch are scored in one pass. Relevance is the part's calibrated probability; with `first` above 0
    it is mixed, as log-odds, with the relevance of `inner`, which should be a probability too: `first` is the weight of
    `inner`. `query` and `dependency` default to those of the part's training: "filter" keeps only children of the given
    evidence, "query" adds its text to the query, "prefer" raises its children.
    """

    def __init__(
        self,
        *,
        inner: Retriever,
        part: str,
        pool: int = 20,
        first: float = 0.0,
        query: QueryKind | None = None,
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
        """Load the weights, also those of the inner retriever."""
        warm(self._inner)
        self._loaded(self._trained.options()).warm_up()

    def retrieve(self, requests: Sequence[Request]) -> list[list[Evidence]]:
        options = self._trained.options()
        wider = [replace(request, k=max(request.k, self._pool)) for request in requests]
        candidates = self._inner.retrieve(wider)
        source_searches = searches(requests, analyse=_no_words, dependency=options.dependency, query=options.query)
        offered = [_offered(search, candidates[search.nth]) for search in source_searches]
        pairs = [
            (search.query.text, piece.passage.indexed)
            for search, pieces in zip(source_searches, offered, strict=True)
            for piece in pieces
        ]
        scores = iter(self._loaded(options).scores(pairs, HEAD)[:, 0].tolist() if pairs else ())
        ranked = [
            (search, _ranked(options, search, self._first, [(next(scores), piece) for piece in pieces]))
            for search, pieces in zip(source_searches, offered, strict=True)
        ]
        return merge_evidence(requests, ranked)

    def _loaded(self, options: SearchOptions) -> Scorer:
        with self._lock:
            if self._scorer is None:
                assert options.part is not None
                self._scorer = Scorer(options.part, batch=self._batch, threads=self._threads)
            return self._scorer


def _offered(search: SourceSearch, candidates: Sequence[Evidence]) -> list[Evidence]:
    """Return the inner retriever's candidates of a search's source; "filter" drops children of other parents."""
    mine = [piece for piece in candidates if piece.source == search.source.name]
    if search.dependency != "filter" or not any(piece.passage.parent in search.parents for piece in mine):
        return mine
    return [piece for piece in mine if piece.passage.parent is None or piece.passage.parent in search.parents]


def _ranked(
    options: SearchOptions, search: SourceSearch, first: float, scored: Sequence[tuple[float, Evidence]]
) -> list[Evidence]:
    """Return the evidence, best first; equal probabilities are ordered by score."""
    keyed = []
    for score, piece in scored:
        relevance = mixed(piece.relevance, options.relevance(score, search.source.name), first)
        liked = PREFERENCE if search.prefers(piece.passage) else 0.0
        judged = replace(piece, relevance=relevance, scores={**piece.scores, "first": piece.relevance, "rerank": score})
        keyed.append((log_odds(relevance) + liked, score, judged))
    return [piece for _, _, piece in sorted(keyed, key=lambda row: (-row[0], -row[1]))]


def _no_words(text: str) -> tuple[str, ...]:
    return ()
