"""Search by meaning: the cosine of the query's vector and the passages' vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dragoman.core.protocols import Encoder, Store
from dragoman.core.registry import retrievers
from dragoman.core.values import Evidence, Hit, Request
from dragoman.retriever.judge import Candidate, judged
from dragoman.retriever.search import Analyse, Asked, Dependency, Search, find, merged, preferred, searches, terms_of
from dragoman.retriever.vectors import query_vectors


@retrievers.register("dense.v1")
class DenseRetriever:
    """Finds what is said in other words; rows without a vector are not found."""

    def __init__(
        self,
        *,
        store: Store,
        encoder: Encoder,
        analyse: Analyse,
        dependency: Dependency = "prefer",
        query: Asked = "standalone",
        pool: int = 50,
    ) -> None:
        self._store = store
        self._encoder = encoder
        self._analyse = analyse
        self._dependency: Dependency = dependency
        self._query: Asked = query
        self._pool = pool

    def retrieve(self, requests: Sequence[Request]) -> list[list[Evidence]]:
        asked = searches(requests, analyse=self._analyse, dependency=self._dependency, query=self._query)
        if not asked:
            return [[] for _ in requests]
        vectors = query_vectors(self._encoder, [search.query for search in asked])
        queries = [
            replace(search.ask(max(self._pool, search.request.k)), vector=vector)
            for search, vector in zip(asked, vectors, strict=True)
        ]
        answers = find(self._store.nearest, asked, queries)
        return merged(
            requests, [(search, self._rank(search, hits)) for search, hits in zip(asked, answers, strict=True)]
        )

    def _rank(self, search: Search, hits: Sequence[Hit]) -> list[Evidence]:
        if not hits:
            return []
        scored = [(hit.score, Candidate(hit.passage, hit.score)) for hit in hits]
        top = preferred(search, scored)[: search.request.k]
        return [evidence for _, evidence in judged(search, top, terms_of(self._store, search), self._analyse)]
