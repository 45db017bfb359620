"""Lexical and vector search together: reciprocal rank fusion selects the candidates, relevance orders them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dragoman.core.protocols import Encoder, Store, passage_vectors
from dragoman.core.registry import retrievers
from dragoman.core.values import About, Evidence, Hit
from dragoman.retriever.dense import VectorRetriever
from dragoman.retriever.judge import Candidate, by_log_odds, to_evidence
from dragoman.retriever.search import (
    Analyse,
    Dependency,
    QueryKind,
    SourceSearch,
    find,
    sort_candidates,
    terms_of,
)
from dragoman.retriever.trained import SearchOptions, calibrated_evidence

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
class HybridRetriever(VectorRetriever):
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
        super().__init__(
            store=store,
            encoder=encoder,
            analyse=analyse,
            dependency=dependency,
            query=query,
            pool=pool,
            part=part,
            folder=folder,
        )
        self._order = order
        self._constant = constant

    def _candidates(self, source_searches: Sequence[SourceSearch], vectors: FloatArray) -> list[list[Candidate]]:
        lexical = find(self._store.lexical, source_searches, self._queries(source_searches))
        nearest = self._nearest(source_searches, vectors)
        fused = [self._fuse(*answers) for answers in zip(source_searches, lexical, nearest, strict=True)]
        self._complete(source_searches, fused, vectors)
        return fused

    def _fuse(self, search: SourceSearch, lexical: Sequence[Hit], nearest: Sequence[Hit]) -> list[Candidate]:
        passages = {hit.passage.id: hit.passage for hit in (*lexical, *nearest)}
        bm25 = {hit.passage.id: hit.score for hit in lexical}
        cosines = {hit.passage.id: hit.score for hit in nearest}
        ranks = reciprocal_ranks((list(bm25), list(cosines)), constant=self._constant)
        scored = []
        for key, score in ranks.items():
            scores = {"fusion": score} | ({"bm25": bm25[key]} if key in bm25 else {})
            scored.append((score, Candidate(passages[key], cosines.get(key), scores)))
        return sort_candidates(search, scored)[: max(2 * search.request.k, 10)]

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
        if options.head is not None:
            nearest = sorted(candidates, key=lambda candidate: -(candidate.cosine or 0.0))
            evidence = calibrated_evidence(options, search, nearest if self._order == "relevance" else candidates)
        else:
            evidence = to_evidence(search, candidates, terms_of(self._store, search), self._analyse)
        return by_log_odds(evidence) if self._order == "relevance" else [each for _, each in evidence]
