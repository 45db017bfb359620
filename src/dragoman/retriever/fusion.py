"""Reciprocal rank fusion: several rankings as one, by places alone.

score(d) = sum over rankings r of 1 / (c + rank_r(d)), ranks from 1; c = 60 as in Cormack et al. 2009.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def reciprocal_ranks(rankings: Iterable[Sequence[str]], *, constant: int = 60) -> dict[str, float]:
    """The fused score of every id in any of the rankings, best first; a tie keeps the order of appearance."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, key in enumerate(dict.fromkeys(ranking), start=1):
            scores[key] = scores.get(key, 0.0) + 1.0 / (constant + rank)
    return dict(sorted(scores.items(), key=lambda pair: -pair[1]))
