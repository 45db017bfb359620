"""Vectors of a bi-encoder for pairs, with the scores and measures of questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from dragoman.core.values import SourceName
from dragoman.retriever.repetition_penalty import RepetitionPenalty
from dragoman.train.ranking.losses import contrastive, first_right, hit_and_mrr
from dragoman.train.ranking.pairs import RankingPairs, RankingQuestion

Embed = Callable[[Sequence[str]], Tensor]
"""Function from texts to unit vectors, (N, D)."""


@dataclass(frozen=True, slots=True)
class PairVectors:
    """Unit vectors of questions, (Q, D), of texts, (N, D), and of earlier replies."""

    pairs: RankingPairs
    queries: Tensor
    texts: Tensor
    replies: Mapping[str, Tensor]
    said: Mapping[SourceName, RepetitionPenalty]

    @classmethod
    def of(
        cls,
        pairs: RankingPairs,
        embed: Embed,
        shares: Mapping[str, float],
        said: Mapping[SourceName, RepetitionPenalty],
    ) -> PairVectors:
        """Encode the texts of pairs; the components of a query have the weights `shares`, by default 1."""
        parts = _by_text(embed, (text for question in pairs.questions for text in question.said.values()))
        replies = (text for question in pairs.questions if question.source in said for text in question.replied)
        rows = [
            torch.stack([shares.get(name, 1.0) * parts[text] for name, text in question.said.items()]).sum(0)
            for question in pairs.questions
        ]
        queries = nn.functional.normalize(torch.stack(rows), dim=-1)
        return cls(pairs, queries, embed(pairs.texts), _by_text(embed, replies), said)

    def scores(self, nth: int, places: Sequence[int]) -> Tensor:
        """Return the nth question's cosines with texts, minus repetition penalties."""
        question, among = self.pairs.questions[nth], self.texts[list(places)]
        cosines = among @ self.queries[nth]
        penalty = self.said.get(question.source)
        if penalty is None or not question.replied:
            return cosines
        replies = torch.stack([self.replies[text] for text in question.replied])
        return cosines - penalty.slope * ((among @ replies.T).amax(1) - penalty.beyond).clamp(min=0)

    def measured(self) -> dict[str, float]:
        """`hit@1` and `mrr` over the offered candidates, in all and by source; `/all` means over all candidates."""
        ranks: dict[str, list[int | None]] = {"": []}
        for nth, question in enumerate(self.pairs.questions):
            if not question.gold:
                continue
            rank = self._rank(nth, question, question.offered)
            same = question.offered == question.candidates
            whole = rank if same else self._rank(nth, question, question.candidates)
            ranks[""].append(rank)
            ranks.setdefault(f"/{question.source}", []).append(rank)
            ranks.setdefault(f"/{question.source}/all", []).append(whole)
        return {
            f"{name}{suffix}": value for suffix, values in ranks.items() for name, value in hit_and_mrr(values).items()
        }

    def loss(self, coldness: float) -> float:
        """Eq. 5 over each question's own candidates."""
        losses = []
        for nth, question in enumerate(self.pairs.questions):
            right = torch.tensor([[place in question.gold for place in question.candidates]])
            if bool(right.any()):
                scores = self.scores(nth, question.candidates).unsqueeze(0) * coldness
                losses.append(float(contrastive(scores, right, ~right)))
        return sum(losses) / max(1, len(losses))

    def _rank(self, nth: int, question: RankingQuestion, places: Sequence[int]) -> int | None:
        return first_right(self.scores(nth, places).tolist(), [place in question.gold for place in places])


def _by_text(embed: Embed, texts: Iterable[str]) -> dict[str, Tensor]:
    each = list(dict.fromkeys(texts))
    return dict(zip(each, embed(each), strict=True)) if each else {}
