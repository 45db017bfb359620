"""Lexical search: the store's Okapi BM25, or TF-IDF over the rows that share a word with the query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from dragoman.core.protocols import Store
from dragoman.core.registry import retrievers
from dragoman.core.values import Evidence, Hit, Request
from dragoman.retriever.judge import Candidate, to_evidence
from dragoman.retriever.ranking import TfIdf
from dragoman.retriever.search import (
    Analyse,
    Dependency,
    QueryKind,
    SourceSearch,
    find,
    merge_evidence,
    searches,
    sort_candidates,
    terms_of,
)


@retrievers.register("sparse.v1")
class SparseRetriever:
    """Sparse retriever: needs no encoder and returns only passages that share a word with the query."""

    def __init__(
        self,
        *,
        store: Store,
        analyse: Analyse,
        weighting: Literal["bm25", "tfidf"] = "bm25",
        dependency: Dependency = "prefer",
        query: QueryKind = "standalone",
        pool: int = 50,
    ) -> None:
        self._store = store
        self._analyse = analyse
        self._weighting = weighting
        self._dependency: Dependency = dependency
        self._query: QueryKind = query
        self._pool = pool

    def retrieve(self, requests: Sequence[Request]) -> list[list[Evidence]]:
        source_searches = searches(requests, analyse=self._analyse, dependency=self._dependency, query=self._query)
        queries = [search.ask(max(self._pool, search.request.k)) for search in source_searches]
        answers = find(self._store.lexical, source_searches, queries)
        return merge_evidence(
            requests,
            [(search, self._rank(search, hits)) for search, hits in zip(source_searches, answers, strict=True)],
        )

    def _rank(self, search: SourceSearch, hits: Sequence[Hit]) -> list[Evidence]:
        if not hits:
            return []
        scored = [(hit.score, Candidate(hit.passage, None, {"bm25": hit.score})) for hit in hits]
        if self._weighting == "tfidf":
            values = self._tfidf(search, hits)
            scored = [
                (value, Candidate(hit.passage, None, {"tfidf": value})) for hit, value in zip(hits, values, strict=True)
            ]
        top = sort_candidates(search, scored)[: search.request.k]
        return [evidence for _, evidence in to_evidence(search, top, terms_of(self._store, search), self._analyse)]

    def _tfidf(self, search: SourceSearch, hits: Sequence[Hit]) -> list[float]:
        rows = [self._analyse(hit.passage.indexed) for hit in hits]
        vocabulary = tuple(dict.fromkeys(token for row in (search.weighted, *rows) for token in row))
        count, frequencies = self._store.frequencies(search.scope, search.source.name, vocabulary)
        return TfIdf(rows, count=count, containing=frequencies).scores(search.weighted)
