"""Search by meaning: the cosine of the query's vector and the passages' vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dragoman.core.protocols import Encoder, Store
from dragoman.core.registry import retrievers
from dragoman.core.values import Evidence, Hit, Request
from dragoman.retriever.judge import Candidate, judged
from dragoman.retriever.repetition_penalty import less_what_was_said, losses
from dragoman.retriever.search import (
    Analyse,
    Asked,
    Dependency,
    SourceSearch,
    find,
    merged,
    preferred,
    searches,
    terms_of,
)
from dragoman.retriever.trained import Trained, Way, calibrated
from dragoman.retriever.vectors import query_vectors


@retrievers.register("dense.v1")
class DenseRetriever:
    """Finds what is said in other words; rows without a vector are not found.

    `part` is a trained bi-encoder's folder, whose weights the agent's encoder runs (`encoder.weights`): it says how a
    turn is asked and what a cosine is worth. `query` and `dependency` are its own unless they are given.
    """

    def __init__(
        self,
        *,
        store: Store,
        encoder: Encoder,
        analyse: Analyse,
        dependency: Dependency | None = None,
        query: Asked | None = None,
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
        """Open the trained part, where there is one."""
        self._trained.way()

    def retrieve(self, requests: Sequence[Request]) -> list[list[Evidence]]:
        way = self._trained.way()
        asked = searches(requests, analyse=self._analyse, dependency=way.dependency, query=way.query)
        if not asked:
            return [[] for _ in requests]
        vectors = query_vectors(self._encoder, asked, way.mix)
        queries = [
            replace(search.ask(max(self._pool, search.request.k)), vector=vector)
            for search, vector in zip(asked, vectors, strict=True)
        ]
        answers = find(self._store.nearest, asked, queries)
        lost = losses(self._encoder, self._store.nearest, asked, way.said, pool=self._pool)
        found = zip(asked, answers, lost, strict=True)
        return merged(requests, [(search, self._rank(way, search, hits, less)) for search, hits, less in found])

    def _rank(self, way: Way, search: SourceSearch, hits: Sequence[Hit], lost: Mapping[str, float]) -> list[Evidence]:
        if not hits:
            return []
        candidates = [less_what_was_said(Candidate(hit.passage, hit.score), lost) for hit in hits]
        scored = [(candidate.cosine or 0.0, candidate) for candidate in candidates]
        top = preferred(search, scored)[: search.request.k]
        if way.head is not None:
            return [evidence for _, evidence in calibrated(way, search, top)]
        return [evidence for _, evidence in judged(search, top, terms_of(self._store, search), self._analyse)]
