"""Which facts of a user fit a query best: by meaning and by words together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dragoman.core.protocols import Encoder, Store
from dragoman.core.values import Hit, Passage, Query, Scope, SourceName

_WORDS = 0.1
"""How much the best match by words adds to a cosine (`benchmarks/memory_recall.py`)."""
_LEAST = 20
"""How many facts each of the two searches proposes at least."""


def best_facts(
    store: Store,
    query: str,
    *,
    encoder: Encoder,
    analyse: Callable[[str], tuple[str, ...]],
    scope: Scope,
    source: SourceName,
    k: int,
    since: str = "",
    until: str = "",
) -> tuple[Passage, ...]:
    """The k facts that fit best, best first; with `since` and `until` only those that were told in between."""
    vector = [float(x) for x in encoder.encode([query])[0]]
    tokens = analyse(query)
    most, everything = max(k, _LEAST), store.count(scope, source)
    while True:
        near = store.nearest([Query(scope, source, most, vector=vector)])[0]
        lexical = store.lexical([Query(scope, source, most, tokens=tokens)])[0]
        ranked = [row for row in _ranked(near, lexical) if is_told_within(row, since, until)]
        if len(ranked) >= k or most >= everything or not (since or until):
            return tuple(ranked[:k])
        most *= 4  # few of the best were told in the period


def _ranked(near: Sequence[Hit], lexical: Sequence[Hit]) -> list[Passage]:
    highest = max((hit.score for hit in lexical), default=0.0) or 1.0
    scores = {hit.passage.id: hit.score for hit in near}
    passages = {hit.passage.id: hit.passage for hit in (*near, *lexical)}
    for hit in lexical:
        scores[hit.passage.id] = scores.get(hit.passage.id, 0.0) + _WORDS * hit.score / highest
    return sorted(passages.values(), key=lambda row: -scores[row.id])


def is_told_within(row: Passage, since: str, until: str) -> bool:
    """Whether a row was told from one moment on and before another; "" is no bound, and no date is in no period."""
    told = row.meta.get("said_at", "")
    return not (since or until) or (bool(told) and since <= told and (not until or told < until))
