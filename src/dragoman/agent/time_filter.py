"""Search by time: limit a plan to a period, date documents by their files, and put the newest first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo

from dragoman.core.protocols import Retriever
from dragoman.core.trace import Found
from dragoman.core.values import Context, Evidence, Passage, Plan, Request, Scope, Source, SourceName
from dragoman.planner.period import with_period
from dragoman.reader.recency import asks_for_newest

_WIDER = 4
"""How many times as many passages are searched where the newest, or those of a period, are chosen from them."""
_COMPARABLE = 0.6
"""Share of the best relevance from which on the newer of two passages comes first."""


def _utc(_: Scope) -> tzinfo:
    return UTC


@dataclass(frozen=True, slots=True)
class TimeFilter:
    """Applies the period that a question or its caller asks for.

    `date_of` gives the day of a passage, by its file if need be; `zone_of` gives the time zone of a user.
    """

    sources: Mapping[SourceName, Source]
    date_of: Callable[[Scope, Passage], str] | None = None
    zone_of: Callable[[Scope], tzinfo] = field(default=_utc)

    def planned(self, plan: Plan, context: Context) -> Plan:
        """A plan with its period, and with the preference for the latest; its reason says so."""
        if plan.is_null:
            return plan
        timed = with_period(plan, context, self.zone_of(context.scope)) if _may_be_timed(context) else plan
        if self.date_of is not None and asks_for_newest(context.last):
            timed = replace(timed, latest=True)
        if timed is plan:
            return plan
        notes = [f"only what is dated {timed.period}" if timed.period else "", "newest first" if timed.latest else ""]
        return replace(timed, reason="; ".join(filter(None, (plan.reason, *notes))))

    def retrieve(self, retriever: Retriever, requests: Sequence[Request], plans: Sequence[Plan]) -> list[Found]:
        """The evidence of each request within its period, the newest first where that is wanted."""
        filtered = [self._request(request, plan) for request, plan in zip(requests, plans, strict=True)]
        results = [Found(evidence, getattr(evidence, "warnings", ())) for evidence in retriever.retrieve(filtered)]
        for nth, (request, plan) in enumerate(zip(requests, plans, strict=True)):
            if plan.period and self.date_of is not None and not self._has_documents(results[nth]):
                results[nth] = self._by_file_time(retriever, request, plan, results[nth])
            if plan.latest:
                results[nth] = self._newest_first(request, results[nth])
        return results

    def _request(self, request: Request, plan: Plan) -> Request:
        k = _WIDER * request.k if plan.latest and self._searches_documents(request) else request.k
        return replace(request, k=k, since=plan.since, until=plan.until) if plan.latest or plan.period else request

    def _searches_documents(self, request: Request) -> bool:
        return any(source.about == "world" for source in request.sources)

    def _has_documents(self, retrieval: Found) -> bool:
        return any(self._is_document(piece) for piece in retrieval)

    def _is_document(self, piece: Evidence) -> bool:
        source = self.sources.get(piece.source)
        return source is not None and source.about == "world"

    def _by_file_time(self, retriever: Retriever, request: Request, plan: Plan, retrieval: Found) -> Found:
        """Add documents without a date whose files' time lies in the period."""
        worlds = tuple(source for source in request.sources if source.about == "world")
        if not worlds:
            return retrieval
        wider = replace(request, sources=worlds, k=_WIDER * request.k)
        pieces = [
            piece
            for piece in retriever.retrieve([wider])[0]
            if self._is_document(piece) and _is_within(self._day(request.context, piece), plan)
        ][: request.k]
        nothing = () if pieces else (f"No document is dated {plan.period}.",)
        return Found([*retrieval, *pieces], (*retrieval.warnings, *nothing))

    def _newest_first(self, request: Request, retrieval: Found) -> Found:
        documents = [piece for piece in retrieval if self._is_document(piece)]
        if len(documents) < 2:
            return retrieval
        least = _COMPARABLE * max(piece.relevance for piece in documents)
        days = {piece.id: self._day(request.context, piece) for piece in documents if piece.relevance >= least}
        newest = sorted((p for p in documents if p.id in days), key=lambda piece: days[piece.id], reverse=True)
        others = [piece for piece in documents if piece.id not in days]
        facts = [piece for piece in retrieval if not self._is_document(piece)]
        return Found([*facts[: request.k], *[*newest, *others][: request.k]], retrieval.warnings)

    def _day(self, context: Context, piece: Evidence) -> str:
        assert self.date_of is not None
        return self.date_of(self.sources[piece.source].scope(context.scope), piece.passage)


def _may_be_timed(context: Context) -> bool:
    return context.recollection is None


def _is_within(day: str, plan: Plan) -> bool:
    return bool(day) and plan.since <= day and (not plan.until or day < plan.until)
