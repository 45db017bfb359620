"""Ensemble of two gates: their errors differ, so the mean of both is wrong less often."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.core.errors import ConfigError
from dragoman.core.protocols import Gate, warm
from dragoman.core.registry import gates
from dragoman.core.values import Context, Evidence, Verdict
from dragoman.gate.verdicts import AWAITS_EVIDENCE
from dragoman.models.calibration import mixed

_EDGE = 1e-6
_EVEN = 0.5


@gates.register("together.v1")
class EnsembleGate:
    """Gate that opens if the mean log-odds of two gates reach the mean log-odds of their thresholds.

    Inputs:
        first, second: gates with calibrated probabilities; either may be an ensemble.
        share: weight of the first gate.
        threshold: replaces the mean of the two thresholds.
    """

    def __init__(self, *, first: Gate, second: Gate, share: float = 0.5, threshold: float | None = None) -> None:
        if not 0.0 < share < 1.0:
            raise ConfigError(f"gate.together: share = {share}.", remedy="Give a share between 0 and 1.")
        self._gates = (first, second)
        self._share = share
        self._threshold = threshold

    @property
    def threshold(self) -> float:
        """The probability at which the gate opens."""
        if self._threshold is not None:
            return self._threshold
        first, second = (float(getattr(gate, "threshold", _EVEN)) for gate in self._gates)
        return mixed(first, second, self._share, edge=_EDGE)

    @property
    def reads_evidence(self) -> bool:
        """Whether the agent must call `decide` again with evidence."""
        return any(getattr(gate, "reads_evidence", False) for gate in self._gates)

    def warm_up(self) -> None:
        """Load both gates."""
        warm(*self._gates)

    def close(self) -> None:
        """Free the resources of both gates."""
        for gate in self._gates:
            free = getattr(gate, "close", None)
            if free is not None:
                free()

    def decide(
        self, turns: Sequence[Context], evidence: Sequence[Sequence[Evidence]] | None = None
    ) -> Sequence[Verdict]:
        if not turns:
            return []
        if self.reads_evidence and evidence is None:
            return [AWAITS_EVIDENCE] * len(turns)
        threshold = self.threshold
        both = zip(*(gate.decide(turns, evidence) for gate in self._gates), strict=True)
        return [self._verdict(pair, threshold) for pair in both]

    def _verdict(self, pair: Sequence[Verdict], threshold: float) -> Verdict:
        first, second = (one.probability for one in pair)
        probability = mixed(first, second, self._share, edge=_EDGE)
        probabilities = " and ".join(f"{one.probability:.2f}" for one in pair)
        return Verdict(
            probability >= threshold, probability, f"probabilities {probabilities}, threshold {threshold:.2f}"
        )
