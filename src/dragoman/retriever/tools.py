"""Retrieval from tools: a tool is called with the question, and its passages are scored like other evidence.

A tool receives the standalone question, never facts about the user. A tool that fails returns no evidence, and the
trace gets a warning.
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
from dragoman.core.protocols import Encoder, Retriever, warm
from dragoman.core.trace import Found
from dragoman.core.values import Evidence, Passage, Request, Scope, SourceName
from dragoman.retriever.judge import Candidate, by_log_odds, to_evidence
from dragoman.retriever.relevance import Terms
from dragoman.retriever.search import Analyse, SourceSearch, merge_by_relevance, searches
from dragoman.retriever.vectors import query_vectors
from dragoman.sources.tools import Tool
from dragoman.text.query import standalone

_log = logging.getLogger("dragoman.retriever")

ToolAnswer: TypeAlias = tuple[Passage, ...] | EndpointError
KEPT_SECONDS = 30.0
"""Lifetime of a cached answer: planner, retriever and refiner of one turn ask the same question."""
_CACHE_SIZE = 64
_AT_ONCE = 8


@dataclass(slots=True)
class _CachedAnswers:
    """Answers of the tools to one question of one user."""

    at: float
    answers: dict[SourceName, ToolAnswer] = field(default_factory=dict)


class ToolRetriever:
    """Wraps a retriever whose sources may be tools; stored rows of such a source are searched as well."""

    def __init__(
        self, inner: Retriever, tools: Mapping[SourceName, Tool], *, encoder: Encoder, analyse: Analyse
    ) -> None:
        self._inner = inner
        self._tools = dict(tools)
        self._encoder = encoder
        self._analyse = analyse
        self._cache: OrderedDict[tuple[Scope, str], _CachedAnswers] = OrderedDict()
        self._lock = Lock()
        describe: Callable[[Request], str] | None = getattr(inner, "describe", None)
        if describe is not None:
            self.describe = describe
        keeps_texts(self)

    def clear_cache(self) -> None:
        """Drop the cached questions and answers."""
        with self._lock:
            self._cache.clear()

    def warm_up(self) -> None:
        """Load the inner retriever."""
        warm(self._inner)

    def retrieve(self, requests: Sequence[Request]) -> list[Found]:
        rows = self._inner.retrieve(requests)
        answers = self._ask(requests)
        tool_searches = [
            search
            for search in searches(requests, analyse=self._analyse, dependency="off")
            if isinstance(answers[search.nth].get(search.source.name), tuple)
        ]
        evidence = self._judge(tool_searches, answers)
        return [
            Found(_merged(request, rows[nth], evidence.get(nth, {})), _warnings(answers[nth]))
            for nth, request in enumerate(requests)
        ]

    def _ask(self, requests: Sequence[Request]) -> list[dict[SourceName, ToolAnswer]]:
        """Return the answers of each request's tools, and recent errors of other tools at the same question."""
        queries = [standalone(request.context).text for request in requests]
        cached = [self._cached(request.context.scope, query) for request, query in zip(requests, queries, strict=True)]
        calls = {
            (id(entry), source.name): (entry, source.name, query)
            for request, entry, query in zip(requests, cached, queries, strict=True)
            for source in request.sources
            if source.name in self._tools and source.name not in entry.answers
        }
        if len(calls) > 1:
            with ThreadPoolExecutor(min(_AT_ONCE, len(calls)), "dragoman-tools") as pool:
                list(pool.map(self._answer, calls.values()))
        else:
            list(map(self._answer, calls.values()))
        return [
            {
                name: answer
                for name, answer in entry.answers.items()
                if isinstance(answer, EndpointError) or any(source.name == name for source in request.sources)
            }
            for request, entry in zip(requests, cached, strict=True)
        ]

    def _answer(self, call: tuple[_CachedAnswers, SourceName, str]) -> None:
        entry, name, query = call
        try:
            entry.answers[name] = self._tools[name].ask(query)
        except EndpointError as error:
            _log.warning("The tool of the source %s did not answer.", name)
            entry.answers[name] = error

    def _cached(self, scope: Scope, query: str) -> _CachedAnswers:
        now = monotonic()
        with self._lock:
            for key, entry in list(self._cache.items()):
                if entry.at < now - KEPT_SECONDS or len(self._cache) > _CACHE_SIZE:
                    del self._cache[key]
            return self._cache.setdefault((scope, query), _CachedAnswers(now))

    def _judge(
        self, tool_searches: Sequence[SourceSearch], answers: Sequence[Mapping[SourceName, ToolAnswer]]
    ) -> dict[int, dict[SourceName, list[Evidence]]]:
        """Return the tools' passages as evidence, by request and source, best first."""
        passages = [_new(answers[search.nth][search.source.name], search.request) for search in tool_searches]
        texts = list(dict.fromkeys(passage.indexed for rows in passages for passage in rows))
        if not texts:
            return {}
        queries, encoded = query_vectors(self._encoder, tool_searches), self._encoder.encode(texts)
        place = {text: i for i, text in enumerate(texts)}
        evidence: dict[int, dict[SourceName, list[Evidence]]] = {}
        for search, vector, rows in zip(tool_searches, queries, passages, strict=True):
            candidates = [Candidate(row, float(encoded[place[row.indexed]] @ vector)) for row in rows]
            ranked = by_log_odds(to_evidence(search, candidates, self._terms(search, rows), self._analyse))
            evidence.setdefault(search.nth, {})[search.source.name] = ranked
        return evidence

    def _terms(self, search: SourceSearch, rows: Sequence[Passage]) -> Terms:
        """Return the weights of the question's words over the tool's passages, the only rows of its source."""
        frequencies = Counter(token for row in rows for token in set(self._analyse(row.indexed)))
        return Terms.of(search.own, search.carried, len(rows), frequencies)


def _new(answer: ToolAnswer, request: Request) -> list[Passage]:
    return [row for row in answer if row.id not in request.without] if isinstance(answer, tuple) else []


def _warnings(answers: Mapping[SourceName, ToolAnswer]) -> tuple[str, ...]:
    return tuple(f"{name}: {answer.message}" for name, answer in answers.items() if isinstance(answer, EndpointError))


def _merged(
    request: Request, rows: Sequence[Evidence], tool_evidence: Mapping[SourceName, list[Evidence]]
) -> list[Evidence]:
    """Merge stored rows and the tools' passages, at most k per source."""
    if not tool_evidence:
        return list(rows)
    lists = [[row for row in rows if row.source not in tool_evidence]]
    for name, pieces in tool_evidence.items():
        own = [row for row in rows if row.source == name]
        lists.append(merge_by_relevance([own, pieces])[: request.k])
    return merge_by_relevance(lists)
