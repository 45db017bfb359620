"""DSPy: an agent's sources as a retriever, to be called in a program or set as `dspy.configure(rm=...)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dspy

from dragoman.agent.assistant import Assistant
from dragoman.integrations import common


class DragomanRetriever(dspy.Retrieve):
    """The best passages of an agent's sources: `retriever("When does the ferry leave?").passages`."""

    def __init__(
        self,
        assistant: Assistant,
        *,
        user: str = common.DEFAULT_USER,
        sources: Sequence[str] | None = None,
        k: int = 4,
    ) -> None:
        super().__init__(k=k)
        self._assistant = assistant
        self._user = user
        self._sources = sources

    def forward(self, query: str, k: int | None = None, **options: Any) -> dspy.Prediction:
        """The passages for a query as a prediction, with the relevance and the origin of each."""
        hits = common.search(
            self._assistant, query, user=self._user, sources=self._sources, k=self.k if k is None else k
        )
        return dspy.Prediction(
            passages=[hit.passage.text for hit in hits],
            scores=[hit.relevance for hit in hits],
            origins=[hit.passage.origin for hit in hits],
        )
