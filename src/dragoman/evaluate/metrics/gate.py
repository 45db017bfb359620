"""Gate metrics: counts of retrieval decisions, and curves over the gate's probability."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from dragoman.core.errors import InputError
from dragoman.core.examples import Label
from dragoman.core.registry import metrics
from dragoman.core.trace import Reply
from dragoman.evaluate.contract import About, Judged, Scores, folded_scores, mean_scores, quotient
from dragoman.evaluate.metrics.curves import average_precision_of, pr_curve_of, roc_auc_of, roc_curve_of
from dragoman.evaluate.metrics.options import one_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dragoman.core.codec import Json
    from dragoman.evaluate.contract import Floats

Decision: TypeAlias = Literal["retrieve", "gate"]
"""`retrieve`: something was asked, so a planner's NULL is a closed gate; `gate`: the gate's verdict alone."""

_LABEL: frozenset[Label] = frozenset({"retrieve"})


def retrieves(reply: Reply, decision: Decision = "retrieve") -> bool:
    """Return a system's decision on a turn; in UniMS-RAG and SAFARI the planner decides behind an open gate."""
    return reply.verdict.retrieve and (decision == "gate" or not reply.plan.is_null)


def precision(labels: Sequence[bool], predictions: Sequence[bool]) -> float:
    """TP / (TP + FP); 0 where nothing is predicted positive."""
    return _once(_precision, labels, predictions)


def recall(labels: Sequence[bool], predictions: Sequence[bool]) -> float:
    """TP / (TP + FN); NaN where no label is positive."""
    return _once(_recall, labels, predictions)


def f1(labels: Sequence[bool], predictions: Sequence[bool]) -> float:
    """2 TP / (2 TP + FP + FN), of the positive class; NaN where neither labels nor predictions have one."""
    return _once(_f1, labels, predictions)


def accuracy(labels: Sequence[bool], predictions: Sequence[bool]) -> float:
    """(TP + TN) / all."""
    return _once(_accuracy, labels, predictions)


def hard_auc(labels: Sequence[bool], predictions: Sequence[bool]) -> float:
    """(TPR + TNR) / 2: the area under the one-point curve of hard decisions, which RAGate prints as AUC."""
    return _once(_hard_auc, labels, predictions)


def false_discovery_rate(labels: Sequence[bool], predictions: Sequence[bool]) -> float:
    """FP / (FP + TP); 0 where nothing is predicted positive, as Benjamini and Hochberg define it."""
    return _once(_fdr, labels, predictions)


def _once(fold: Callable[[Floats], Floats], labels: Sequence[bool], predictions: Sequence[bool]) -> float:
    import numpy as np

    outcomes = _outcomes(np.asarray(labels, dtype=bool), np.asarray(predictions, dtype=bool))
    return float(fold(outcomes.sum(axis=0, keepdims=True))[0])


def _outcomes(labels: NDArray[np.bool_], predictions: NDArray[np.bool_]) -> Floats:
    """One row a turn: whether it is a TP, FP, FN, TN."""
    import numpy as np

    columns = (labels & predictions, ~labels & predictions, labels & ~predictions, ~labels & ~predictions)
    return np.stack(columns, axis=1).astype(np.float64)


def _precision(sums: Floats) -> Floats:
    return _or_zero(sums[:, 0], sums[:, 0] + sums[:, 1], sums)


def _recall(sums: Floats) -> Floats:
    return quotient(sums[:, 0], sums[:, 0] + sums[:, 2])


def _f1(sums: Floats) -> Floats:
    return quotient(2 * sums[:, 0], 2 * sums[:, 0] + sums[:, 1] + sums[:, 2])


def _accuracy(sums: Floats) -> Floats:
    return quotient(sums[:, 0] + sums[:, 3], sums.sum(axis=1))


def _hard_auc(sums: Floats) -> Floats:
    return (_recall(sums) + quotient(sums[:, 3], sums[:, 3] + sums[:, 1])) / 2


def _fdr(sums: Floats) -> Floats:
    return _or_zero(sums[:, 1], sums[:, 0] + sums[:, 1], sums)


def _or_zero(above: Floats, below: Floats, sums: Floats) -> Floats:
    """A share of the turns that were predicted positive: 0 where there are turns but none is."""
    import numpy as np

    return np.where((below == 0) & (sums.sum(axis=1) > 0), 0.0, quotient(above, below))


class _GateDecisionMetric:
    """A function of TP, FP, FN and TN over the turns whose gold says whether to look something up."""

    name: str
    about: About
    figure: Callable[[Floats], Floats]
    """Of the sums of TP, FP, FN and TN."""
    turns_compared: Literal["all", "positive", "none"] = "all"
    """Which turns have a value of their own (decided rightly or not): `none` where systems choose the turns."""

    def __init__(self, *, decision: Decision = "retrieve") -> None:
        one_of(self.name, "decision", decision, ("retrieve", "gate"))
        self._decision: Decision = decision

    def score(self, turns: Sequence[Judged]) -> Scores:
        import numpy as np

        counted = np.array([turn.example.gold.retrieve is not None for turn in turns], dtype=bool)
        labels = np.array([bool(turn.example.gold.retrieve) for turn in turns], dtype=bool)
        predictions = np.array([retrieves(turn.reply, self._decision) for turn in turns], dtype=bool)
        statistics = _outcomes(labels, predictions) * counted[:, None]
        right = (labels == predictions).astype(np.float64)
        speaks = counted & labels if self.turns_compared == "positive" else counted
        per_turn = None if self.turns_compared == "none" else np.where(speaks, right, np.nan)
        tp, fp, fn, tn = (int(total) for total in statistics.sum(axis=0))
        details: dict[str, Json] = {"augmented": tp + fp, "tp": tp, "fp": fp, "fn": fn, "tn": tn}
        return folded_scores(statistics, self.figure, counted.tolist(), per_turn, details)


@metrics.register("gate-precision.v1")
class GatePrecision(_GateDecisionMetric):
    """Share of retrieving turns that should retrieve; 0 for a system that never does."""

    name = "gate-precision"
    about = About("gate precision", "up", (0.0, 1.0), "RAGate, section 4: TP / (TP + FP)", _LABEL)
    turns_compared = "none"
    figure = staticmethod(_precision)


@metrics.register("gate-recall.v1")
class GateRecall(_GateDecisionMetric):
    """Share of the turns that should retrieve that did."""

    name = "gate-recall"
    about = About("gate recall", "up", (0.0, 1.0), "RAGate, section 4: TP / (TP + FN)", _LABEL)
    turns_compared = "positive"
    figure = staticmethod(_recall)


@metrics.register("gate-f1.v1")
class GateF1(_GateDecisionMetric):
    """F1 of looking something up. A turn's own value, for McNemar's test, is whether it was decided rightly."""

    name = "gate-f1"
    about = About("gate F1", "up", (0.0, 1.0), "RAGate, section 4: 2 TP / (2 TP + FP + FN)", _LABEL)
    figure = staticmethod(_f1)


@metrics.register("gate-accuracy.v1")
class GateAccuracy(_GateDecisionMetric):
    """The share of turns decided rightly; on KETOD a gate that never opens scores high."""

    name = "gate-accuracy"
    about = About("gate accuracy", "up", (0.0, 1.0), "(TP + TN) / all turns", _LABEL)
    figure = staticmethod(_accuracy)


@metrics.register("gate-hard-auc.v1")
class GateHardAuc(_GateDecisionMetric):
    """The AUC that RAGate prints, taken over decisions instead of probabilities: (TPR + TNR) / 2."""

    name = "gate-hard-auc"
    about = About("gate AUC (decisions)", "up", (0.0, 1.0), "RAGate's release: AUC of hard predictions", _LABEL)
    figure = staticmethod(_hard_auc)


@metrics.register("gate-fdr.v1")
class GateFdr(_GateDecisionMetric):
    """Share of retrieving turns that should not retrieve."""

    name = "gate-fdr"
    about = About("gate FDR", "down", (0.0, 1.0), "RAGate, section 4: FP / (FP + TP)", _LABEL)
    turns_compared = "none"
    figure = staticmethod(_fdr)


@metrics.register("gate-rate.v1")
class GateRate:
    """The share of turns that looked something up: RAGate's number of augmentations over the number of turns."""

    about = About("augmented", "none", (0.0, 1.0), "RAGate, Figures 3 and 4")

    def __init__(self, *, decision: Decision = "retrieve") -> None:
        one_of("gate-rate", "decision", decision, ("retrieve", "gate"))
        self._decision: Decision = decision

    def score(self, turns: Sequence[Judged]) -> Scores:
        import numpy as np

        opened = np.array([float(retrieves(turn.reply, self._decision)) for turn in turns])
        return mean_scores(opened, {"augmented": int(opened.sum())})


@metrics.register("gate-auc.v1")
class GateAuc:
    """The area under the ROC curve of the gate's probability, with the curve."""

    about = About("gate ROC-AUC", "up", (0.0, 1.0), "Fawcett 2006, section 7: area under the ROC curve", _LABEL)

    def score(self, turns: Sequence[Judged]) -> Scores:
        return _ranked(turns, roc_auc_of, roc_curve_of)


@metrics.register("gate-ap.v1")
class GateAveragePrecision:
    """The average precision of the gate's probability, with the precision-recall curve."""

    about = About(
        "gate average precision",
        "up",
        (0.0, 1.0),
        "sum over thresholds of (R_n - R_(n-1)) P_n, as scikit-learn",
        _LABEL,
    )

    def score(self, turns: Sequence[Judged]) -> Scores:
        return _ranked(turns, average_precision_of, pr_curve_of)


def _ranked(
    turns: Sequence[Judged],
    measure: Callable[[NDArray[np.bool_], Floats], Callable[[Floats], Floats]],
    curve: Callable[[NDArray[np.bool_], Floats], dict[str, Json]],
) -> Scores:
    import numpy as np

    counted = np.array([turn.example.gold.retrieve is not None for turn in turns], dtype=bool)
    labels = np.array([bool(turn.example.gold.retrieve) for turn in turns], dtype=bool)[counted]
    probabilities = np.array([turn.reply.verdict.probability for turn in turns], dtype=np.float64)[counted]
    if not np.isfinite(probabilities).all():
        bad = np.flatnonzero(counted)[~np.isfinite(probabilities)][0]
        raise InputError(
            f"The gate's probability on turn '{turns[bad].example.id}' is {turns[bad].reply.verdict.probability}.",
            remedy="Mend the gate: probabilities are numbers in [0, 1].",
        )
    inner = measure(labels, probabilities)
    details = curve(labels, probabilities) if labels.any() and not labels.all() else {}
    if counted.all():
        return Scores(counted.tolist(), inner, details=details)
    return Scores(counted.tolist(), lambda weights: inner(weights[:, counted]), details=details)
