"""Accuracy of a critic by kind of pair, and the rows for its calibration."""

from __future__ import annotations

import random
from collections.abc import Sequence

from dragoman.models.calibration import Calibration
from dragoman.train.critic.groundings import HARD, NEGATIVES, LabelledPair

_HALF = 0.5


def figures(rows: Sequence[LabelledPair], probabilities: Sequence[float]) -> dict[str, float]:
    """Balanced accuracies: (the share of gold pairs that are accepted + the share of negatives rejected) / 2.

    `random` is what the papers print (as many random negatives as positives); `hard` takes all other negatives
    together; `accuracy` is the mean of the two. `sibling`, `number`, ... are of one kind of negative; `random/SOURCE`
    and `hard/SOURCE` of one source. `accepted` is the share of accepted gold pairs, `accepted_echo` that of pairs with
    the same edit on both sides. Measures without rows are left out.
    """
    right = [(probability >= _HALF) == row.consistent for row, probability in zip(rows, probabilities, strict=True)]
    measures: dict[str, float] = {}
    accepted = _share(rows, right, ("gold",))
    if accepted is None:
        return measures
    measures["accepted"] = accepted
    echo = _share(rows, right, ("echo",))
    if echo is not None:
        measures["accepted_echo"] = echo
    groups = {"random": ("random",), "hard": HARD} | {kind: (kind,) for kind in HARD}
    for name, kinds in groups.items():
        rejected = _share(rows, right, kinds)
        if rejected is not None:
            measures[name] = (accepted + rejected) / 2
    for source in dict.fromkeys(row.source for row in rows):
        own = _share(rows, right, ("gold",), source)
        for name in ("random", "hard"):
            rejected = _share(rows, right, groups[name], source)
            if own is not None and rejected is not None:
                measures[f"{name}/{source}"] = (own + rejected) / 2
    both = [measures[name] for name in ("random", "hard") if name in measures]
    if both:
        measures["accuracy"] = sum(both) / len(both)
    return measures


def balanced(rows: Sequence[LabelledPair], *, seed: int) -> list[int]:
    """The rows for calibration: each gold pair with one of its negatives, alternately a random and a hard one.

    With as many consistent pairs as others, a probability of 0.5 is the even chance. `rows` are those of `every_kind`:
    a gold pair, then the pairs made from it.
    """
    dice = random.Random(seed)
    groups: list[list[int]] = []
    for place, row in enumerate(rows):
        if row.kind == "gold":
            groups.append([])
        if groups:
            groups[-1].append(place)
    chosen: list[int] = []
    for number, group in enumerate(groups):
        kinds = HARD if number % 2 else ("random",)
        fitting = [place for place in group if rows[place].kind in kinds]
        other = fitting or [place for place in group if rows[place].kind in NEGATIVES]
        chosen += [group[0], dice.choice(other)] if other else [group[0]]
    return chosen


def probabilities(scores: Sequence[float], calibration: Calibration) -> list[float]:
    """Scores as probabilities."""
    return [calibration.probability(float(score)) for score in scores]


def _share(
    rows: Sequence[LabelledPair], right: Sequence[bool], kinds: Sequence[str], source: str | None = None
) -> float | None:
    chosen = [
        is_right
        for row, is_right in zip(rows, right, strict=True)
        if row.kind in kinds and (source is None or row.source == source)
    ]
    return sum(chosen) / len(chosen) if chosen else None
