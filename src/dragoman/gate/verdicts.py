"""Verdicts shared by several gates: by probability and threshold, and before evidence is available."""

from __future__ import annotations

from dragoman.core.values import Verdict

AWAITS_EVIDENCE = Verdict(True, 1.0, "decides when it has seen the evidence")
"""Given by a gate that reads evidence, so that some is searched for."""


def by_threshold(probability: float, threshold: float) -> Verdict:
    """Open from the threshold on, with both figures as the reason."""
    reason = f"probability {probability:.2f}, threshold {threshold:.2f}"
    return Verdict(probability >= threshold, probability, reason)
