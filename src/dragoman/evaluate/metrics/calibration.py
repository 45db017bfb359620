"""Calibration of probabilities: expected calibration error, Brier score, reliability curve.

Applies to the gate (retrieval is needed), to a plan (a source belongs to it) and to evidence (a passage is gold).
A turn may have several probabilities, or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from dragoman.core.errors import InputError
from dragoman.core.examples import Label
from dragoman.core.registry import metrics
from dragoman.evaluate.contract import About, Judged, Scores, folded_scores, quotient
from dragoman.evaluate.metrics.options import at_least, one_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dragoman.core.codec import Json
    from dragoman.evaluate.contract import Floats

Of: TypeAlias = Literal["gate", "plan", "evidence"]
Binning: TypeAlias = Literal["width", "mass"]

_NEEDS: dict[str, Label] = {"gate": "retrieve", "plan": "plan", "evidence": "evidence"}


def expected_calibration_error(
    labels: Sequence[bool], probabilities: Sequence[float], *, bins: int = 10, binning: Binning = "width"
) -> float:
    """The sum over bins of |B| / n |share that is true - mean probability| (Guo et al. 2017, Eq. 3).

    Bins are (a, b], of equal width, or of equal mass: cut at quantiles, so that equal probabilities stay together.
    """
    import numpy as np

    true, predicted = np.asarray(labels, dtype=np.float64), np.asarray(probabilities, dtype=np.float64)
    if not len(predicted):
        return float("nan")
    gaps = _binned(_bins(predicted, bins, binning), predicted - true, bins)
    return float(np.abs(gaps).sum() / len(predicted))


def brier(labels: Sequence[bool], probabilities: Sequence[float]) -> float:
    """The mean of (probability - label)^2 (Brier 1950); NaN of nothing."""
    import numpy as np

    true, predicted = np.asarray(labels, dtype=np.float64), np.asarray(probabilities, dtype=np.float64)
    return float(((predicted - true) ** 2).mean()) if len(predicted) else float("nan")


def reliability(
    labels: Sequence[bool], probabilities: Sequence[float], *, bins: int = 10, binning: Binning = "width"
) -> list[Json]:
    """The reliability curve: mean probability, share that is true and count of each bin that holds anything."""
    import numpy as np

    true, predicted = np.asarray(labels, dtype=np.float64), np.asarray(probabilities, dtype=np.float64)
    places = _bins(predicted, bins, binning)
    counts, mean_probability, share_true = (
        _binned(places, each, bins) for each in (np.ones(len(predicted)), predicted, true)
    )
    mean_probability, share_true = quotient(mean_probability, counts), quotient(share_true, counts)
    return [
        {"probability": float(mean_probability[i]), "true": float(share_true[i]), "count": int(counts[i])}
        for i in np.flatnonzero(counts).tolist()
    ]


@metrics.register("calibration-error.v1")
class CalibrationError:
    """Expected calibration error. A bootstrap keeps the bins of the whole set; it is biased upwards on few turns."""

    def __init__(self, *, of: Of = "gate", bins: int = 10, binning: Binning = "width") -> None:
        one_of("calibration-error", "of", of, tuple(_NEEDS))
        one_of("calibration-error", "binning", binning, ("width", "mass"))
        at_least("calibration-error", "bins", bins, 1)
        self._of = of
        self._bins = bins
        self._binning: Binning = binning

    @property
    def about(self) -> About:
        needs = frozenset({_NEEDS[self._of]})
        return About(f"{self._of} calibration error", "down", (0.0, 1.0), "Guo et al. 2017, Eq. 3", needs)

    def score(self, turns: Sequence[Judged]) -> Scores:
        import numpy as np

        pairs = _TurnProbabilities(turns, self._of)
        statistics = np.zeros((len(turns), self._bins + 1))  # the gap of each bin, and how many pairs there are
        places = _bins(pairs.probabilities, self._bins, self._binning)
        np.add.at(statistics, (pairs.turns, places), pairs.probabilities - pairs.labels)
        statistics[:, -1] = pairs.sums(np.ones(len(places)))

        def fold(sums: Floats) -> Floats:
            return quotient(np.abs(sums[:, :-1]).sum(axis=1), sums[:, -1])

        details: dict[str, Json] = {"reliability": pairs.reliability(self._bins, self._binning)}
        return folded_scores(statistics, fold, pairs.counted, details=details)


@metrics.register("brier.v1")
class Brier:
    """The Brier score: the mean square of how far probabilities are from what was true."""

    def __init__(self, *, of: Of = "gate") -> None:
        one_of("brier", "of", of, tuple(_NEEDS))
        self._of = of

    @property
    def about(self) -> About:
        return About(f"{self._of} Brier score", "down", (0.0, 1.0), "Brier 1950", frozenset({_NEEDS[self._of]}))

    def score(self, turns: Sequence[Judged]) -> Scores:
        import numpy as np

        pairs = _TurnProbabilities(turns, self._of)
        errors = (pairs.probabilities - pairs.labels) ** 2
        statistics = np.stack((pairs.sums(errors), pairs.sums(np.ones(len(errors)))), axis=1)

        def fold(sums: Floats) -> Floats:
            return quotient(sums[:, 0], sums[:, 1])

        details: dict[str, Json] = {"reliability": pairs.reliability(10, "width")}
        return folded_scores(statistics, fold, pairs.counted, fold(statistics), details)


class _TurnProbabilities:
    """All probabilities of some turns, their labels, and the turn of each."""

    def __init__(self, turns: Sequence[Judged], of: Of) -> None:
        import numpy as np

        pairs = [(index, *pair) for index, turn in enumerate(turns) for pair in _pairs(turn, of)]
        self.turns: NDArray[np.int64] = np.array([index for index, _, _ in pairs], dtype=np.int64)
        self.probabilities: Floats = np.array([probability for _, probability, _ in pairs], dtype=np.float64)
        self.labels: Floats = np.array([held for _, _, held in pairs], dtype=np.float64)
        # NaN fails the comparison too
        outside = np.flatnonzero(~((self.probabilities >= 0) & (self.probabilities <= 1)))
        if len(outside):
            index, probability, _ = pairs[outside[0]]
            raise InputError(
                f"A probability of the {of} on turn '{turns[index].example.id}' is {probability}.",
                remedy="Mend the component: probabilities are numbers in [0, 1].",
            )
        spoken = set(self.turns.tolist())
        self.counted = [index in spoken for index in range(len(turns))]

    def sums(self, numbers: Floats) -> Floats:
        """The sum of a number a pair over each turn's pairs."""
        return _binned(self.turns, numbers, len(self.counted))

    def reliability(self, bins: int, binning: Binning) -> list[Json]:
        return reliability(self.labels.tolist(), self.probabilities.tolist(), bins=bins, binning=binning)


def _pairs(turn: Judged, of: Of) -> list[tuple[float, bool]]:
    gold, reply = turn.example.gold, turn.reply
    if of == "gate":
        return [] if gold.retrieve is None else [(reply.verdict.probability, gold.retrieve)]
    if of == "plan":
        declared = {source.name for source in turn.example.sources}
        probabilities = {} if gold.plan is None else reply.plan.probabilities
        return [
            (probability, name in (gold.plan or ())) for name, probability in probabilities.items() if name in declared
        ]
    if gold.evidence is None:
        return []
    return [(piece.relevance, piece.id in gold.evidence) for piece in reply.evidence]


def _bins(probabilities: Floats, bins: int, binning: Binning) -> NDArray[np.int64]:
    """The bin of each probability; a bin holds its upper edge."""
    import numpy as np

    edges = np.linspace(0.0, 1.0, bins + 1)
    if binning == "mass" and len(probabilities):
        edges = np.percentile(probabilities, edges * 100)  # as scikit-learn asks, to the last bit of an edge
    return np.searchsorted(edges[1:-1], probabilities, side="left")


def _binned(places: NDArray[np.int64], numbers: Floats, bins: int) -> Floats:
    """Sums by bin."""
    import numpy as np

    summed: Floats = np.bincount(places, weights=numbers, minlength=bins).astype(np.float64)
    return summed
