"""Candidates of training turns with their labels, and their sampling by epoch."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from dragoman.core.examples import Example
from dragoman.core.values import Passage, SourceName
from dragoman.models.unified.candidates import parents_first
from dragoman.models.unified.model import Order
from dragoman.sources.graph import SourceGraph

Relevance: TypeAlias = Mapping[tuple[str, str], float]
"""Relevance of passages, by ids of turn and passage."""


@dataclass(frozen=True, slots=True)
class LabelledCandidate:
    """A candidate passage; `value` is its label, None without one."""

    passage: Passage
    is_gold: bool
    value: float | None


class CandidateSampler:
    """Sampler of the candidates of turns.

    Inputs:
        sources: those that have a token.
        shared: passages that all turns share; a turn without candidates of its own gets `drawn` of them by chance.
        relevance: labels of a file, where gold alone is not what similarities are learned from.
        by_gold: turns that are learned from gold all the same.
        everywhere: candidates of sources that were not asked are offered too, and labelled 0.
    """

    def __init__(
        self,
        sources: Sequence[SourceName],
        *,
        shared: Sequence[Passage] = (),
        relevance: Relevance | None = None,
        by_gold: frozenset[str] = frozenset(),
        everywhere: bool = True,
        drawn: int = 24,
    ) -> None:
        self._sources = sources
        self._relevance = relevance
        self._by_gold = by_gold
        self._everywhere = everywhere
        self._drawn = drawn
        self._by_id = {passage.id: passage for passage in shared}
        self._shared: dict[SourceName, list[Passage]] = {}
        for passage in shared:
            self._shared.setdefault(passage.source, []).append(passage)

    def of(self, example: Example, plan: Order | None, dice: random.Random) -> list[LabelledCandidate]:
        """All candidates of a turn, parents first; of equal ones only the positive."""
        if example.gold.evidence is None and self._relevance is None:
            return []
        names = self._sources if self._everywhere else (plan or ())
        right = self.right(example)
        golden = {passage.id for passage in right}
        by_text: dict[tuple[str, str, str | None], LabelledCandidate] = {}
        for passage in (*right, *example.candidates, *self._more(example, names, dice)):
            if passage.source in names:
                is_gold = passage.id in golden
                offer = LabelledCandidate(passage, is_gold, self._value(example, plan, passage, is_gold))
                by_text.setdefault((passage.source, passage.text, passage.parent), offer)
        by_id = {offer.passage.id: offer for offer in by_text.values()}
        return [by_id[passage.id] for passage in parents_first(offer.passage for offer in by_text.values())]

    def right(self, example: Example) -> list[Passage]:
        """Return the gold evidence of a turn that is among its passages."""
        own = {passage.id: passage for passage in example.candidates}
        passages = (own.get(key) or self._by_id.get(key) for key in example.gold.evidence or ())
        return [passage for passage in passages if passage is not None]

    def _more(self, example: Example, wanted: Iterable[SourceName], dice: random.Random) -> Iterator[Passage]:
        """Draw passages of shared sources without candidates in the turn."""
        own = {passage.source for passage in example.candidates}
        for source in wanted:
            pool = self._shared.get(source, [])
            if pool and source not in own:
                yield from dice.sample(pool, min(len(pool), self._drawn))

    def _value(self, example: Example, plan: Order | None, passage: Passage, is_gold: bool) -> float | None:
        if self._relevance is None or example.id in self._by_gold:
            return float(is_gold)
        label = self._relevance.get((example.id, passage.id))
        if label is None and plan is not None and passage.source not in plan:
            return 0.0  # files label what was asked for; what was not is of no use
        return label


def with_likely_labels(example: Example, relevance: Relevance, *, least: float = 0.5) -> Example:
    """Add a likely plan and evidence from relevance labels to turns that have only a reply; others stay unchanged.

    Evidence is what is at least as relevant as `least`, the plan its sources with what they need.
    """
    gold = example.gold
    scores = {one.id: relevance.get((example.id, one.id)) for one in example.candidates}
    if gold.plan is not None or gold.evidence is not None or all(score is None for score in scores.values()):
        return example
    taken = [one for one in example.candidates if (scores[one.id] or 0.0) >= least]
    plan = SourceGraph(example.sources).plan(one.source for one in taken).sources
    return replace(example, gold=replace(gold, plan=plan, evidence=tuple(one.id for one in taken)))


def sample_candidates(offers: Sequence[LabelledCandidate], most: int, dice: random.Random) -> list[LabelledCandidate]:
    """Sample at most `most` candidates in random order; positives, and parents of sampled ones, are always included."""
    by_id = {offer.passage.id: offer for offer in offers}
    shuffled = list(offers)
    dice.shuffle(shuffled)
    taken: dict[str, LabelledCandidate] = {}

    def line(offer: LabelledCandidate) -> list[LabelledCandidate]:
        """Return a candidate and its parents that are not taken yet."""
        chain = [offer]
        while (above := by_id.get(chain[-1].passage.parent or "")) is not None and above not in chain:
            chain.append(above)
        return [each for each in chain if each.passage.id not in taken]

    for is_gold in (True, False):
        for offer in shuffled:
            if offer.is_gold is is_gold:
                new = line(offer)
                if is_gold or len(taken) + len(new) <= most:
                    taken |= {each.passage.id: each for each in new}
    order = [offer.passage for offer in shuffled if offer.passage.id in taken]
    return [taken[passage.id] for passage in parents_first(order)]


def with_distractors(
    right: Sequence[LabelledCandidate], offers: Sequence[LabelledCandidate], most: int, dice: random.Random
) -> list[LabelledCandidate]:
    """The positives with up to `most` negatives of the same sources, in random order."""
    sources = {offer.passage.source for offer in right}
    wrong = [one for one in offers if not one.is_gold and one.passage.source in sources and one.value is not None]
    count = min(len(wrong), dice.randint(0, most) if right else 0)
    rows = [*right, *dice.sample(wrong, count)]
    dice.shuffle(rows)
    return rows
