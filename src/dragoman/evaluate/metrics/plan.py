"""Whether the right sources were asked: F1 of each decision and their mean, and the exact order.

A decision is the set of sources that a plan asks; NULL is the empty one. Order is a measure of its own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from dragoman.core.errors import ConfigError
from dragoman.core.examples import Label
from dragoman.core.registry import metrics
from dragoman.core.values import Plan, Source, SourceName
from dragoman.evaluate.contract import About, Judged, Scores, folded_scores, mean_scores, quotient
from dragoman.evaluate.metrics.options import one_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dragoman.core.codec import Json
    from dragoman.evaluate.contract import Floats

Orphans: TypeAlias = Literal["null", "keep"]
"""What a plan counts as that asks a source without one it needs: SAFARI's release counts documents alone as NULL."""

Choice: TypeAlias = frozenset[SourceName]

_LABEL: frozenset[Label] = frozenset({"plan"})
_CITE = "SAFARI, Table 4; UniMS-RAG, Table III"


def choice(plan: Plan, sources: Sequence[Source] = (), orphans: Orphans = "keep") -> Choice:
    """The sources of a plan as one decision; `sources` say which of them need others."""
    asked = frozenset(plan.sources)
    if orphans == "null" and any(source.name in asked and not asked.issuperset(source.needs) for source in sources):
        return frozenset()
    return asked


def decision_f1(gold: Sequence[Choice], predicted: Sequence[Choice], decision: Choice) -> float:
    """F1 of one decision against all others: 2 TP / (2 TP + FP + FN); NaN if neither gold nor prediction has it."""
    return float(_f1(_outcomes(gold, predicted, [decision]).sum(axis=0, keepdims=True), 1)[0, 0])


def macro_f1(gold: Sequence[Choice], predicted: Sequence[Choice], decisions: Sequence[Choice] | None = None) -> float:
    """The mean F1 of the given decisions, or of those that occur in gold."""
    import numpy as np

    kinds = _occurring(gold) if decisions is None else list(decisions)
    values = _f1(_outcomes(gold, predicted, kinds).sum(axis=0, keepdims=True), len(kinds))[0]
    return float(np.nanmean(values)) if not np.isnan(values).all() else float("nan")


def in_order(plan: Plan, gold: Sequence[SourceName], *, joint: bool = True) -> bool:
    """Whether a plan asks exactly the gold sources in their order; with `joint`, order inside a step is free."""
    if not joint:
        return plan.sources == tuple(gold)
    rest = list(gold)
    for step in plan.steps:
        if Counter(step) != Counter(rest[: len(step)]):
            return False
        del rest[: len(step)]
    return not rest


@metrics.register("plan-f1.v1")
class PlanF1:
    """F1 of one decision, named by its sources; [] is NULL. A turn's value is whether it was classified rightly."""

    def __init__(self, *, decision: Sequence[SourceName], orphans: Orphans = "keep") -> None:
        one_of("plan-f1", "orphans", orphans, ("null", "keep"))
        if isinstance(decision, str):  # its letters would pass for sources
            raise ConfigError(f"metric.plan-f1: decision is '{decision}'.", remedy=f'Give a list: ["{decision}"].')
        self._decision = frozenset(decision)
        self._title = "+".join(decision) or "NULL"
        self._orphans: Orphans = orphans

    @property
    def about(self) -> About:
        return About(f"plan F1 {self._title}", "up", (0.0, 1.0), _CITE, _LABEL)

    def score(self, turns: Sequence[Judged]) -> Scores:
        import numpy as np

        decided = _PlanDecisions(turns, self._orphans)
        per_turn = np.full(len(turns), np.nan)
        per_turn[decided.counted] = [
            float((gold == self._decision) == (taken == self._decision))
            for gold, taken in zip(decided.gold, decided.predicted, strict=True)
        ]
        return folded_scores(
            decided.outcomes([self._decision]),
            lambda sums: _f1(sums, 1)[:, 0],
            decided.counted.tolist(),
            per_turn,
            decided.details(),
        )


@metrics.register("plan-macro-f1.v1")
class PlanMacroF1:
    """The mean of the F1 of the decisions that occur in gold, or of given ones. A turn is right if its decision is."""

    def __init__(self, *, decisions: Sequence[Sequence[SourceName]] | None = None, orphans: Orphans = "keep") -> None:
        one_of("plan-macro-f1", "orphans", orphans, ("null", "keep"))
        self._decisions = None if decisions is None else list(dict.fromkeys(map(frozenset, decisions)))
        self._orphans: Orphans = orphans

    @property
    def about(self) -> About:
        return About("plan macro F1", "up", (0.0, 1.0), f"{_CITE}: mean over decisions", _LABEL)

    def score(self, turns: Sequence[Judged]) -> Scores:
        import numpy as np

        decided = _PlanDecisions(turns, self._orphans)
        kinds = _occurring(decided.gold) if self._decisions is None else self._decisions

        def fold(sums: Floats) -> Floats:
            # A draw may lack a decision that the set has: its mean is over those that it does have.
            each = _f1(sums, len(kinds))
            defined = ~np.isnan(each)
            return quotient(np.where(defined, each, 0.0).sum(axis=1), defined.sum(axis=1))

        per_turn = np.full(len(turns), np.nan)
        per_turn[decided.counted] = [
            float(gold == taken) for gold, taken in zip(decided.gold, decided.predicted, strict=True)
        ]
        return folded_scores(
            decided.outcomes(kinds), fold, decided.counted.tolist(), per_turn, decided.details(f1_of=kinds)
        )


@metrics.register("plan-order.v1")
class PlanOrder:
    """The share of turns whose plan is gold's, source by source in order; with `joint`, order inside a step is free."""

    about = About("plan order", "up", (0.0, 1.0), "UniMS-RAG, Eq. 1 and 2: exact match of the planned sequence", _LABEL)

    def __init__(self, *, joint: bool = True) -> None:
        self._joint = joint

    def score(self, turns: Sequence[Judged]) -> Scores:
        import numpy as np

        plans = [(turn.reply.plan, turn.example.gold.plan) for turn in turns]
        return mean_scores(
            np.array(
                [np.nan if gold is None else float(in_order(plan, gold, joint=self._joint)) for plan, gold in plans],
                dtype=np.float64,
            )
        )


class _PlanDecisions:
    """The gold and the taken decisions of the turns that have a gold plan."""

    def __init__(self, turns: Sequence[Judged], orphans: Orphans) -> None:
        import numpy as np

        self.counted: NDArray[np.bool_] = np.array([turn.example.gold.plan is not None for turn in turns], dtype=bool)
        spoken = [turn for turn in turns if turn.example.gold.plan is not None]
        self.gold = [frozenset(turn.example.gold.plan or ()) for turn in spoken]
        self.predicted = [choice(turn.reply.plan, turn.example.sources, orphans) for turn in spoken]
        self.order = dict.fromkeys(source.name for turn in spoken for source in turn.example.sources)

    def outcomes(self, kinds: Sequence[Choice]) -> Floats:
        """TP, FP and FN of each kind, a row a turn; zeros for turns without a gold plan."""
        import numpy as np

        rows = np.zeros((len(self.counted), 3 * len(kinds)))
        rows[self.counted] = _outcomes(self.gold, self.predicted, kinds)
        return rows

    def name(self, decision: Choice) -> str:
        """Source names in the order in which the set declares them."""
        declared = [name for name in self.order if name in decision]
        return "+".join([*declared, *sorted(decision.difference(declared))]) or "NULL"

    def details(self, f1_of: Sequence[Choice] = ()) -> dict[str, Json]:
        """The confusion matrix (rows gold, columns taken), how often each was taken, and single F1s where asked for."""
        kinds = sorted({*self.gold, *self.predicted, *f1_of}, key=lambda kind: (len(kind), self.name(kind)))
        pairs = Counter(zip(self.gold, self.predicted, strict=True))
        names = [self.name(kind) for kind in kinds]
        details: dict[str, Json] = {
            "decisions": list(names),
            "confusion": [[pairs[gold, taken] for taken in kinds] for gold in kinds],
            "gold": {name: self.gold.count(kind) for name, kind in zip(names, kinds, strict=True)},
            "predicted": {name: self.predicted.count(kind) for name, kind in zip(names, kinds, strict=True)},
        }
        if f1_of:
            each = {self.name(kind): decision_f1(self.gold, self.predicted, kind) for kind in f1_of}
            details["f1"] = {
                name: None if math.isnan(value) else value for name, value in each.items()
            }  # NaN is no JSON
        return details


def _occurring(gold: Sequence[Choice]) -> list[Choice]:
    return sorted(set(gold), key=lambda kind: (len(kind), sorted(kind)))


def _outcomes(gold: Sequence[Choice], predicted: Sequence[Choice], kinds: Sequence[Choice]) -> Floats:
    """TP, FP and FN of every kind: shape (turns, 3 kinds)."""
    import numpy as np

    place = {kind: index for index, kind in enumerate(kinds)}
    columns = np.arange(len(kinds))
    gold_cells = np.array([place.get(kind, -1) for kind in gold], dtype=np.int64)[:, None] == columns
    predicted_cells = np.array([place.get(kind, -1) for kind in predicted], dtype=np.int64)[:, None] == columns
    return np.hstack(
        (gold_cells & predicted_cells, ~gold_cells & predicted_cells, gold_cells & ~predicted_cells)
    ).astype(np.float64)


def _f1(sums: Floats, kinds: int) -> Floats:
    """Sums (draws, 3 kinds) to F1 (draws, kinds)."""
    tp, fp, fn = sums[:, :kinds], sums[:, kinds : 2 * kinds], sums[:, 2 * kinds :]
    return quotient(2 * tp, 2 * tp + fp + fn)
