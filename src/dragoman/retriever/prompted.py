"""Reranking by a prompted language model: relevance scores from 0.0 to 1.0 in tenths.

UniMS-RAG's evaluation tokens without training: relevance is the expected value over the model's probabilities of the
eleven scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from dragoman import prompts
from dragoman.core.protocols import Encoder, LanguageModel, Retriever, Store
from dragoman.core.registry import retrievers
from dragoman.core.values import Evidence, Prompt, Request
from dragoman.retriever.hybrid import HybridRetriever
from dragoman.retriever.search import Analyse, Dependency

SCORES = tuple(f"{tenth / 10:.1f}" for tenth in range(11))


@retrievers.register("prompted.v1")
class PromptedRetriever:
    """Reranks the candidates of `first` (default: hybrid); `candidates` per source go to the model."""

    def __init__(
        self,
        *,
        language_model: LanguageModel,
        store: Store,
        encoder: Encoder,
        analyse: Analyse,
        language: str = "en",
        first: Retriever | None = None,
        dependency: Dependency = "prefer",
        candidates: int = 8,
        turns: int = 3,
    ) -> None:
        self._model = language_model
        self._first: Retriever = first or HybridRetriever(
            store=store, encoder=encoder, analyse=analyse, dependency=dependency
        )
        self._language = language
        self._candidates = candidates
        self._turns = turns

    def retrieve(self, requests: Sequence[Request]) -> list[list[Evidence]]:
        wider = [replace(request, k=max(request.k, self._candidates)) for request in requests]
        candidates = self._first.retrieve(wider)
        relevance_prompts = [
            self._prompt(request, evidence)
            for request, row in zip(requests, candidates, strict=True)
            for evidence in row
        ]
        answers = iter(self._model.choose(relevance_prompts, SCORES) if relevance_prompts else ())
        return [
            best([_scored(evidence, next(answers)) for evidence in row], request.k)
            for request, row in zip(requests, candidates, strict=True)
        ]

    def _prompt(self, request: Request, evidence: Evidence) -> Prompt:
        return prompts.get("relevance.v1", self._language).format(
            dialogue=prompts.dialogue(request.context, self._language, last=self._turns),
            evidence=prompts.evidence([evidence], self._language),
        )


def expected_score(probabilities: Mapping[str, float]) -> float:
    """Return the expected score, clipped to [0, 1] against rounding."""
    total = sum(probabilities.get(score, 0.0) for score in SCORES)
    value = sum(float(score) * probabilities.get(score, 0.0) for score in SCORES)
    return min(1.0, max(0.0, value / total)) if total > 0 else 0.0


def _scored(evidence: Evidence, probabilities: Mapping[str, float]) -> Evidence:
    scores = {**evidence.scores, "first": evidence.relevance}
    return replace(evidence, relevance=expected_score(probabilities), scores=scores)


def best(evidence: list[Evidence], k: int) -> list[Evidence]:
    """Return at most k per source, best first; ties keep the order of the first stage."""
    taken: Counter[str] = Counter()
    top = []
    for piece in sorted(evidence, key=lambda piece: -piece.relevance):
        taken[piece.source] += 1
        if taken[piece.source] <= k:
            top.append(piece)
    return top
