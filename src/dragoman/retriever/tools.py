"""Sources that are tools: asked with the question when they are searched, and judged as any other evidence.

A tool is given the question as it can be understood alone, never what is remembered about the user. One that fails
gives no evidence and a warning in the trace.
"""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import TypeAlias

from dragoman.core.caches import keeps_texts
from dragoman.core.errors import EndpointError
from dragoman.core.protocols import Encoder, Retriever
from dragoman.core.trace import Found
from dragoman.core.values import Evidence, Passage, Request, Scope, SourceName
from dragoman.core.warming import warm
from dragoman.retriever.judge import Candidate, by_log_odds, judged
from dragoman.retriever.relevance import Terms
from dragoman.retriever.search import Analyse, SourceSearch, merge_by_relevance, searches
from dragoman.retriever.vectors import query_vectors
from dragoman.sources.tools import Tool
from dragoman.text.query import standalone

_log = logging.getLogger("dragoman.retriever")

Answer: TypeAlias = tuple[Passage, ...] | EndpointError
KEPT_SECONDS = 30.0
"""How long an answer is kept: planner, retriever and refiner of one turn ask the same."""
_KEPT = 64
_AT_ONCE = 8


@dataclass(slots=True)
class _Asked:
    """What the tools said to one question of one user."""

    at: float
    answers: dict[SourceName, Answer] = field(default_factory=dict)


class ToolRetriever:
    """Another retriever, for whose sources there may be tools; rows that such a source has are searched as well."""

    def __init__(
        self, inner: Retriever, tools: Mapping[SourceName, Tool], *, encoder: Encoder, analyse: Analyse
    ) -> None:
        self._inner = inner
        self._tools = dict(tools)
        self._encoder = encoder
        self._analyse = analyse
        self._asked: OrderedDict[tuple[Scope, str], _Asked] = OrderedDict()
        self._lock = Lock()
        describe: Callable[[Request], str] | None = getattr(inner, "describe", None)
        if describe is not None:
            self.describe = describe
        keeps_texts(self)

    def clear_cache(self) -> None:
        """Let go of what was asked and answered."""
        with self._lock:
            self._asked.clear()

    def warm_up(self) -> None:
        """Load what the other retriever needs."""
        warm(self._inner)

    def retrieve(self, requests: Sequence[Request]) -> list[Found]:
        rows = self._inner.retrieve(requests)
        told = self._ask(requests)
        asked = [
            search
            for search in searches(requests, analyse=self._analyse, dependency="off")
            if isinstance(told[search.nth].get(search.source.name), tuple)
        ]
        found = self._judge(asked, told)
        return [
            Found(_merged(request, rows[nth], found.get(nth, {})), _warnings(told[nth]))
            for nth, request in enumerate(requests)
        ]

    def _ask(self, requests: Sequence[Request]) -> list[dict[SourceName, Answer]]:
        """For each request what its tools say, and what went wrong with others at the same question a moment ago."""
        queries = [standalone(request.context).text for request in requests]
        kept = [self._kept(request.context.scope, query) for request, query in zip(requests, queries, strict=True)]
        wanted = {
            (id(asked), source.name): (asked, source.name, query)
            for request, asked, query in zip(requests, kept, queries, strict=True)
            for source in request.sources
            if source.name in self._tools and source.name not in asked.answers
        }
        if len(wanted) > 1:
            with ThreadPoolExecutor(min(_AT_ONCE, len(wanted)), "dragoman-tools") as pool:
                list(pool.map(self._answer, wanted.values()))
        else:
            list(map(self._answer, wanted.values()))
        return [
            {
                name: answer
                for name, answer in asked.answers.items()
                if isinstance(answer, EndpointError) or any(source.name == name for source in request.sources)
            }
            for request, asked in zip(requests, kept, strict=True)
        ]

    def _answer(self, wanted: tuple[_Asked, SourceName, str]) -> None:
        asked, name, query = wanted
        try:
            asked.answers[name] = self._tools[name].ask(query)
        except EndpointError as error:
            _log.warning("The tool of the source %s did not answer.", name)
            asked.answers[name] = error

    def _kept(self, scope: Scope, query: str) -> _Asked:
        now = monotonic()
        with self._lock:
            for key, asked in list(self._asked.items()):
                if asked.at < now - KEPT_SECONDS or len(self._asked) > _KEPT:
                    del self._asked[key]
            return self._asked.setdefault((scope, query), _Asked(now))

    def _judge(
        self, asked: Sequence[SourceSearch], told: Sequence[Mapping[SourceName, Answer]]
    ) -> dict[int, dict[SourceName, list[Evidence]]]:
        """The passages of the tools as evidence, by the request and the source, best first."""
        passages = [_new(told[search.nth][search.source.name], search.request) for search in asked]
        texts = list(dict.fromkeys(passage.indexed for rows in passages for passage in rows))
        if not texts:
            return {}
        queries, encoded = query_vectors(self._encoder, asked), self._encoder.encode(texts)
        place = {text: i for i, text in enumerate(texts)}
        found: dict[int, dict[SourceName, list[Evidence]]] = {}
        for search, vector, rows in zip(asked, queries, passages, strict=True):
            candidates = [Candidate(row, float(encoded[place[row.indexed]] @ vector)) for row in rows]
            ranked = by_log_odds(judged(search, candidates, self._terms(search, rows), self._analyse))
            found.setdefault(search.nth, {})[search.source.name] = ranked
        return found

    def _terms(self, search: SourceSearch, rows: Sequence[Passage]) -> Terms:
        """The weights of the question's words among what the tool gave, which is all that is known of its source."""
        frequencies = Counter(token for row in rows for token in set(self._analyse(row.indexed)))
        return Terms.of(search.own, search.carried, len(rows), frequencies)


def _new(answer: Answer, request: Request) -> list[Passage]:
    return [row for row in answer if row.id not in request.without] if isinstance(answer, tuple) else []


def _warnings(told: Mapping[SourceName, Answer]) -> tuple[str, ...]:
    return tuple(f"{name}: {answer.message}" for name, answer in told.items() if isinstance(answer, EndpointError))


def _merged(request: Request, rows: Sequence[Evidence], found: Mapping[SourceName, list[Evidence]]) -> list[Evidence]:
    """Rows and the tools' passages together, at most k a source."""
    if not found:
        return list(rows)
    lists = [[row for row in rows if row.source not in found]]
    for name, pieces in found.items():
        own = [row for row in rows if row.source == name]
        lists.append(merge_by_relevance([own, pieces])[: request.k])
    return merge_by_relevance(lists)
