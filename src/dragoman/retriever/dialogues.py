"""Retrieval from the user's past dialogues: their turns are the passages, with dates and speakers.

A time in the question ("last week") limits the turns. The current dialogue is left out, since the agent reads it
anyway. With `memory = "off"` nothing is returned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from dragoman.core.clock import moment_of, now, stamp, zone_of
from dragoman.core.protocols import Encoder, Retriever, warm
from dragoman.core.trace import Found
from dragoman.core.values import Evidence, Passage, Request, SourceName
from dragoman.decision.times import find_periods
from dragoman.retriever.judge import Candidate, by_log_odds, to_evidence
from dragoman.retriever.relevance import Terms
from dragoman.retriever.search import Analyse, SourceSearch, merge_by_relevance, searches
from dragoman.retriever.vectors import query_vectors
from dragoman.stores.dialogue_search import DialogueQuery, DialogueSearch
from dragoman.text.language import language

_CANDIDATES = 12
_MONTHS = "January February March April May June July August September October November December".split()


class DialogueRetriever:
    """Wraps a retriever; the sources in `names` are the user's past dialogues."""

    def __init__(
        self,
        inner: Retriever,
        names: Collection[SourceName],
        *,
        search: DialogueSearch,
        encoder: Encoder,
        analyse: Analyse,
        time_zone: str = "",
    ) -> None:
        self._inner, self._names, self._search = inner, frozenset(names), search
        self._encoder, self._analyse, self._zone = encoder, analyse, zone_of(time_zone)
        describe: Callable[[Request], str] | None = getattr(inner, "describe", None)
        if describe is not None:
            self.describe = describe

    def warm_up(self) -> None:
        """Load the inner retriever."""
        warm(self._inner)

    def retrieve(self, requests: Sequence[Request]) -> list[Sequence[Evidence]]:
        results: list[Sequence[Evidence]] = list(self._inner.retrieve(requests))
        for search in searches(requests, analyse=self._analyse, dependency="off"):
            control = search.request.context.control
            if search.source.name in self._names and control.memory != "off" and control.allows(search.source):
                evidence = results[search.nth]
                merged = merge_by_relevance([list(evidence), self._turns(search)])
                results[search.nth] = Found(merged, getattr(evidence, "warnings", ()))
        return results

    def _turns(self, search: SourceSearch) -> list[Evidence]:
        """Return the turns that match a request, scored like passages of other sources."""
        context = search.request.context
        at = moment_of(context.said_at) or now()
        period = next((each for each in find_periods(context.last, at, self._zone) if each.start), None)
        since = stamp(period.start) if period and period.start and period.start <= at else ""
        until = stamp(period.end) if since and period and period.end else ""
        if context.control.since or context.control.until:
            since, until = context.control.since, context.control.until
        query = DialogueQuery(context.last, 4 * _CANDIDATES, since, until)
        rows = [
            _titled(replace(hit.passage, source=search.source.name))
            for hit in self._search.search(context.scope, query)
            if hit.passage.meta["dialogue"] != context.dialogue and hit.id not in search.request.without
        ][:_CANDIDATES]
        if not rows:
            return []
        vector = query_vectors(self._encoder, [search])[0]
        encoded = self._encoder.encode([row.text for row in rows])
        candidates = [Candidate(row, float(other @ vector)) for row, other in zip(rows, encoded, strict=True)]
        frequencies = Counter(token for row in rows for token in set(self._analyse(row.text)))
        terms = Terms.of(search.own, search.carried, len(rows), frequencies)
        return by_log_odds(to_evidence(search, candidates, terms, self._analyse))[: search.request.k]


def _titled(row: Passage) -> Passage:
    """A turn with a title that says whose words they are, and when they were said."""
    year, _, rest = row.meta.get("date", "").partition("-")
    month, _, day = rest.partition("-")
    agent = row.meta["speaker"] == "agent"
    if language(row.text) == "zh":
        return replace(row, title=f"{year}年{int(month)}月{int(day)}日的对话" if day else "以前的对话")
    whose = "My reply" if agent else "Your message"
    return replace(row, title=f"{whose} of {int(day)} {_MONTHS[int(month) - 1]} {year}" if day else whose)
