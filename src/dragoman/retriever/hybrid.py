"""Search by words and by meaning at once: reciprocal rank fusion finds the candidates, relevance orders them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dragoman.core.encoding import passage_vectors
from dragoman.core.protocols import Encoder, Store
from dragoman.core.registry import retrievers
from dragoman.core.values import About, Evidence, Hit, Request
from dragoman.retriever.fusion import reciprocal_ranks
from dragoman.retriever.judge import Candidate, by_log_odds, judged
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

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray


@retrievers.register("hybrid.v1")
class HybridRetriever:
    """The default: what either search finds, fused by places.

    With `order="relevance"` the best of the fused list (twice k, at least ten) are put in order of their
    calibrated relevance; `order="fusion"` leaves them as fused. `part` is that of a trained bi-encoder, as for
    `retriever.dense`.
    """

    def __init__(
        self,
        *,
        store: Store,
        encoder: Encoder,
        analyse: Analyse,
        dependency: Dependency | None = None,
        query: Asked | None = None,
        order: Literal["relevance", "fusion"] = "relevance",
        constant: int = 60,
        pool: int = 50,
        part: str | None = None,
        folder: Path | None = None,
    ) -> None:
        self._store = store
        self._encoder = encoder
        self._analyse = analyse
        self._trained = Trained(part, folder, query=query, dependency=dependency)
        self._order = order
        self._constant = constant
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
        words = [search.ask(max(self._pool, search.request.k)) for search in asked]
        meanings = [replace(query, vector=vector) for query, vector in zip(words, vectors, strict=True)]
        lexical = find(self._store.lexical, asked, words)
        nearest = find(self._store.nearest, asked, meanings)
        fused = [self._fuse(*found) for found in zip(asked, lexical, nearest, strict=True)]
        self._complete(asked, fused, vectors)
        lost = losses(self._encoder, self._store.nearest, asked, way.said, pool=self._pool)
        fused = [[less_what_was_said(each, less) for each in found] for found, less in zip(fused, lost, strict=True)]
        return merged(
            requests, [(search, self._rank(way, search, found)) for search, found in zip(asked, fused, strict=True)]
        )

    def _fuse(self, search: SourceSearch, lexical: Sequence[Hit], nearest: Sequence[Hit]) -> list[Candidate]:
        passages = {hit.passage.id: hit.passage for hit in (*lexical, *nearest)}
        bm25 = {hit.passage.id: hit.score for hit in lexical}
        cosines = {hit.passage.id: hit.score for hit in nearest}
        ranks = reciprocal_ranks((list(bm25), list(cosines)), constant=self._constant)
        scored = []
        for key, score in ranks.items():
            scores = {"fusion": score} | ({"bm25": bm25[key]} if key in bm25 else {})
            scored.append((score, Candidate(passages[key], cosines.get(key), scores)))
        return preferred(search, scored)[: max(2 * search.request.k, 10)]

    def _complete(self, asked: Sequence[SourceSearch], fused: list[list[Candidate]], vectors: FloatArray) -> None:
        """Give the cosine to candidates that only their words brought up, read as the rows of their source are."""
        missing: dict[About, list[tuple[int, int]]] = {}
        for row, (search, found) in enumerate(zip(asked, fused, strict=True)):
            places = [(row, i) for i, candidate in enumerate(found) if candidate.cosine is None]
            if places:
                missing.setdefault(search.source.about, []).extend(places)
        for about, places in missing.items():
            texts = [fused[row][i].passage.indexed for row, i in places]
            encoded = passage_vectors(self._encoder, texts, about=about)
            for (row, i), vector in zip(places, encoded, strict=True):
                fused[row][i] = replace(fused[row][i], cosine=float(vector @ vectors[row]))

    def _rank(self, way: Way, search: SourceSearch, found: Sequence[Candidate]) -> list[Evidence]:
        if not found:
            return []
        if way.head is not None:
            nearest = sorted(found, key=lambda candidate: -(candidate.cosine or 0.0))
            evidence = calibrated(way, search, nearest if self._order == "relevance" else found)
        else:
            evidence = judged(search, found, terms_of(self._store, search), self._analyse)
        return by_log_odds(evidence) if self._order == "relevance" else [each for _, each in evidence]
