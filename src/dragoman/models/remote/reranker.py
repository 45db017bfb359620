"""Rerankers behind an endpoint: `/rerank` as Cohere, Jina, vLLM and llama.cpp take it, or as TEI does."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from dragoman.core.errors import ConfigError, EndpointError
from dragoman.models.remote.answers import rows, table
from dragoman.models.remote.endpoint import Endpoint, is_url

Shape: TypeAlias = Literal["auto", "cohere", "tei"]


class RemoteReranker:
    """Scores of documents for a query, in [0, 1].

    `shape` is `cohere` for Cohere, Jina, vLLM and llama.cpp, `tei` for text-embeddings-inference; `auto` tries one and,
    where it is refused, the other. Scores outside [0, 1] are taken for log-odds.
    """

    def __init__(
        self,
        *,
        url: str,
        model: str = "",
        key_env: str = "",
        shape: Shape = "auto",
        batch: int = 64,
        characters: int = 8000,
        timeout: float = 60.0,
        deadline: float = 300.0,
        retries: int = 3,
        headers: Mapping[str, str] | None = None,
        transport: object | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not is_url(url) or min(batch, characters) < 1:
            raise ConfigError(
                f"A reranker at '{url}' cannot be used.", remedy="Give a url with http(s)://, batch and characters."
            )
        self._model = model
        self._shape: Shape = shape
        self._batch = batch
        self._most = characters
        self.endpoint = Endpoint(
            url,
            key_env=key_env,
            timeout=timeout,
            deadline=deadline,
            retries=retries,
            concurrency=4,
            headers=headers,
            transport=transport,
            sleep=sleep,
        )

    def scores(self, query: str, documents: Sequence[str]) -> list[float]:
        """The relevance of each document."""
        scores: list[float] = []
        for start in range(0, len(documents), self._batch):
            scores += self._some(query, [text[: self._most] or "." for text in documents[start : start + self._batch]])
        return scores

    def close(self) -> None:
        self.endpoint.close()

    def _some(self, query: str, documents: Sequence[str]) -> list[float]:
        if self._shape != "tei":
            try:
                return self._request_scores(
                    {"query": query, "documents": list(documents)} | self._model_field(), len(documents)
                )
            except EndpointError as error:
                if self._shape == "cohere" or error.fields.get("status") not in (400, 422):
                    raise
        scores = self._request_scores({"query": query, "texts": list(documents), "truncate": True}, len(documents))
        self._shape = "tei"
        return scores

    def _model_field(self) -> dict[str, Any]:
        return {"model": self._model} if self._model else {}

    def _request_scores(self, body: dict[str, Any], count: int) -> list[float]:
        answer = self.endpoint.post_any("/rerank", body)
        entries = rows(answer.get("results", answer.get("data")) if isinstance(answer, dict) else answer)
        scores: dict[int, float] = {}
        for entry in map(table, entries):
            index, score = entry.get("index"), entry.get("relevance_score", entry.get("score"))
            if isinstance(index, int) and isinstance(score, int | float) and abs(score) < 1e6:
                scores[index] = float(score)
        if set(scores) != set(range(count)):
            raise self.endpoint.error(
                f"scored {len(scores)} of {count} documents", "Check that model is a reranker, and url."
            )
        values = [scores[place] for place in range(count)]
        if all(0.0 <= value <= 1.0 for value in values):
            return values
        return [1.0 / (1.0 + math.exp(-max(min(value, 500.0), -500.0))) for value in values]
