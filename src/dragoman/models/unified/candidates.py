"""The candidate passages of a unified model: all of a small source, the best of a large one, parents first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from logging import getLogger

from dragoman.core.protocols import Retriever, Store
from dragoman.core.values import Evidence, Passage, Request, Source, SourceName
from dragoman.models.unified.model import CandidatePassage

log = getLogger(__name__)


def find_candidates(
    requests: Sequence[Request], *, store: Store | None, inner: Retriever | None, pool: int, small: int
) -> list[list[Evidence]]:
    """Return the candidates of each request except `without`: all of a source of at most `small` passages, else, or if
    there is no store, the best `pool` that `inner` finds; without it, the first `pool`.
    """
    hits: list[list[Evidence]] = [[] for _ in requests]
    pending: list[tuple[int, Request]] = []
    for nth, request in enumerate(requests):
        large: list[Source] = []
        for source in request.sources:
            scope = source.scope(request.context.scope)
            if store is None or (inner is not None and store.count(scope, source.name) > small):
                large.append(source)
                continue
            rows = (row for row in store.passages(scope, source.name) if row.id not in request.without)
            most = small if inner is not None else max(pool, small)
            hits[nth] += [Evidence(row, 0.0) for row in islice(rows, most)]
            if next(rows, None) is not None:
                _tell(source.name, most)
        if large:
            pending.append((nth, replace(request, sources=tuple(large), k=max(request.k, pool))))
    if pending and inner is not None:
        answers = inner.retrieve([request for _, request in pending])
        for (nth, _), evidence in zip(pending, answers, strict=True):
            hits[nth] += [replace(piece, scores={**piece.scores, "first": piece.relevance}) for piece in evidence]
    return hits


@cache
def _tell(source: SourceName, most: int) -> None:
    """Log once that passages are left out."""
    log.warning("Of %s only the first %d passages are judged: set an inner retriever.", source, most)


def parents_first(passages: Iterable[Passage]) -> list[Passage]:
    """Distinct passages in the given order, except that a parent stands before its children."""
    by_id = {passage.id: passage for passage in passages}
    done: dict[str, Passage] = {}

    def put(passage: Passage, above: frozenset[str]) -> None:
        parent = by_id.get(passage.parent or "")
        if parent is not None and parent.id not in above and parent.id not in done:
            put(parent, above | {passage.id})
        done.setdefault(passage.id, passage)

    for passage in by_id.values():
        put(passage, frozenset())
    return list(done.values())


def passage_text(passage: Passage) -> str:
    """Return the text of a passage as a unified model reads it, in training and in use: title, if any, and text."""
    return passage.indexed


def candidates(passages: Sequence[Passage]) -> tuple[CandidatePassage, ...]:
    """Ordered passages as candidates; `parent` refers to a passage earlier in the list."""
    places: dict[str, int] = {}
    rows = []
    for place, passage in enumerate(passages):
        rows.append(CandidatePassage(passage.source, passage_text(passage), places.get(passage.parent or "")))
        places[passage.id] = place
    return tuple(rows)


def parents(
    passages: Sequence[Passage], candidates_by_id: Mapping[str, Passage], request: Request, store: Store | None
) -> list[Passage]:
    """The distinct parents of passages: from `given`, by id, else from the store."""
    ids = list(dict.fromkeys(passage.parent for passage in passages if passage.parent))
    missing = [one for one in ids if one not in candidates_by_id]
    by_id = dict(candidates_by_id)
    if store is not None and missing:
        for scope in dict.fromkeys((request.context.scope, request.context.scope.shared)):
            rows = store.get(scope, missing)
            by_id |= {row.id: row for row in rows if row is not None and row.id not in by_id}
    return [by_id[one] for one in ids if one in by_id]
