"""The best rows of many shards, without asking each of them for as many as all together are to give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

Ranked: TypeAlias = list[tuple[float, int]]
"""Ranks, the lowest first, and keys."""


def merged(asks: Sequence[Callable[[int], Ranked]], n: int, *, first: int) -> Ranked:
    """The n lowest of all; each is asked for its `first` lowest, and for n where even the last of them is one."""
    first = min(first, n)
    found = [ask(first) for ask in asks]
    best = sorted(row for mine in found for row in mine)[:n]
    if first < n:
        full = [i for i, mine in enumerate(found) if len(mine) == first and (len(best) < n or mine[-1] <= best[-1])]
        for i in full:
            found[i] = asks[i](n)
        if full:
            best = sorted(row for mine in found for row in mine)[:n]
    return best
