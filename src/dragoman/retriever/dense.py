"""Vector search: the cosine of query and passage vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.core.protocols import Encoder, Store
from dragoman.core.registry import retrievers
from dragoman.core.values import Evidence, Hit, Query, Request
from dragoman.retriever.judge import Candidate, to_evidence
from dragoman.retriever.repetition_penalty import losses, penalised
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
from dragoman.retriever.trained import SearchOptions, Trained, calibrated_evidence
from dragoman.retriever.vectors import query_vectors

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray


class VectorRetriever(ABC):
    """Base of retrievers that compare vectors: they differ in their candidates, and in how these become evidence.

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
        candidates = self._candidates(source_searches, vectors)
        lost = losses(self._encoder, self._store.nearest, source_searches, options.said, pool=self._pool)
        return merge_evidence(
            requests,
            [
                (search, self._rank(options, search, [penalised(each, less) for each in hits]) if hits else [])
                for search, hits, less in zip(source_searches, candidates, lost, strict=True)
            ],
        )

    def _queries(self, source_searches: Sequence[SourceSearch]) -> list[Query]:
        """The query by words of each search, for as many rows as the pool holds."""
        return [search.ask(max(self._pool, search.request.k)) for search in source_searches]

    def _nearest(self, source_searches: Sequence[SourceSearch], vectors: FloatArray) -> Sequence[Sequence[Hit]]:
        """The rows of each search nearest to its vector."""
        words = self._queries(source_searches)
        queries = [replace(query, vector=vector) for query, vector in zip(words, vectors, strict=True)]
        return find(self._store.nearest, source_searches, queries)

    @abstractmethod
    def _candidates(self, source_searches: Sequence[SourceSearch], vectors: FloatArray) -> list[list[Candidate]]:
        """The candidates of each search."""

    @abstractmethod
    def _rank(self, options: SearchOptions, search: SourceSearch, candidates: Sequence[Candidate]) -> list[Evidence]:
        """The evidence of a search that has candidates, best first."""


@retrievers.register("dense.v1")
class DenseRetriever(VectorRetriever):
    """Dense retriever; rows without a vector are never returned."""

    def _candidates(self, source_searches: Sequence[SourceSearch], vectors: FloatArray) -> list[list[Candidate]]:
        answers = self._nearest(source_searches, vectors)
        return [[Candidate(hit.passage, hit.score) for hit in hits] for hits in answers]

    def _rank(self, options: SearchOptions, search: SourceSearch, candidates: Sequence[Candidate]) -> list[Evidence]:
        scored = [(candidate.cosine or 0.0, candidate) for candidate in candidates]
        top = sort_candidates(search, scored)[: search.request.k]
        if options.head is not None:
            return [evidence for _, evidence in calibrated_evidence(options, search, top)]
        return [evidence for _, evidence in to_evidence(search, top, terms_of(self._store, search), self._analyse)]
