"""What a language model's number of a turn is worth: as it is, or as a trained part calibrates it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dragoman.core.values import Verdict
from dragoman.models.calibration import log_odds
from dragoman.models.part import Head, Part, open_part

HEAD = "gate"
LABEL = "retrieve"
_EDGE = 1e-6


class Answered:
    """Makes verdicts of numbers from 0 to 1; without a part a number is the probability itself, cut at one half."""

    def __init__(self, kind: str, part: str | None, folder: Path | None, threshold: float | None) -> None:
        self._kind = kind
        self._name = part
        self._folder = folder
        self._threshold = threshold
        self._part: Part | None = None

    def options(self) -> Mapping[str, Any]:
        """How the part's numbers were come by; nothing without a part."""
        part = self._opened()
        return {} if part is None else part.options

    @property
    def threshold(self) -> float:
        """The probability from which something is looked up."""
        if self._threshold is not None:
            return self._threshold
        head = self._head()
        return 0.5 if head is None else head.threshold(LABEL)

    def verdict(self, found: float, reason: str, calibrated: str) -> Verdict:
        """The verdict, with a reason for the number as it is and one for what was made of it."""
        head = self._head()
        if head is None:
            return Verdict(found >= self.threshold, found, reason)
        probability = head.probability(score(found), LABEL)
        return Verdict(probability >= self.threshold, probability, calibrated)

    def _head(self) -> Head | None:
        part = self._opened()
        return None if part is None else part.head(HEAD)

    def _opened(self) -> Part | None:
        if self._name is not None and self._part is None:
            self._part = open_part(self._name, kind=self._kind, folder=self._folder)
        return self._part


def score(found: float) -> float:
    """A number as what a calibration reads: its log-odds."""
    return log_odds(found, edge=_EDGE)
