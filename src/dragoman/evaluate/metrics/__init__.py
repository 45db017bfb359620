"""Metrics: importing this package registers all of them."""

from dragoman.evaluate.metrics import (
    bertscore,
    calibration,
    confidence,
    consistency,
    cost,
    diversity,
    gate,
    overlap,
    pkicr,
    plan,
    ranking,
)

__all__ = [
    "bertscore",
    "calibration",
    "confidence",
    "consistency",
    "cost",
    "diversity",
    "gate",
    "overlap",
    "pkicr",
    "plan",
    "ranking",
]
