"""Base of gates that get a number for each turn from a language model, optionally calibrated by a trained part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman.core.values import Context, Evidence, Verdict
from dragoman.models.calibration import log_odds
from dragoman.models.part import Part, open_part

HEAD = "gate"
LABEL = "retrieve"
_EDGE = 1e-6


class LlmScoreGate:
    """Gate that opens if the number, from 0 to 1, reaches the threshold.

    Without a part the number is the probability, and the threshold one half. A part of `kind` calibrates the number
    and holds the threshold and the prompt options; it is valid for the language model that it was fitted with.
    """

    def __init__(self, kind: str, *, part: str | None, folder: Path | None, threshold: float | None) -> None:
        self._kind = kind
        self._name = part
        self._folder = folder
        self._threshold = threshold
        self._part: Part | None = None

    def warm_up(self) -> None:
        """Read the calibration, if there is one."""
        self._opened()

    @property
    def threshold(self) -> float:
        """The probability at which the gate opens."""
        if self._threshold is not None:
            return self._threshold
        part = self._opened()
        return 0.5 if part is None else part.head(HEAD).threshold(LABEL)

    def decide(
        self, turns: Sequence[Context], evidence: Sequence[Sequence[Evidence]] | None = None
    ) -> Sequence[Verdict]:
        if not turns:
            return []
        part = self._opened()
        numbers, label = self.answers(turns, {} if part is None else part.options)
        return [self._verdict(part, number, label) for number in numbers]

    def answers(self, turns: Sequence[Context], trained: Mapping[str, Any]) -> tuple[Sequence[float], str]:
        """Return a number for each turn, with the prompt options of the part, and the number's name for reasons."""
        raise NotImplementedError

    def _verdict(self, part: Part | None, number: float, label: str) -> Verdict:
        if part is None:
            return Verdict(number >= self.threshold, number, label)
        probability = part.head(HEAD).probability(score(number), LABEL)
        return Verdict(probability >= self.threshold, probability, f"{label}: {number:.2f}")

    def _opened(self) -> Part | None:
        if self._name is not None and self._part is None:
            self._part = open_part(self._name, kind=self._kind, folder=self._folder)
        return self._part


def score(number: float) -> float:
    """Return the log-odds of a number, which the calibration takes."""
    return log_odds(number, edge=_EDGE)
