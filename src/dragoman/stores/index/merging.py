"""Merge the best rows of many shards without fetching n rows from each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

Ranked: TypeAlias = list[tuple[float, int]]
"""Pairs of rank and key, lowest rank first."""


def merged(asks: Sequence[Callable[[int], Ranked]], n: int, *, first: int) -> Ranked:
    """The n lowest of all shards: fetch the `first` lowest of each, and n where all of those are among the result."""
    first = min(first, n)
    lists = [ask(first) for ask in asks]
    best = sorted(row for mine in lists for row in mine)[:n]
    if first < n:
        full = [i for i, mine in enumerate(lists) if len(mine) == first and (len(best) < n or mine[-1] <= best[-1])]
        for i in full:
            lists[i] = asks[i](n)
        if full:
            best = sorted(row for mine in lists for row in mine)[:n]
    return best
