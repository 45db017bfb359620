"""PK-ICR's measures: knowledge and persona accuracy, persona F1, and the null-positive rank test.

Personas are labelled one by one: a turn with n of them gives n labels, of which mostly one or none is true. So a
system that never takes a persona scores high in accuracy (86.86 on FoCus, the paper's Table 3): read F1 beside it.

How many personas a turn has is the number of its candidates of that source; where candidates were dropped to save
memory, `Example.meta["candidates:PERSONA"]` says how many there were.

The rank test reads scores that the retriever leaves in `Evidence.scores`: `joint`, the score of this persona with the
question, and `null`, that of the bare question, the same on every persona of the turn. Every persona must be scored:
retrieve with k at least as large as their number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from dragoman.core.errors import InputError
from dragoman.core.examples import Example, Label
from dragoman.core.registry import metrics
from dragoman.core.values import SourceName
from dragoman.evaluate.contract import About, Judged, Scores, folded_scores, mean_scores, quotient
from dragoman.evaluate.metrics.options import at_least, one_of
from dragoman.evaluate.metrics.ranking import AccuracyAt1, gold_passages, ranking

if TYPE_CHECKING:
    from dragoman.core.codec import Json
    from dragoman.evaluate.contract import Floats

Variant: TypeAlias = Literal["T", "T2", "T+", "T-"]
"""Non-triviality: mean |r|; mean r^2; mean |r| of turns with r >= 0; of turns with r <= 0."""

Ideal: TypeAlias = Literal["gold", "one"]
"""Where rank 0 is: right below as many as there are gold personas, or, as the release counts, always below one."""

_LABEL: frozenset[Label] = frozenset({"evidence"})
_THRESHOLDS = 21


@dataclass(frozen=True, slots=True)
class NullRank:
    """The scores of one turn: of its gold personas with the question, of the others, and of the bare question."""

    positives: tuple[float, ...]
    negatives: tuple[float, ...]
    null: float

    def rank(self, ideal: Ideal = "gold") -> int:
        """r of Eq. 9: how many personas score at least as high as the bare question, less how many should.

        0 is right below the positives; -p is above all p of them, +m is below all m negatives. As in the release, a
        tie puts the bare question last.
        """
        above = sum(score >= self.null for score in (*self.positives, *self.negatives))
        return above - (len(self.positives) if ideal == "gold" else 1)


def non_triviality(ranks: Sequence[int], variant: Variant = "T") -> float:
    """Eq. 9: the mean distance of the bare question from rank 0; NaN where no turn has such a rank."""
    variant_ranks = [rank for rank in ranks if _speaks(rank, variant)]
    return (
        sum(_distance(rank, variant) for rank in variant_ranks) / len(variant_ranks) if variant_ranks else float("nan")
    )


def flat_accuracy(positives: Sequence[frozenset[str]], taken: Sequence[frozenset[str]], n: Sequence[int]) -> float:
    """The share of labels that are right, over all personas of all turns; a turn has n of them."""
    wrong = sum(len(gold ^ chosen) for gold, chosen in zip(positives, taken, strict=True))
    return 1 - wrong / sum(n) if sum(n) else float("nan")


def zero_accuracy(turns: Sequence[NullRank]) -> float:
    """0-Acc: persona accuracy where the best persona is taken whatever its score; a tie goes to a negative."""
    labels = sum(len(turn.positives) + len(turn.negatives) for turn in turns)
    return sum(_right_at_zero(turn) for turn in turns) / labels if labels else float("nan")


def candidates(example: Example, source: SourceName) -> int:
    """How many passages of a source a turn chooses from."""
    count = example.meta.get(f"candidates:{source}")
    return int(count) if count is not None else sum(passage.source == source for passage in example.candidates)


@metrics.register("knowledge-accuracy.v1")
class KnowledgeAccuracy(AccuracyAt1):
    """The share of turns whose first knowledge passage is gold."""

    name, title, cite = "knowledge-accuracy", "knowledge accuracy", "PK-ICR, Eq. 3 and Table 2"

    def __init__(self, *, source: SourceName = "KNOWLEDGE") -> None:
        super().__init__(source=source)

    @property
    def about(self) -> About:
        return About(self.title, "up", (0.0, 1.0), self.cite, _LABEL)


class _Personas:
    """Base of persona accuracy and F1: predicted personas are the best k of at least the threshold (Eq. 7)."""

    name: str

    def __init__(self, *, source: SourceName = "PERSONA", k: int = 1, threshold: float = 0.5) -> None:
        at_least(self.name, "k", k, 1)
        self._source = source
        self._k = k
        self._threshold = threshold

    def _labels(self, turn: Judged) -> tuple[frozenset[str], list[tuple[str, float]], int] | None:
        """Gold personas, the best k with their relevance, and the number of candidates; None where not labelled."""
        n = candidates(turn.example, self._source)
        if turn.example.gold.evidence is None or not n:
            return None
        gold = frozenset(gold.id for gold in gold_passages(turn.example) if gold.source == self._source)
        best = sorted(ranking(turn.reply, self._source, "refinement"), key=lambda piece: -piece.relevance)[: self._k]
        if len(gold.union(piece.id for piece in best)) > n:
            raise InputError(
                f"Turn '{turn.example.id}' has {n} candidates of {self._source}, but more are gold or taken.",
                remedy="Keep all candidates of a turn, or their number in its meta.",
                turn=turn.example.id,
            )
        return gold, [(piece.id, piece.relevance) for piece in best], n

    def _counts(self, turns: Sequence[Judged], threshold: float) -> tuple[Floats, list[bool]]:
        """TP, FP, FN and TN of every turn's personas."""
        import numpy as np

        rows = np.zeros((len(turns), 4))
        counted = [False] * len(turns)
        for row, turn in enumerate(turns):
            labels = self._labels(turn)
            if labels is not None:
                gold, best, n = labels
                predicted = {name for name, relevance in best if relevance >= threshold}
                tp, fp, fn = len(predicted & gold), len(predicted - gold), len(gold - predicted)
                rows[row] = tp, fp, fn, n - tp - fp - fn
                counted[row] = True
        return rows, counted


@metrics.register("persona-accuracy.v1")
class PersonaAccuracy(_Personas):
    """The share of personas labelled rightly, over all personas of all turns; high for a system that takes none.

    Details: the accuracy at other thresholds (Figure 5), and `none`, what taking no persona would score.
    """

    name = "persona-accuracy"
    about = About("persona accuracy", "up", (0.0, 1.0), "PK-ICR, Eq. 7 and Table 3", _LABEL)

    def score(self, turns: Sequence[Judged]) -> Scores:
        import numpy as np

        rows, counted = self._counts(turns, self._threshold)
        details: dict[str, Json] = {}
        if any(counted):
            grid = np.linspace(0.0, 1.0, _THRESHOLDS).tolist()
            curve = [float(_accuracy(self._counts(turns, at)[0].sum(axis=0, keepdims=True))[0]) for at in grid]
            none = float(1 - (rows[:, 0] + rows[:, 2]).sum() / rows.sum())
            details = {"none": none, "thresholds": {"threshold": grid, "accuracy": list(curve)}}
        return folded_scores(rows, _accuracy, counted, _accuracy(rows), details)


@metrics.register("persona-f1.v1")
class PersonaF1(_Personas):
    """F1 of the personas taken, over all personas of all turns."""

    name = "persona-f1"
    about = About("persona F1", "up", (0.0, 1.0), "2 TP / (2 TP + FP + FN) over the labels of PK-ICR, Table 3", _LABEL)

    def score(self, turns: Sequence[Judged]) -> Scores:
        rows, counted = self._counts(turns, self._threshold)
        tp, fp, fn, tn = (int(total) for total in rows.sum(axis=0))
        details: dict[str, Json] = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
        return folded_scores(rows, _f1, counted, details=details)


@metrics.register("zero-accuracy.v1")
class ZeroAccuracy:
    """0-Acc: persona accuracy by the joint scores where the best persona is taken on every turn."""

    about = About("0-Acc", "up", (0.0, 1.0), "PK-ICR, Table 4", _LABEL)

    def __init__(self, *, source: SourceName = "PERSONA") -> None:
        self._source = source

    def score(self, turns: Sequence[Judged]) -> Scores:
        import numpy as np

        null_ranks = [null_rank(turn, self._source) for turn in turns]
        rows = np.zeros((len(turns), 2))
        for row, scored in enumerate(null_ranks):
            if scored is not None:
                rows[row] = _right_at_zero(scored), len(scored.positives) + len(scored.negatives)
        each = quotient(rows[:, 0], rows[:, 1])
        return folded_scores(
            rows, lambda sums: quotient(sums[:, 0], sums[:, 1]), [one is not None for one in null_ranks], each
        )


@metrics.register("null-rank.v1")
class NullPositiveRank:
    """The null-positive rank test: how far the bare question ranks from right below the gold personas.

    Details: how often each rank occurs (Figure 4).
    """

    def __init__(self, *, variant: Variant = "T", source: SourceName = "PERSONA", ideal: Ideal = "gold") -> None:
        one_of("null-rank", "variant", variant, ("T", "T2", "T+", "T-"))
        one_of("null-rank", "ideal", ideal, ("gold", "one"))
        self._variant: Variant = variant
        self._source = source
        self._ideal: Ideal = ideal

    @property
    def about(self) -> About:
        title = f"non-triviality {self._variant.replace('T2', 'T^2')}"
        return About(title, "down", (0.0, float("inf")), "PK-ICR, Eq. 9 and Table 4", _LABEL)

    def score(self, turns: Sequence[Judged]) -> Scores:
        import numpy as np

        null_ranks = [null_rank(turn, self._source) for turn in turns]
        ranks = [None if scored is None else scored.rank(self._ideal) for scored in null_ranks]
        per_turn = np.array(
            [
                np.nan if rank is None or not _speaks(rank, self._variant) else _distance(rank, self._variant)
                for rank in ranks
            ],
            dtype=np.float64,
        )
        counts = Counter(rank for rank in ranks if rank is not None)
        return mean_scores(per_turn, {"ranks": {str(rank): counts[rank] for rank in sorted(counts)}})


def null_rank(turn: Judged, source: SourceName = "PERSONA") -> NullRank | None:
    """Return the scores that a retriever stored with a turn's personas; None without scores or labels."""
    example = turn.example
    scored = [piece for piece in ranking(turn.reply, source) if {"joint", "null"} <= piece.scores.keys()]
    if example.gold.evidence is None or not scored:
        return None
    n = candidates(example, source)
    if len(scored) != n:
        raise InputError(
            f"Turn '{example.id}' has {n} candidates of {source}, but joint scores of {len(scored)}.",
            remedy="Retrieve with k at least as large as the number of candidates.",
            turn=example.id,
        )
    golds = example.gold.evidence
    return NullRank(
        tuple(piece.scores["joint"] for piece in scored if piece.id in golds),
        tuple(piece.scores["joint"] for piece in scored if piece.id not in golds),
        scored[0].scores["null"],
    )


def _right_at_zero(turn: NullRank) -> int:
    """Labels right where the one persona with the best score is taken."""
    labels = len(turn.positives) + len(turn.negatives)
    if not labels:
        return 0
    is_top = bool(turn.positives) and (not turn.negatives or max(turn.positives) > max(turn.negatives))
    # found: every positive but the one taken is wrong; else all positives are, and the one taken
    return labels - (len(turn.positives) - 1 if is_top else len(turn.positives) + 1)


def _speaks(rank: int, variant: Variant) -> bool:
    return (variant != "T+" or rank >= 0) and (variant != "T-" or rank <= 0)


def _distance(rank: int, variant: Variant) -> float:
    return float(rank * rank if variant == "T2" else abs(rank))


def _accuracy(sums: Floats) -> Floats:
    return quotient(sums[:, 0] + sums[:, 3], sums.sum(axis=1))


def _f1(sums: Floats) -> Floats:
    return quotient(2 * sums[:, 0], 2 * sums[:, 0] + sums[:, 1] + sums[:, 2])
