"""Choose the least useful of a user's facts, to make room for new ones at the limit."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.core.values import Fact, Passage
from dragoman.memory.fleeting import NOW
from dragoman.memory.reconcile import fact_of

DROPPED = "dropped"
"""Value of `superseded_by` for a fact dropped at the limit: it stays in history, and no search returns it."""
_LASTING = frozenset(
    "name home job birthday allergy condition diet aid status family pet language 名字 过敏 健康 饮食 住址 工作".split()
)
"""Relations whose facts go last: many replies rest on them."""
_OFTEN = frozenset(("likes", "dislikes", "hobby", "has", "about"))
"""Relations with many values, each of which decides little."""


def least_useful(live: Sequence[Passage], count: int, keep: Sequence[str] = ()) -> list[Passage]:
    """Return the `count` least useful facts, without the ids in `keep`.

    First facts that hold for a day only, then statements found by no rule and single likes, then other facts, and last
    the user's identity, health and home; within a group, the oldest first.
    """
    candidates = [row for row in live if row.id not in set(keep)]
    return sorted(candidates, key=lambda row: (_worth(fact_of(row)), row.meta.get("said_at", ""), row.position))[:count]


def _worth(fact: Fact) -> int:
    relation = fact.relation.rstrip("!")
    if relation.startswith(NOW):
        return 0
    if relation in _OFTEN:
        return 1 if relation == "about" else 2
    return 4 if relation in _LASTING else 3
