"""Okapi BM25 as in the papers: the whole dialogue as query, idf over the turn's own candidates.

A deliberately weak baseline: SAFARI Table 5 and UniMS-RAG Table IV compare with it. Candidates keep their spaces. For
lexical search in use see `retriever.sparse`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import Literal

from dragoman.core.errors import ConfigError
from dragoman.core.protocols import Store
from dragoman.core.registry import retrievers
from dragoman.core.values import SHARED_USER, Context, Evidence, Passage, Request, Scope, Source
from dragoman.retriever.ranking import Okapi, TfIdf, Weighting
from dragoman.retriever.search import merge_by_relevance
from dragoman.text.cutting import Cut, cut

LABELS = ("用户：", "系统：")
_SHARED_POOLS = 16


class _Pool:
    """Candidates of a search with their term weights."""

    def __init__(
        self, rows: tuple[Passage, ...], weigh: Callable[[Sequence[Sequence[str]]], Weighting], cut_by: Cut
    ) -> None:
        self.rows = rows
        self.weighting = weigh([cut(row.indexed, cut_by) for row in rows])


@retrievers.register("okapi.v1")
class OkapiRetriever:
    """Retriever that always returns k candidates, even if they share no word with the query.

    The query is the turns of the dialogue, each after its speaker's label (`labels`: user's and agent's). A dependent
    source searches the children of the given evidence and rows without a parent (`filter`; all rows if there are no
    children), or all rows with the given texts at the end of the query (`query`), or all rows (`off`). Ties go to the
    last candidate, as in a reversed ascending sort.

    Relevance grows with the score: for BM25 it is the score's share of the query's upper bound, at least 0; for TF-IDF
    the cosine.
    """

    def __init__(
        self,
        *,
        store: Store,
        dependency: Literal["filter", "query", "off"] = "filter",
        labels: tuple[str, str] = LABELS,
        cut: Cut = "jieba",
        weighting: Literal["bm25", "tfidf"] = "bm25",
        k1: float = 1.5,
        b: float = 0.75,
        epsilon: float = 0.25,
    ) -> None:
        if k1 < 0 or not 0 <= b <= 1:
            raise ConfigError(f"retriever.okapi: k1 = {k1} and b = {b}.", remedy="k1 is not negative, b is in [0, 1].")
        self._store = store
        self._dependency = dependency
        self._labels = labels
        self._cut: Cut = cut
        self._weighting = weighting
        self._weigh = partial(Okapi, k1=k1, b=b, epsilon=epsilon) if weighting == "bm25" else TfIdf
        self._shared: OrderedDict[tuple[Scope, str, frozenset[str]], _Pool] = OrderedDict()
        self._lock = Lock()

    def retrieve(self, requests: Sequence[Request]) -> list[list[Evidence]]:
        rows: dict[tuple[Scope, str], tuple[Passage, ...]] = {}
        pools: dict[tuple[Scope, str, frozenset[str]], _Pool] = {}
        return [
            merge_by_relevance(
                [self._ranked(request, source, self._pool(request, source, rows, pools)) for source in request.sources]
            )
            for request in requests
        ]

    def describe(self, request: Request) -> str:
        """Return the query; if sources have different ones, each under its source's name."""
        queries = {source.name: "".join(self._query(request, source)).strip() for source in request.sources}
        if len(set(queries.values())) == 1:
            return next(iter(queries.values()))
        return "\n".join(f"{name}: {query}" for name, query in queries.items())

    def _query(self, request: Request, source: Source) -> list[str]:
        """Return the query in pieces that end in white space, so that each turn is tokenised once per dialogue."""
        pieces = [*_lines(request.context, self._labels)]
        if self._dependency == "query":
            texts = [piece.text for piece in _needed_evidence(request, source)]
            pieces += [text.replace(" ", "") if self._cut == "jieba" else f"{text} " for text in texts]
        return pieces

    def _pool(
        self,
        request: Request,
        source: Source,
        read: dict[tuple[Scope, str], tuple[Passage, ...]],
        pools: dict[tuple[Scope, str, frozenset[str]], _Pool],
    ) -> _Pool:
        """Return the candidates of a source for a request; rows are read once per call, so they are never stale.

        Pools of shared rows are cached between calls while their rows are unchanged. Pools of users are not, so that no
        deleted text stays in memory.
        """
        scope = source.scope(request.context.scope)
        if (scope, source.name) not in read:
            read[scope, source.name] = tuple(self._store.passages(scope, source.name))
        parents = (
            frozenset(piece.id for piece in _needed_evidence(request, source)) if self._dependency == "filter" else None
        )
        key = (scope, source.name, parents or frozenset())
        if key not in pools:
            rows = read[scope, source.name]
            if parents and any(row.parent in parents for row in rows):
                rows = tuple(row for row in rows if row.parent is None or row.parent in parents)
            pools[key] = (
                self._cached_pool(key, rows) if scope.user == SHARED_USER else _Pool(rows, self._weigh, self._cut)
            )
        return pools[key]

    def _cached_pool(self, key: tuple[Scope, str, frozenset[str]], rows: tuple[Passage, ...]) -> _Pool:
        with self._lock:
            pool = self._shared.pop(key, None)
        if pool is None or pool.rows != rows:
            pool = _Pool(rows, self._weigh, self._cut)
        with self._lock:
            self._shared[key] = pool
            while len(self._shared) > _SHARED_POOLS:
                self._shared.popitem(last=False)
        return pool

    def _ranked(self, request: Request, source: Source, pool: _Pool) -> list[Evidence]:
        query = [token for piece in self._query(request, source) for token in cut(piece, self._cut)]
        scores, most = pool.weighting.scores(query), pool.weighting.most(query)
        order = sorted(range(len(scores) - 1, -1, -1), key=lambda i: -scores[i])  # stable: ties go to the last
        open_places = [i for i in order if pool.rows[i].id not in request.without]
        return [
            Evidence(pool.rows[i], _share(scores[i], most), {self._weighting: scores[i]})
            for i in open_places[: request.k]
        ]


def _lines(context: Context, labels: tuple[str, str]) -> list[str]:
    """Return each turn after its label, with line breaks as spaces and one space at the end."""
    return [
        f"{labels[0] if turn.speaker == 'user' else labels[1]}{turn.text}\n".replace("\n", " ")
        for turn in context.turns
    ]


def _needed_evidence(request: Request, source: Source) -> list[Evidence]:
    """Return the evidence of earlier steps that a source depends on."""
    return [piece for piece in request.given if piece.source in source.needs]


def _share(score: float, most: float) -> float:
    return min(1.0, max(0.0, score / most)) if most > 0 else 0.0
