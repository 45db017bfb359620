"""Shared steps of the retrievers: requests as one search per source, dependency between sources, merging.

Retrievers differ in how they find candidates; scope, `given`, `without`, `k` and the order inside a joint step are
handled here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias, TypeVar

from dragoman.core.protocols import Store
from dragoman.core.values import Context, Evidence, Hit, Passage, Query, Request, Scope, Source
from dragoman.retriever.relevance import Terms
from dragoman.text.query import SearchText, standalone

Analyse: TypeAlias = Callable[[str], tuple[str, ...]]
StoreSearch: TypeAlias = Callable[[Sequence[Query]], Sequence[Sequence[Hit]]]
Dependency: TypeAlias = Literal["filter", "query", "prefer", "off"]
QueryKind: TypeAlias = Literal["standalone", "last", "history", "mix"]
"""Query text: the last turn with the context it refers to, the last turn alone, the whole dialogue, or, in vector
search, a learned mix of the vectors of last turn, dialogue and given evidence."""
TOLD = 0.6
"""Least relevance at which a remembered fact joins the query: "where can I eat?" with "I'm vegetarian"."""
PREFERENCE = 0.7
"""Log-odds that a child of the given evidence gains in the ranking; its relevance does not change."""
LIFT = 0.15
"""Share by which the raw score of such a child is raised."""


class HasPassage(Protocol):
    """Anything that carries a passage and can be ranked."""

    @property
    def passage(self) -> Passage: ...


C = TypeVar("C", bound=HasPassage)


@dataclass(frozen=True, slots=True)
class SourceSearch:
    """Search of one source for the batch's nth request; `parents` are the ids of the evidence that it depends on."""

    nth: int
    request: Request
    source: Source
    query: SearchText
    own: tuple[str, ...]
    carried: tuple[str, ...]
    parents: frozenset[str]
    dependency: Dependency
    asked: QueryKind = "standalone"
    given: str = ""
    """Texts of the given evidence if the dependency adds them to the query."""

    @property
    def scope(self) -> Scope:
        return self.source.scope(self.request.context.scope)

    @property
    def tokens(self) -> tuple[str, ...]:
        """Distinct words of the query."""
        return tuple(dict.fromkeys((*self.own, *self.carried)))

    @property
    def weighted(self) -> tuple[str, ...]:
        """Query tokens with own words twice if there are carried ones: stores weigh a token by its count."""
        own = tuple(dict.fromkeys(self.own))
        return (
            (*own, *own, *(token for token in dict.fromkeys(self.carried) if token not in own)) if self.carried else own
        )

    def ask(self, k: int) -> Query:
        """Return the store query for k candidates, without a vector."""
        since, until = self.request.period_of(self.source)
        without = self.request.without
        return Query(self.scope, self.source.name, k, self.weighted, without=without, since=since, until=until)

    def prefers(self, passage: Passage) -> bool:
        return self.dependency == "prefer" and passage.parent in self.parents


def searches(
    requests: Sequence[Request], *, analyse: Analyse, dependency: Dependency, query: QueryKind = "standalone"
) -> list[SourceSearch]:
    """Split each request into one search per source, in order."""
    source_searches = []
    for nth, request in enumerate(requests):
        question = search_text(request.context, query)
        for source in request.sources:
            parents_evidence = [evidence for evidence in request.given if evidence.source in source.needs]
            text, joins = question, dependency == "query" and bool(parents_evidence)
            if joins and query != "mix":
                joined = " ".join([question.carried, *(evidence.text for evidence in parents_evidence)]).strip()
                text = replace(question, text=f"{joined} {question.turn}", carried=joined)
            facts = " ".join(
                evidence.text for evidence in request.given if source.about == "world" and _is_told(evidence)
            )
            if facts:
                joined = f"{text.carried} {facts}".strip()
                text = replace(text, text=f"{facts} {text.text}", carried=joined)
            parents = frozenset(evidence.id for evidence in parents_evidence)
            own, carried = analyse(text.turn), analyse(text.carried)
            given_texts = " ".join(evidence.text for evidence in parents_evidence) if joins else ""
            source_searches.append(
                SourceSearch(nth, request, source, text, own, carried, parents, dependency, query, given_texts)
            )
    return source_searches


def search_text(context: Context, query: QueryKind) -> SearchText:
    """Return the query text. A history starts with the newest turn, since encoders truncate the end of a text."""
    if query == "standalone":
        return standalone(context)
    lines = [" ".join(turn.text.split()) for turn in reversed(context.turns)]
    if query == "mix":
        alone = standalone(context)
        return SearchText(" ".join(lines), alone.carried, alone.is_follow_up, turn="".join(lines[:1]))
    text = " ".join(lines[:1] if query == "last" else lines)
    return SearchText(text, turn=text)


def _is_told(evidence: Evidence) -> bool:
    """Whether a piece of given evidence is a remembered fact that is relevant to the question."""
    return bool(evidence.passage.meta.get("slot")) and evidence.relevance >= TOLD


def find(
    store_search: StoreSearch, source_searches: Sequence[SourceSearch], queries: Sequence[Query]
) -> list[list[Hit]]:
    """Search the store once for all searches; dependency "filter" keeps children and rows without a parent."""
    filtered = [i for i, search in enumerate(source_searches) if search.dependency == "filter" and search.parents]
    children = [replace(queries[i], parents=source_searches[i].parents) for i in filtered]
    answers = [list(hits) for hits in store_search([*queries, *children])]
    for i, hits in zip(filtered, answers[len(queries) :], strict=True):
        below = [hit for hit in hits if hit.passage.parent in source_searches[i].parents]
        if below:
            free = [hit for hit in answers[i] if hit.passage.parent is None]
            answers[i] = sorted((*below, *free), key=lambda hit: -hit.score)
    return answers[: len(queries)]


def sort_candidates(search: SourceSearch, scored: Sequence[tuple[float, C]]) -> list[C]:
    """Sort candidates by score, best first; dependency "prefer" raises children of the given evidence."""
    lift = 1.0 + LIFT
    keyed = [
        (score * lift if search.prefers(candidate.passage) and score > 0 else score, candidate)
        for score, candidate in scored
    ]
    return [candidate for _, candidate in sorted(keyed, key=lambda pair: -pair[0])]


def terms_of(store: Store, search: SourceSearch) -> Terms:
    """Return the weights of a search's words in its source."""
    rows, frequencies = store.frequencies(search.scope, search.source.name, search.tokens)
    return Terms.of(search.own, search.carried, rows, frequencies)


def merge_evidence(
    requests: Sequence[Request], ranked_searches: Sequence[tuple[SourceSearch, Sequence[Evidence]]]
) -> list[list[Evidence]]:
    """Return the evidence of each request: at most k per source, joint sources merged by relevance."""
    lists: list[list[list[Evidence]]] = [[] for _ in requests]
    for search, evidence in ranked_searches:
        lists[search.nth].append(list(evidence[: search.request.k]))
    return [merge_by_relevance(ranked) for ranked in lists]


def merge_by_relevance(lists: Sequence[Sequence[Evidence]]) -> list[Evidence]:
    """Merge ranked lists by relevance without breaking the order inside any of them."""
    merged: list[Evidence] = []
    heads = [0] * len(lists)
    while True:
        open_lists = [i for i, ranked in enumerate(lists) if heads[i] < len(ranked)]
        if not open_lists:
            return merged
        best = max(open_lists, key=lambda i: lists[i][heads[i]].relevance)
        merged.append(lists[best][heads[best]])
        heads[best] += 1
