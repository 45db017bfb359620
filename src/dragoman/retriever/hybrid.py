"""Lexical and vector search together: reciprocal rank fusion selects the candidates, relevance orders them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dragoman.core.encoding import passage_vectors
from dragoman.core.protocols import Encoder, Store
from dragoman.core.registry import retrievers
from dragoman.core.values import About, Evidence, Hit, Request
from dragoman.retriever.judge import Candidate, by_log_odds, judged
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

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray


def reciprocal_ranks(rankings: Iterable[Sequence[str]], *, constant: int = 60) -> dict[str, float]:
    """Reciprocal rank fusion: the fused score of every id, best first; ties keep the order of appearance.

    score(d) = sum over rankings r of 1 / (c + rank_r(d)), ranks from 1; c = 60 as in Cormack et al. 2009.
    """
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, key in enumerate(dict.fromkeys(ranking), start=1):
            scores[key] = scores.get(key, 0.0) + 1.0 / (constant + rank)
    return dict(sorted(scores.items(), key=lambda pair: -pair[1]))


@retrievers.register("hybrid.v1")
class HybridRetriever:
    """Default retriever: the results of both searches, fused by rank.

    `order="relevance"` sorts the best of the fused list (twice k, at least ten) by calibrated relevance;
    `order="fusion"` keeps the fused order. `part` is a trained bi-encoder, as for `retriever.dense`.
    """

    def __init__(
        self,
        *,
        store: Store,
        encoder: Encoder,
        analyse: Analyse,
        dependency: Dependency | None = None,
        query: QueryKind | None = None,
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
        """Open the trained part, if there is one."""
        self._trained.options()

    def retrieve(self, requests: Sequence[Request]) -> list[list[Evidence]]:
        options = self._trained.options()
        source_searches = searches(requests, analyse=self._analyse, dependency=options.dependency, query=options.query)
        if not source_searches:
            return [[] for _ in requests]
        vectors = query_vectors(self._encoder, source_searches, options.mix)
        words = [search.ask(max(self._pool, search.request.k)) for search in source_searches]
        meanings = [replace(query, vector=vector) for query, vector in zip(words, vectors, strict=True)]
        lexical = find(self._store.lexical, source_searches, words)
        nearest = find(self._store.nearest, source_searches, meanings)
        fused = [self._fuse(*candidates) for candidates in zip(source_searches, lexical, nearest, strict=True)]
        self._complete(source_searches, fused, vectors)
        lost = losses(self._encoder, self._store.nearest, source_searches, options.said, pool=self._pool)
        fused = [[penalised(each, less) for each in candidates] for candidates, less in zip(fused, lost, strict=True)]
        return merged(
            requests,
            [
                (search, self._rank(options, search, candidates))
                for search, candidates in zip(source_searches, fused, strict=True)
            ],
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

    def _complete(
        self, source_searches: Sequence[SourceSearch], fused: list[list[Candidate]], vectors: FloatArray
    ) -> None:
        """Compute the cosine of candidates that only the lexical search returned, encoded as rows of their source."""
        missing: dict[About, list[tuple[int, int]]] = {}
        for row, (search, candidates) in enumerate(zip(source_searches, fused, strict=True)):
            places = [(row, i) for i, candidate in enumerate(candidates) if candidate.cosine is None]
            if places:
                missing.setdefault(search.source.about, []).extend(places)
        for about, places in missing.items():
            texts = [fused[row][i].passage.indexed for row, i in places]
            encoded = passage_vectors(self._encoder, texts, about=about)
            for (row, i), vector in zip(places, encoded, strict=True):
                fused[row][i] = replace(fused[row][i], cosine=float(vector @ vectors[row]))

    def _rank(self, options: SearchOptions, search: SourceSearch, candidates: Sequence[Candidate]) -> list[Evidence]:
        if not candidates:
            return []
        if options.head is not None:
            nearest = sorted(candidates, key=lambda candidate: -(candidate.cosine or 0.0))
            evidence = calibrated(options, search, nearest if self._order == "relevance" else candidates)
        else:
            evidence = judged(search, candidates, terms_of(self._store, search), self._analyse)
        return by_log_odds(evidence) if self._order == "relevance" else [each for _, each in evidence]
