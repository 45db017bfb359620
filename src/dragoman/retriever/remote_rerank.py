"""Rerank another retriever's candidates by a reranker behind an endpoint."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from dragoman.core.errors import ConfigError
from dragoman.core.protocols import Encoder, Retriever, Store, warm
from dragoman.core.registry import retrievers
from dragoman.core.values import Evidence, Request
from dragoman.models.calibration import mixed
from dragoman.models.remote.reranker import RemoteReranker, Shape
from dragoman.retriever.hybrid import HybridRetriever
from dragoman.retriever.prompted import best
from dragoman.retriever.search import Analyse
from dragoman.text.query import standalone


@retrievers.register("rerank-remote.v1")
class RemoteRerankRetriever:
    """Re-scores the best `pool` of each source that `inner` finds (hybrid unless told otherwise).

    Relevance is the reranker's score, or, with `first` above 0, that and the relevance of `inner`, mixed as log-odds.
    """

    def __init__(
        self,
        *,
        url: str,
        store: Store,
        encoder: Encoder,
        analyse: Analyse,
        model: str = "",
        key_env: str = "",
        shape: Shape = "auto",
        inner: Retriever | None = None,
        pool: int = 20,
        first: float = 0.0,
        timeout: float = 60.0,
        headers: Mapping[str, str] | None = None,
        transport: object | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if pool < 1 or not 0.0 <= first <= 1.0:
            raise ConfigError(
                f"retriever.rerank-remote: pool = {pool}, first = {first}.",
                remedy="Give a pool of at least 1 and a share from 0 to 1.",
            )
        self._inner: Retriever = inner or HybridRetriever(store=store, encoder=encoder, analyse=analyse)
        self._pool = pool
        self._first = first
        self.reranker = RemoteReranker(
            url=url,
            model=model,
            key_env=key_env,
            shape=shape,
            timeout=timeout,
            headers=headers,
            transport=transport,
            sleep=sleep,
        )

    def warm_up(self) -> None:
        warm(self._inner)

    def retrieve(self, requests: Sequence[Request]) -> list[list[Evidence]]:
        wider = [replace(request, k=max(request.k, self._pool)) for request in requests]
        results = self._inner.retrieve(wider)
        return [self._judged(request, row) for request, row in zip(requests, results, strict=True)]

    def _judged(self, request: Request, candidates: Sequence[Evidence]) -> list[Evidence]:
        if not candidates:
            return []
        scores = self.reranker.scores(standalone(request.context).text, [piece.passage.indexed for piece in candidates])
        judged = [
            replace(
                piece,
                relevance=mixed(piece.relevance, score, self._first),
                scores={**piece.scores, "first": piece.relevance, "rerank": score},
            )
            for piece, score in zip(candidates, scores, strict=True)
        ]
        return best(judged, request.k)
