"""How labels are distributed: counts by tenth and source, and how well they tell what is right from what is not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dragoman.train.relevance.candidate_pools import TurnToLabel
from dragoman.train.relevance.label_file import LabelRow

_HALF = 5


@dataclass(frozen=True, slots=True)
class LabelSpread:
    """How many labels there are of 0.0, 0.1 .. 1.0: in all, of what is right, and of what is known to be wrong."""

    counts: tuple[int, ...]
    gold: tuple[int, ...]
    wrong: tuple[int, ...]

    @property
    def total(self) -> int:
        return sum(self.counts)

    @property
    def high(self) -> int:
        """Labels of 0.5 and more."""
        return sum(self.counts[_HALF:])

    @property
    def gold_among_high(self) -> float:
        """Of the labels of 0.5 and more whose truth is known, the share that is right; NaN where there are none."""
        right, wrong = sum(self.gold[_HALF:]), sum(self.wrong[_HALF:])
        return right / (right + wrong) if right + wrong else math.nan

    @property
    def auc(self) -> float:
        """ROC-AUC: the chance that a right one is labelled above a wrong one, ties half; NaN without one of each."""
        won, below = 0.0, 0
        for right, wrong in zip(self.gold, self.wrong, strict=True):
            won += right * (below + wrong / 2)
            below += wrong
        pairs = sum(self.gold) * sum(self.wrong)
        return won / pairs if pairs else math.nan


@dataclass(frozen=True, slots=True)
class LabelSurvey:
    """The labels of a file, in all and by source."""

    all: LabelSpread
    sources: dict[str, LabelSpread]


def survey(turns: Sequence[TurnToLabel], rows: Sequence[LabelRow]) -> LabelSurvey:
    """Count the labels of some turns; rows are theirs, in order."""
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
