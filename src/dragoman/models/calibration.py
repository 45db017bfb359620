"""Calibrations turn a model's score into a probability: `train/` fits them on held-out turns, a part stores them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

from dragoman.core.errors import WeightsError


@dataclass(frozen=True, slots=True)
class Logistic:
    """sigmoid(scale x score + bias): temperature scaling where the bias is 0, Platt's where it is not."""

    scale: float = 1.0
    bias: float = 0.0

    def probability(self, score: float) -> float:
        odds = self.scale * score + self.bias
        return 1.0 / (1.0 + math.exp(-odds)) if odds >= 0 else math.exp(odds) / (1.0 + math.exp(odds))


@dataclass(frozen=True, slots=True)
class Isotonic:
    """Linear interpolation between points of rising `scores` and non-decreasing `probabilities`; constant outside."""

    scores: tuple[float, ...]
    probabilities: tuple[float, ...]

    def probability(self, score: float) -> float:
        from bisect import bisect_right

        after = bisect_right(self.scores, score)
        if after == 0:
            return self.probabilities[0]
        if after == len(self.scores):
            return self.probabilities[-1]
        low, high = self.scores[after - 1], self.scores[after]
        share = (score - low) / (high - low)
        return self.probabilities[after - 1] + share * (self.probabilities[after] - self.probabilities[after - 1])


Calibration: TypeAlias = Logistic | Isotonic


def log_odds(probability: float, *, edge: float = 1e-9) -> float:
    """The inverse of the logistic function; probabilities are clipped to [edge, 1 - edge], so that it is finite."""
    inside = min(1.0 - edge, max(edge, probability))
    return math.log(inside / (1.0 - inside))


def mixed(first: float, second: float, share: float, *, edge: float = 1e-9) -> float:
    """Mix two probabilities by the weighted mean of their log-odds; `share` in [0, 1] is the weight of the first."""
    if not share:
        return second
    return Logistic().probability(share * log_odds(first, edge=edge) + (1.0 - share) * log_odds(second, edge=edge))


def to_json(calibration: Calibration) -> dict[str, Any]:
    """A calibration as JSON, for a part's file."""
    if isinstance(calibration, Logistic):
        return {"kind": "logistic", "scale": calibration.scale, "bias": calibration.bias}
    return {
        "kind": "isotonic",
        "scores": list(calibration.scores),
        "probabilities": list(calibration.probabilities),
    }


def from_json(table: Mapping[str, Any]) -> Calibration:
    """Read a calibration from the JSON of a part's file."""
    try:
        if table["kind"] == "logistic":
            scale, bias = float(table["scale"]), float(table["bias"])
            if math.isfinite(scale) and math.isfinite(bias):
                return Logistic(scale, bias)
        if table["kind"] == "isotonic":
            scores, probabilities = tuple(map(float, table["scores"])), tuple(map(float, table["probabilities"]))
            rising = all(low < high for low, high in pairwise(scores))
            never_falls = all(low <= high for low, high in pairwise((0.0, *probabilities, 1.0)))
            if scores and rising and never_falls and len(scores) == len(probabilities):
                return Isotonic(scores, probabilities)
    except (KeyError, TypeError, ValueError) as error:
        raise WeightsError(
            f"A part's calibration cannot be read: {error!r}.", remedy="Train the part again."
        ) from error
    raise WeightsError(f"A part's calibration cannot be read: {dict(table)}.", remedy="Train the part again.")
