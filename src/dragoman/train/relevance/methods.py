"""UniMS-RAG's labelling methods without a trained model: hard labels, TF-IDF and BM25.

Every method is one small class; trained parts are in `by_retriever.py`, language models in `by_language_model.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from dragoman.core.codec import Json
from dragoman.core.errors import InputError, ModelError
from dragoman.retriever.ranking import Okapi, TfIdf
from dragoman.retriever.search import search_text
from dragoman.text.cutting import Cut, cut
from dragoman.train.relevance.candidate_pools import CandidatePool

TENTHS = tuple(step / 10 for step in range(11))
Query: TypeAlias = Literal["standalone", "last", "history"]
_SLACK = 1e-6
"""Tolerance of rounding outside of [0, 1]."""


@dataclass(frozen=True, slots=True)
class Unanswered:
    """Failure of a method on a pool, with its reason."""

    why: str


Judged: TypeAlias = Sequence[float] | Unanswered


class RelevanceMethod(Protocol):
    """Labelling method: a relevance in [0, 1] for each candidate of a pool, in order, not rounded."""

    @property
    def about(self) -> Mapping[str, Json]:
        """Description in label files: name, version, settings, model. Equal descriptions give equal labels."""
        ...

    def judge(self, pools: Sequence[CandidatePool]) -> Sequence[Judged]: ...


def tenth(relevance: float) -> float:
    """Round to tenths; halves round up."""
    if not -_SLACK <= relevance <= 1 + _SLACK:  # not a number is not in it either
        raise ModelError(f"A relevance is {relevance}, not between 0 and 1.", remedy="Check the model or part.")
    return TENTHS[min(10, max(0, math.floor(relevance * 10 + 0.5)))]


class HardLabels:
    """Hard labels: 1 for gold evidence, 0 for other candidates."""

    @property
    def about(self) -> Mapping[str, Json]:
        return {"method": "hard", "version": 1}

    def judge(self, pools: Sequence[CandidatePool]) -> list[Judged]:
        return [self._judged(pool) for pool in pools]

    def _judged(self, pool: CandidatePool) -> list[float]:
        gold = pool.gold
        if gold is None:
            raise InputError(
                f"The turn '{pool.example.id}' does not say which evidence is right.",
                remedy="Hard labels need `evidence` in every turn: choose another --how.",
            )
        return [float(passage.id in gold) for passage in pool.candidates]


class LexicalLabels:
    """TF-IDF: the cosine. BM25: the share of the pool's best score.

    Rarity is counted among the pool's candidates, as in the papers' protocol (`retriever.okapi`). A BM25 score is a sum
    over the words of the query, so that scores of two turns cannot be compared, and no bound is known that any
    candidate comes near. Divided by the best of its pool, it says how a candidate stands among those it competes with,
    and zero stays zero: what shares no telling word with the query is not relevant, however bad the others are. The
    price: where anything matches at all, the best one gets 1.0, right or not.
    """

    def __init__(self, weighting: Literal["tfidf", "bm25"], *, language: str, query: Query = "standalone") -> None:
        self._weighting = weighting
        self._query: Query = query
        self._cut: Cut = "jieba" if language.lower().partition("-")[0] == "zh" else "words"

    @property
    def about(self) -> Mapping[str, Json]:
        return {"method": self._weighting, "version": 1, "query": self._query, "cut": self._cut}

    def judge(self, pools: Sequence[CandidatePool]) -> list[Judged]:
        return [self._judged(pool) for pool in pools]

    def _judged(self, pool: CandidatePool) -> list[float]:
        rows = [cut(passage.indexed, self._cut) for passage in pool.candidates]
        query = cut(search_text(pool.example.context, self._query).text, self._cut)
        return TfIdf(rows).scores(query) if self._weighting == "tfidf" else shares(Okapi(rows).scores(query))


def shares(scores: Sequence[float]) -> list[float]:
    """Divide scores by the best one; negative ones are 0, as are all if none is positive."""
    best = max(scores, default=0.0)
    return [max(0.0, score) / best if best > 0 else 0.0 for score in scores]
