"""Vector search: the cosine of query and passage vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dragoman.core.protocols import Encoder, Store
from dragoman.core.registry import retrievers
from dragoman.core.values import Evidence, Hit, Request
from dragoman.retriever.judge import Candidate, judged
from dragoman.retriever.repetition_penalty import losses, penalised
from dragoman.retriever.search import (
    Analyse,
    Dependency,
    QueryKind,
    SourceSearch,
    find,
    merged,
    preferred,
    searches,
    terms_of,
)
from dragoman.retriever.trained import SearchOptions, Trained, calibrated
from dragoman.retriever.vectors import query_vectors


@retrievers.register("dense.v1")
class DenseRetriever:
    """Dense retriever; rows without a vector are never returned.

    `part` is the folder of a trained bi-encoder whose weights the agent's encoder uses (`encoder.weights`): it holds
    the query options and the calibration of cosines. `query` and `dependency` override its own.
    """

    def __init__(
        self,
        *,
        store: Store,
        encoder: Encoder,
        analyse: Analyse,
        dependency: Dependency | None = None,
        query: QueryKind | None = None,
        pool: int = 50,
        part: str | None = None,
        folder: Path | None = None,
    ) -> None:
        self._store = store
        self._encoder = encoder
        self._analyse = analyse
        self._trained = Trained(part, folder, query=query, dependency=dependency)
        self._pool = pool

    def warm_up(self) -> None:
        """Open the trained part, if there is one."""
        self._trained.options()

    def retrieve(self, requests: Sequence[Request]) -> list[list[Evidence]]:
        options = self._trained.options()
        source_searches = searches(requests, analyse=self._analyse, dependency=options.dependency, query=options.query)
        if not source_searches:
            return [[] for _ in requests]
        vectors = query_vectors(self._encoder, source_searches, options.mix)
        queries = [
            replace(search.ask(max(self._pool, search.request.k)), vector=vector)
            for search, vector in zip(source_searches, vectors, strict=True)
        ]
        answers = find(self._store.nearest, source_searches, queries)
        lost = losses(self._encoder, self._store.nearest, source_searches, options.said, pool=self._pool)
        results = zip(source_searches, answers, lost, strict=True)
        return merged(requests, [(search, self._rank(options, search, hits, less)) for search, hits, less in results])

    def _rank(
        self, options: SearchOptions, search: SourceSearch, hits: Sequence[Hit], lost: Mapping[str, float]
    ) -> list[Evidence]:
        if not hits:
            return []
        candidates = [penalised(Candidate(hit.passage, hit.score), lost) for hit in hits]
        scored = [(candidate.cosine or 0.0, candidate) for candidate in candidates]
        top = preferred(search, scored)[: search.request.k]
        if options.head is not None:
            return [evidence for _, evidence in calibrated(options, search, top)]
        return [evidence for _, evidence in judged(search, top, terms_of(self._store, search), self._analyse)]
