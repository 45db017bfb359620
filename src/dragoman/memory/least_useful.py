"""Which of a user's facts are the least useful, to make room for new ones at the limit."""

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
    """The `count` facts that are missed least, without the ids in `keep`.

    First what holds for the day alone, then statements that no rule placed and single likes, then other facts, and
    last what identifies the user, their health and their home; of the same kind the oldest first.
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
