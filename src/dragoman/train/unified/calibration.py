"""Fits on dev for a unified model: offsets of its plans, and the calibration of its similarities."""

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
"""The share of each of two plans without evidence for either."""
_SHARES = tuple(tenths / 10 for tenths in range(11))
_LEAST = 1e-12
_ENOUGH = 20
"""A source gets its own calibration from this many right and as many wrong candidates on."""


def plan_share(outcomes: Sequence[TurnOutcome]) -> float:
    """The weight of the plan before reading, in tenths, when averaged with the plan after reading: the likeliest on
    dev."""
    read = [one for one in outcomes if one.gold is not None and one.check is not None]
    read = [one for one in read if one.gold in one.plan]  # what cannot be said favours no share
    if not read:
        return EVEN
    likelihoods = {
        share: sum(math.log(max(_mixed(one, share)[one.gold or ()], _LEAST)) for one in read) for share in _SHARES
    }
    return max(_SHARES, key=lambda share: (round(likelihoods[share], 9), -abs(share - EVEN)))


def plan_offsets(
    outcomes: Sequence[TurnOutcome], dialogues: Mapping[str, str], *, share: float = EVEN
) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """Offsets by kind of plan, with cross-validated macro F1; turns of one dialogue share a fold.

    `share` is that of the plan before reading in the mean of both.
    """
    from dragoman.train.unified.plan_offsets import fit_offsets

    labelled = [one for one in outcomes if one.gold is not None]
    read = [one for one in labelled if one.check is not None]
    ways: dict[str, list[tuple[TurnOutcome, dict[Order, float]]]] = {
        "context": [(one, dict(one.plan)) for one in labelled],
        "check": [(one, dict(one.check or {})) for one in read],
        "average": [(one, _mixed(one, share)) for one in read],
    }
    offsets: dict[str, dict[str, float]] = {}
    figures: dict[str, float] = {}
    for way, rows in ways.items():
        if not rows or len({tuple(chances) for _, chances in rows}) > 1:
            continue  # turns with other sources have other orders
        gold = [one.gold or () for one, _ in rows]
        fitted = fit_offsets([chances for _, chances in rows], gold, groups=[dialogues[one.id] for one, _ in rows])
        offsets[way] = {">".join(order): value for order, value in fitted.offsets.items()}
        figures |= {f"offsets/{way}/before": fitted.before, f"offsets/{way}/folds": fitted.folds}
    return offsets, figures


def similarity_calibrations(outcomes: Sequence[TurnOutcome], method: Any) -> Head:
    """Calibrations of expected similarities: one for all sources, and one for each source with enough dev data."""
    rows = [one for outcome in outcomes for one in outcome.candidates]
    if not rows:
        return Head((SIMILAR,))
    calibrations = {SIMILAR: fit_calibration([one.odds for one in rows], [one.is_gold for one in rows], method)}
    for source in dict.fromkeys(one.source for one in rows):
        mine = [one for one in rows if one.source == source]
        right = sum(one.is_gold for one in mine)
        if min(right, len(mine) - right) >= _ENOUGH:
            calibrations[source] = fit_calibration([one.odds for one in mine], [one.is_gold for one in mine], method)
    return Head((SIMILAR,), calibrations)


def _mixed(one: TurnOutcome, share: float) -> dict[Order, float]:
    assert one.check is not None
    return {order: share * chance + (1.0 - share) * one.check[order] for order, chance in one.plan.items()}
