"""Gates that ask a language model for a number of each turn: as it is, or as a trained part calibrates it."""

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
    """Opens where the number, from 0 to 1, is at or above the threshold.

    Without a part the number is the probability itself, cut at one half. A part of `kind` makes the probability of it,
    and says where to cut and how the model is to be asked; it holds for the language model that it was fitted with.
    """

    def __init__(self, kind: str, *, part: str | None, folder: Path | None, threshold: float | None) -> None:
        self._kind = kind
        self._name = part
        self._folder = folder
        self._threshold = threshold
        self._part: Part | None = None

    def warm_up(self) -> None:
        """Read the calibration, where there is one."""
        self._opened()

    @property
    def threshold(self) -> float:
        """The probability from which something is looked up."""
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
        found, told = self.answers(turns, {} if part is None else part.options)
        return [self._verdict(part, number, told) for number in found]

    def answers(self, turns: Sequence[Context], trained: Mapping[str, Any]) -> tuple[Sequence[float], str]:
        """A number for each turn, asked as the part was fitted, and what it is called."""
        raise NotImplementedError

    def _verdict(self, part: Part | None, found: float, told: str) -> Verdict:
        if part is None:
            return Verdict(found >= self.threshold, found, told)
        probability = part.head(HEAD).probability(score(found), LABEL)
        return Verdict(probability >= self.threshold, probability, f"{told}: {found:.2f}")

    def _opened(self) -> Part | None:
        if self._name is not None and self._part is None:
            self._part = open_part(self._name, kind=self._kind, folder=self._folder)
        return self._part


def score(found: float) -> float:
    """A number as what a calibration reads: its log-odds."""
    return log_odds(found, edge=_EDGE)
