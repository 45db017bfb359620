"""Outcomes of a unified model on dev, and their measures: plans, judged candidates, responses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dragoman.core.values import SourceName
from dragoman.models.unified.model import Order
from dragoman.train.loop.measures import calibration_error
from dragoman.train.unified.plan_offsets import macro_f1

_LEAST = 1e-6


@dataclass(frozen=True, slots=True)
class Scored:
    """A judged candidate: source, label, expected similarity, and the loss of its label."""

    source: SourceName
    is_gold: bool
    similarity: float
    loss: float

    @property
    def odds(self) -> float:
        """The log-odds of the expected similarity, which a calibration is fitted to."""
        inside = min(1 - _LEAST, max(_LEAST, self.similarity))
        return math.log(inside / (1 - inside))


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """The model's outcome on one turn; `response` is the loss of each token of the response."""

    id: str
    gold: Order | None
    plan: Mapping[Order, float]
    check: Mapping[Order, float] | None = None
    candidates: tuple[Scored, ...] = ()
    response: tuple[float, ...] = ()


def most_probable(chances: Mapping[Order, float]) -> Order:
    """The order with the largest probability; of equals the shortest."""
    return max(chances, key=lambda order: (chances[order], -len(order)))


def hit_at_1(outcomes: Sequence[TurnOutcome], source: SourceName) -> float:
    """The share of turns whose best candidate of a source is right; turns need a positive and a negative. NaN without
    any."""
    hits = [hit for outcome in outcomes if (hit := _hit(outcome, source)) is not None]
    return sum(hits) / len(hits) if hits else math.nan


def measure_names(sources: Sequence[SourceName]) -> tuple[str, ...]:
    """All names of measures, for any labels and layout."""
    losses = [f"{part}/loss" for part in ("plan", "check", "similarity", "response")]
    hits = ["hit@1", "hit@1/all", *(f"hit@1/{source}" for source in sources)]
    return ("score", "loss", "plan/f1", "check/f1", *hits, "similarity/ece", *losses)


def measures(outcomes: Sequence[TurnOutcome], weights: Mapping[str, float] | None = None) -> dict[str, float]:
    """Losses and measures by name; what dev has no labels for is left out.

    `loss` is Eq. 7's sum by `weights`. `score` is the mean of what is good of each part: macro F1 of plans (and of
    those after reading), hit@1 over the sources, and the mean probability of a response's token.
    """
    values: dict[str, float] = {}
    labelled = [outcome for outcome in outcomes if outcome.gold is not None]
    gold = [outcome.gold for outcome in labelled if outcome.gold is not None]
    good: list[float] = []
    if labelled:
        values["plan/loss"] = _mean([-math.log(max(one.plan[one.gold or ()], 1e-12)) for one in labelled])
        values["plan/f1"] = macro_f1([most_probable(one.plan) for one in labelled], gold)
        good.append(values["plan/f1"])
    read = [(one, one.check) for one in labelled if one.check is not None]
    if read:
        values["check/loss"] = _mean([-math.log(max(check[one.gold or ()], 1e-12)) for one, check in read])
        values["check/f1"] = macro_f1([most_probable(check) for _, check in read], [one.gold or () for one, _ in read])
        good.append(values["check/f1"])
    judged = [one for outcome in outcomes for one in outcome.candidates]
    if judged:
        lists = [_hit(outcome, source) for outcome in outcomes for source in {one.source for one in outcome.candidates}]
        hits_of_all = [float(hit) for hit in lists if hit is not None]
        if hits_of_all:
            values["hit@1/all"] = _mean(hits_of_all)
        values["similarity/loss"] = _mean([one.loss for one in judged])
        values["similarity/ece"] = calibration_error(
            [one.similarity for one in judged], [one.is_gold for one in judged]
        )
        hits = {source: hit_at_1(outcomes, source) for source in dict.fromkeys(one.source for one in judged)}
        values |= {f"hit@1/{source}": value for source, value in hits.items() if not math.isnan(value)}
        if any(not math.isnan(value) for value in hits.values()):
            values["hit@1"] = _mean([value for value in hits.values() if not math.isnan(value)])
            good.append(values["hit@1"])
    response_losses = [loss for outcome in outcomes for loss in outcome.response]
    if response_losses:
        values["response/loss"] = _mean(response_losses)
        good.append(math.exp(-values["response/loss"]))
    parts = {name.partition("/")[0]: value for name, value in values.items() if name.endswith("/loss")}
    values["loss"] = sum((weights or {}).get(name, 1.0) * value for name, value in parts.items())
    values["score"] = _mean(good)
    return values


def _hit(outcome: TurnOutcome, source: SourceName) -> bool | None:
    """Whether the best candidate of a source is right; None without both a positive and a negative. A tie is a miss."""
    mine = [one for one in outcome.candidates if one.source == source]
    if not any(one.is_gold for one in mine) or all(one.is_gold for one in mine):
        return None
    return max(mine, key=lambda one: (one.similarity, not one.is_gold)).is_gold


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan
