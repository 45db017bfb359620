"""Persona and knowledge consistency by SAFARI's four cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from dragoman.core.errors import ConfigError, InputError
from dragoman.core.examples import Example
from dragoman.core.protocols import Critic
from dragoman.core.registry import metrics
from dragoman.core.values import Evidence, Passage, SourceName
from dragoman.critic import grounding
from dragoman.evaluate.contract import About, Judged, Scores, mean_scores
from dragoman.evaluate.metrics.options import one_of
from dragoman.evaluate.metrics.plan import Orphans, choice

Case: TypeAlias = Literal["both", "only gold", "only plan", "neither"]
CASES: tuple[Case, ...] = ("both", "only gold", "only plan", "neither")
_PAIRS_AT_ONCE = 256


@metrics.register("consistency.v1")
class Consistency:
    """The mean over turns of C(r, g) in [0, 1]: P.C where `source` is the persona, K.C where it is the documents.

    A turn is worth 1 where neither the gold evidence nor the reply's plan uses the source, 0 where only one of the two
    does, and what the critic says of (gold evidence, reply) where both do: 1 from probability one half on, else 0, as
    the paper's NLI(r, g) is a label; with `hard=False` the probability itself. An empty reply entails nothing and is
    worth 0 there. A plan that asks a source without one it needs counts as it stands, or, with `orphans="null"` as in
    SAFARI's release, as NULL.

    `source` may name several, which then count as one. `critic` is a component: an experiment names its kind and the
    runner builds it with the models of the run. `passages` are those that the set's turns share; gold evidence is
    looked up among a turn's candidates first. Several pieces of gold evidence are joined as in the paper's code, by a
    Chinese comma, in other languages by a space.
    """

    def __init__(
        self,
        *,
        source: SourceName | Sequence[SourceName],
        critic: Critic,
        hard: bool = True,
        orphans: Orphans = "keep",
        title: str = "",
        passages: Mapping[str, Passage] | None = None,
    ) -> None:
        self._sources = frozenset([source] if isinstance(source, str) else source)
        if not self._sources:
            raise ConfigError("metric.consistency: no source is named.", remedy="Give source, as in source='persona'.")
        one_of("consistency", "orphans", orphans, ("null", "keep"))
        self._critic = critic
        self._hard = hard
        self._orphans: Orphans = orphans
        self._title = title or f"consistency with {' and '.join(sorted(self._sources))}"
        self._passages = passages or {}

    @property
    def about(self) -> About:
        return About(self._title, "up", (0.0, 1.0), "Wang et al. 2023 (SAFARI), Eq. 4-7", frozenset({"evidence"}))

    def score(self, turns: Sequence[Judged]) -> Scores:
        import numpy as np

        rows = [row for row, turn in enumerate(turns) if turn.example.gold.evidence is not None]
        gold = [self._gold(turns[row].example) for row in rows]
        choices = [choice(turns[row].reply.plan, turns[row].example.sources, self._orphans) for row in rows]
        used = [not self._sources.isdisjoint(asked) for asked in choices]
        replies = [turns[row].reply.text for row in rows]
        values = consistency(gold, used, replies, critic=self._critic, hard=self._hard)
        per_turn = np.full(len(turns), np.nan)
        per_turn[rows] = values
        cases = [case(bool(g), u) for g, u in zip(gold, used, strict=True)]
        return mean_scores(per_turn, {"cases": {name: cases.count(name) for name in CASES}})

    def _gold(self, example: Example) -> tuple[Passage, ...]:
        """The gold evidence of the source, in the set's order."""
        candidates = {passage.id: passage for passage in example.candidates}
        passages = []
        for name in example.gold.evidence or ():
            passage = candidates.get(name) or self._passages.get(name)
            if passage is None:
                raise InputError(
                    f"The gold evidence '{name}' of turn '{example.id}' is neither a candidate nor a shared passage.",
                    remedy="Check the set with `dragoman data check`, or give the set's shared passages to the metric.",
                    turn=example.id,
                )
            if passage.source in self._sources:
                passages.append(passage)
        return tuple(passages)


def case(gold: bool, used: bool) -> Case:
    """Which of Eq. 4's four cases a turn is."""
    if gold:
        return "both" if used else "only gold"
    return "only plan" if used else "neither"


def consistency(
    gold: Sequence[Sequence[Passage]],
    used: Sequence[bool],
    replies: Sequence[str],
    *,
    critic: Critic,
    hard: bool = True,
) -> list[float]:
    """C(r, g) of each turn (SAFARI, Eq. 4): its gold evidence of a source, whether the plan used it, and the reply."""
    values = [
        1.0 if case(bool(passages), plan) == "neither" else 0.0 for passages, plan in zip(gold, used, strict=True)
    ]
    asked = [
        row
        for row, (passages, plan) in enumerate(zip(gold, used, strict=True))
        if case(bool(passages), plan) == "both" and replies[row].strip()
    ]
    for start in range(0, len(asked), _PAIRS_AT_ONCE):
        rows = asked[start : start + _PAIRS_AT_ONCE]
        probabilities = critic.consistency([(join_evidence(gold[row]), replies[row]) for row in rows])
        for row, probability in zip(rows, probabilities, strict=True):
            values[row] = float(probability >= 0.5) if hard else float(probability)  # NLI(r, g), Eq. 5
    return values


def join_evidence(passages: Sequence[Passage]) -> Evidence:
    """Several passages as the one piece of evidence that a reply is held to, as the critic was trained on it."""
    return Evidence(grounding.join_passages(passages), 1.0)
