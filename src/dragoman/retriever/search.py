"""What the retrievers share: a request as one search a source, dependency, and the merging of a step.

Every retriever finds candidates in its own way; scope, `given`, `without`, `k` and the order inside a
joint step are decided here, once.
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
Ask: TypeAlias = Callable[[Sequence[Query]], Sequence[Sequence[Hit]]]
Dependency: TypeAlias = Literal["filter", "query", "prefer", "off"]
Asked: TypeAlias = Literal["standalone", "last", "history", "mix"]
"""What of a dialogue is searched for: the last turn with what it leans on, the last turn alone, all of it, or, by
meaning, a mix of vectors in shares that were learned (the last turn's, the dialogue's, the given evidence's)."""
TOLD = 0.6
"""The relevance from which on a remembered fact becomes part of the search: "where can I eat?", "I'm vegetarian"."""
PREFERENCE = 0.7
"""What being a child of the given evidence adds to a passage's log-odds in the ranking; its relevance stays."""
LIFT = 0.15
"""By which share it raises a passage's raw score, whatever the score is."""


class HasPassage(Protocol):
    """What can be ranked."""

    @property
    def passage(self) -> Passage: ...


C = TypeVar("C", bound=HasPassage)


@dataclass(frozen=True, slots=True)
class SourceSearch:
    """One source of the batch's nth request; `parents` are the ids of the given evidence that it depends on."""

    nth: int
    request: Request
    source: Source
    query: SearchText
    own: tuple[str, ...]
    carried: tuple[str, ...]
    parents: frozenset[str]
    dependency: Dependency
    asked: Asked = "standalone"
    given: str = ""
    """The texts of the given evidence, where dependency asks with them."""

    @property
    def scope(self) -> Scope:
        return self.source.scope(self.request.context.scope)

    @property
    def tokens(self) -> tuple[str, ...]:
        """Every word once."""
        return tuple(dict.fromkeys((*self.own, *self.carried)))

    @property
    def weighted(self) -> tuple[str, ...]:
        """Own words twice beside carried ones: a store counts a repeated token as often as it is there."""
        own = tuple(dict.fromkeys(self.own))
        return (
            (*own, *own, *(token for token in dict.fromkeys(self.carried) if token not in own)) if self.carried else own
        )

    def ask(self, k: int) -> Query:
        """The store query for k candidates, without a vector."""
        return Query(self.scope, self.source.name, k, self.weighted, without=self.request.without)

    def prefers(self, passage: Passage) -> bool:
        return self.dependency == "prefer" and passage.parent in self.parents


def searches(
    requests: Sequence[Request], *, analyse: Analyse, dependency: Dependency, query: Asked = "standalone"
) -> list[SourceSearch]:
    """Each request as one search a source, in order."""
    found = []
    for nth, request in enumerate(requests):
        asked = search_text(request.context, query)
        for source in request.sources:
            given = [evidence for evidence in request.given if evidence.source in source.needs]
            text, joins = asked, dependency == "query" and bool(given)
            if joins and query != "mix":
                joined = " ".join([asked.carried, *(evidence.text for evidence in given)]).strip()
                text = replace(asked, text=f"{joined} {asked.turn}", carried=joined)
            told = " ".join(
                evidence.text for evidence in request.given if source.about == "world" and _is_told(evidence)
            )
            if told:
                joined = f"{text.carried} {told}".strip()
                text = replace(text, text=f"{told} {text.text}", carried=joined)
            parents = frozenset(evidence.id for evidence in given)
            own, carried = analyse(text.turn), analyse(text.carried)
            said = " ".join(evidence.text for evidence in given) if joins else ""
            found.append(SourceSearch(nth, request, source, text, own, carried, parents, dependency, query, said))
    return found


def search_text(context: Context, query: Asked) -> SearchText:
    """What is searched for. A history runs from its last turn back, since an encoder reads the beginning of a text."""
    if query == "standalone":
        return standalone(context)
    lines = [" ".join(turn.text.split()) for turn in reversed(context.turns)]
    if query == "mix":
        alone = standalone(context)
        return SearchText(" ".join(lines), alone.carried, alone.is_follow_up, turn="".join(lines[:1]))
    text = " ".join(lines[:1] if query == "last" else lines)
    return SearchText(text, turn=text)


def _is_told(evidence: Evidence) -> bool:
    """Whether a piece of given evidence is a fact that the user told and that the question rests on."""
    return bool(evidence.passage.meta.get("slot")) and evidence.relevance >= TOLD


def find(ask: Ask, asked: Sequence[SourceSearch], queries: Sequence[Query]) -> list[list[Hit]]:
    """Ask the store once for all searches; where dependency filters, keep children and rows without a parent."""
    filtered = [i for i, search in enumerate(asked) if search.dependency == "filter" and search.parents]
    children = [replace(queries[i], parents=asked[i].parents) for i in filtered]
    answers = [list(hits) for hits in ask([*queries, *children])]
    for i, hits in zip(filtered, answers[len(queries) :], strict=True):
        below = [hit for hit in hits if hit.passage.parent in asked[i].parents]
        if below:
            free = [hit for hit in answers[i] if hit.passage.parent is None]
            answers[i] = sorted((*below, *free), key=lambda hit: -hit.score)
    return answers[: len(queries)]


def preferred(search: SourceSearch, scored: Sequence[tuple[float, C]]) -> list[C]:
    """Candidates by score, best first, the children of the given evidence moved up where dependency prefers."""
    lift = 1.0 + LIFT
    keyed = [
        (score * lift if search.prefers(candidate.passage) and score > 0 else score, candidate)
        for score, candidate in scored
    ]
    return [candidate for _, candidate in sorted(keyed, key=lambda pair: -pair[0])]


def terms_of(store: Store, search: SourceSearch) -> Terms:
    """The weights of a search's words in the source it asks."""
    rows, frequencies = store.frequencies(search.scope, search.source.name, search.tokens)
    return Terms.of(search.own, search.carried, rows, frequencies)


def merged(
    requests: Sequence[Request], found: Sequence[tuple[SourceSearch, Sequence[Evidence]]]
) -> list[list[Evidence]]:
    """The evidence of each request: at most k a source, joint sources merged by relevance."""
    lists: list[list[list[Evidence]]] = [[] for _ in requests]
    for search, evidence in found:
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
