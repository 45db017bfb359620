"""Distribution of labels: counts by tenth and source, and how well they separate gold from other candidates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dragoman.train.relevance.candidate_pools import TurnToLabel
from dragoman.train.relevance.label_file import LabelRow

_HALF = 5


@dataclass(frozen=True, slots=True)
class LabelSpread:
    """Counts of labels 0.0, 0.1 .. 1.0: in all, of gold candidates, and of wrong ones."""

    counts: tuple[int, ...]
    gold: tuple[int, ...]
    wrong: tuple[int, ...]

    @property
    def total(self) -> int:
        return sum(self.counts)

    @property
    def high(self) -> int:
        """Number of labels of 0.5 and more."""
        return sum(self.counts[_HALF:])

    @property
    def gold_among_high(self) -> float:
        """Share of gold among labels of 0.5 and more with known truth; NaN without any."""
        right, wrong = sum(self.gold[_HALF:]), sum(self.wrong[_HALF:])
        return right / (right + wrong) if right + wrong else math.nan

    @property
    def auc(self) -> float:
        """ROC-AUC of labels against gold; ties count half; NaN without both classes."""
        won, below = 0.0, 0
        for right, wrong in zip(self.gold, self.wrong, strict=True):
            won += right * (below + wrong / 2)
            below += wrong
        pairs = sum(self.gold) * sum(self.wrong)
        return won / pairs if pairs else math.nan


@dataclass(frozen=True, slots=True)
class LabelSurvey:
    """Labels of a file, in all and by source."""

    all: LabelSpread
    sources: dict[str, LabelSpread]


def survey(turns: Sequence[TurnToLabel], rows: Sequence[LabelRow]) -> LabelSurvey:
    """Count the labels of turns; `rows` are theirs, in order."""
    by_source: dict[str, list[tuple[int, bool | None]]] = {}
    for turn, row in zip(turns, rows, strict=True):
        for pool in turn.pools:
            entries = by_source.setdefault(pool.source.name, [])
            for passage in pool.candidates:
                if passage.id in row.scores:
                    right = None if pool.gold is None else passage.id in pool.gold
                    entries.append((round(row.scores[passage.id] * 10), right))
    declared = dict.fromkeys(source.name for turn in turns for source in turn.example.sources)
    by_source = {name: by_source[name] for name in declared if name in by_source}
    everything = (entry for entries in by_source.values() for entry in entries)
    return LabelSurvey(_spread(everything), {name: _spread(entries) for name, entries in by_source.items()})


def _spread(steps: Iterable[tuple[int, bool | None]]) -> LabelSpread:
    counts, gold, wrong = [0] * 11, [0] * 11, [0] * 11
    for step, right in steps:
        counts[step] += 1
        if right is not None:
            (gold if right else wrong)[step] += 1
    return LabelSpread(tuple(counts), tuple(gold), tuple(wrong))
