"""What is fitted on dev for a unified model: offsets of its plans, and the calibration of its similarities."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dragoman.models.part import Head
from dragoman.models.unified.model import Order
from dragoman.train.calibration.fitting import fit_calibration

if TYPE_CHECKING:
    from dragoman.train.unified.measures import TurnOutcome

SIMILARITY, SIMILAR = "similarity", "similar"
EVEN = 0.5
"""The share of each of two plans where nothing says which is the better one."""
_SHARES = tuple(tenths / 10 for tenths in range(11))
_LEAST = 1e-12
_ENOUGH = 20
"""Right and wrong candidates of a source from which on it gets a calibration of its own."""


def plan_share(outcomes: Sequence[TurnOutcome]) -> float:
    """The share of the plan before reading beside the one after it, in tenths: where dev's plans are most probable."""
    read = [one for one in outcomes if one.gold is not None and one.check is not None]
    read = [one for one in read if one.gold in one.plan]  # what cannot be said favours no share
    if not read:
        return EVEN
    told = {share: sum(math.log(max(_mixed(one, share)[one.gold or ()], _LEAST)) for one in read) for share in _SHARES}
    return max(_SHARES, key=lambda share: (round(told[share], 9), -abs(share - EVEN)))


def plan_offsets(
    outcomes: Sequence[TurnOutcome], dialogues: Mapping[str, str], *, share: float = EVEN
) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """Offsets by how a plan is made, and macro F1 with them across folds; turns of one dialogue share a fold.

    `share` is that of the plan before reading in the mean of both.
    """
    from dragoman.train.unified.plan_offsets import fit_offsets

    known = [one for one in outcomes if one.gold is not None]
    read = [one for one in known if one.check is not None]
    ways: dict[str, list[tuple[TurnOutcome, dict[Order, float]]]] = {
        "context": [(one, dict(one.plan)) for one in known],
        "check": [(one, dict(one.check or {})) for one in read],
        "average": [(one, _mixed(one, share)) for one in read],
    }
    found: dict[str, dict[str, float]] = {}
    told: dict[str, float] = {}
    for way, rows in ways.items():
        if not rows or len({tuple(chances) for _, chances in rows}) > 1:
            continue  # turns with other sources have other orders
        gold = [one.gold or () for one, _ in rows]
        fitted = fit_offsets([chances for _, chances in rows], gold, groups=[dialogues[one.id] for one, _ in rows])
        found[way] = {">".join(order): value for order, value in fitted.offsets.items()}
        told |= {f"offsets/{way}/before": fitted.before, f"offsets/{way}/folds": fitted.folds}
    return found, told


def calibrated(outcomes: Sequence[TurnOutcome], method: Any) -> Head:
    """The calibration of expected similarities: of all sources, and of each that dev has enough of."""
    rows = [one for outcome in outcomes for one in outcome.candidates]
    if not rows:
        return Head((SIMILAR,))
    found = {SIMILAR: fit_calibration([one.odds for one in rows], [one.is_gold for one in rows], method)}
    for source in dict.fromkeys(one.source for one in rows):
        mine = [one for one in rows if one.source == source]
        right = sum(one.is_gold for one in mine)
        if min(right, len(mine) - right) >= _ENOUGH:
            found[source] = fit_calibration([one.odds for one in mine], [one.is_gold for one in mine], method)
    return Head((SIMILAR,), found)


def _mixed(one: TurnOutcome, share: float) -> dict[Order, float]:
    assert one.check is not None
    return {order: share * chance + (1.0 - share) * one.check[order] for order, chance in one.plan.items()}
