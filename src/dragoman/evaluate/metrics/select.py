"""Filter of the turns that a metric counts: by gold plan, gold source, domain, position or gate label.

In an experiment it is the table `where` of a column, as in `where = {plan = ["PERSONA"], position = [0, 2]}`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.core.examples import Example, Label
from dragoman.evaluate.contract import About, Judged, Metric, Scores

if TYPE_CHECKING:
    from dragoman.evaluate.contract import Floats

_NEEDS: dict[str, Label | None] = {
    "plan": "plan",
    "gold_source": "plan",
    "retrieve": "retrieve",
    "domain": None,
    "position": None,
}


def matches(example: Example, where: Mapping[str, object]) -> bool:
    """Whether a turn fulfils every condition. A label that the turn lacks fulfils none.

    `plan`: the gold plan asks exactly these sources, [] for NULL. `gold_source`: it asks this one, or all of these.
    `domain`: this one, or one of these. `position`: this one, or from the first to the last of two. `retrieve`: the
    gate's label.
    """
    check_where(where)
    return _matches(example, where)


def check_where(where: Mapping[str, object]) -> None:
    """Refuse a filter with an unknown key or a value of the wrong kind, before anything runs."""
    for key, condition in where.items():
        if key not in _NEEDS:
            raise UnknownNameError("condition of where:", key, _NEEDS)
        if key == "plan":
            fits, kind = _are_names(condition), "a list of source names, [] for NULL"
        elif key in ("gold_source", "domain"):
            fits, kind = (
                isinstance(condition, str) or (_are_names(condition) and bool(condition)),
                "a name or a list of names",
            )
        elif key == "retrieve":
            fits, kind = isinstance(condition, bool), "true or false"
        else:
            fits, kind = _is_range(condition), "a position from 0, or [first, last]"
        if not fits:
            raise ConfigError(f"where: '{key}' cannot be {condition!r}.", remedy=f"Give {kind}.")


def select(metric: Metric, where: Mapping[str, object]) -> Metric:
    """Restrict a metric to the turns that match; the others count in no draw and have no value."""
    return _Selected(metric, where) if where else metric


class _Selected:
    """A metric that is computed over a subset of the turns and returns NaN for the others."""

    def __init__(self, metric: Metric, where: Mapping[str, object]) -> None:
        check_where(where)
        self._metric = metric
        self._where = dict(where)

    @property
    def about(self) -> About:
        about = self._metric.about
        added = {label for key in self._where if (label := _NEEDS[key]) is not None}
        return replace(about, needs=about.needs | added)

    def score(self, turns: Sequence[Judged]) -> Scores:
        import numpy as np

        places = [index for index, turn in enumerate(turns) if _matches(turn.example, self._where)]
        counted = [False] * len(turns)
        if not places:
            return Scores(counted, lambda weights: np.full(len(weights), np.nan))
        inner = self._metric.score([turns[index] for index in places])
        for index, counts in zip(places, inner.counted, strict=True):
            counted[index] = counts

        def values(weights: Floats) -> Floats:
            return inner.values(weights[:, places])

        per_turn = None
        if inner.per_turn is not None:
            per_turn = np.full(len(turns), np.nan)
            per_turn[places] = inner.per_turn
        return Scores(counted, values, per_turn, inner.details)


def _matches(example: Example, where: Mapping[str, object]) -> bool:
    return all(_holds(example, key, condition) for key, condition in where.items())


def _holds(example: Example, key: str, condition: object) -> bool:
    gold = example.gold
    if key == "retrieve":
        return gold.retrieve is condition
    if key == "domain":
        return example.domain in _listed(condition)
    if key == "position":
        first, last = (condition, condition) if isinstance(condition, int) else _listed(condition)
        return bool(first <= example.position <= last)  # type: ignore[operator]  # check_where saw to it
    if gold.plan is None:
        return False
    if key == "plan":
        return set(gold.plan) == set(_listed(condition))
    return set(gold.plan).issuperset(_listed(condition))


def _listed(condition: object) -> list[object]:
    return list(condition) if isinstance(condition, list | tuple) else [condition]


def _are_names(condition: object) -> bool:
    return isinstance(condition, list | tuple) and all(isinstance(name, str) for name in condition)


def _is_range(condition: object) -> bool:
    ends = _listed(condition)
    whole = all(isinstance(end, int) and not isinstance(end, bool) and end >= 0 for end in ends)
    return whole and (len(ends) == 1 if isinstance(condition, int) else len(ends) == 2 and ends[0] <= ends[1])  # type: ignore[operator]
