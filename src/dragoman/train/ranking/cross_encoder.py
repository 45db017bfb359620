"""Training task of a cross-encoder: one trunk reads query and passage together and scores the pair.

A row is a question with its list: positives, own candidates and mined negatives. The list-wise loss ranks the
positives first, binary cross-entropy makes the score a log-odds, so that it can be calibrated.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from dragoman.core.errors import TrainingError
from dragoman.models.torch.trunk import Tokens, Trunk, at_once, score
from dragoman.retriever.trained import HEAD
from dragoman.train.ranking.bi_encoder import Negatives
from dragoman.train.ranking.losses import contrastive, first_right, hit_and_mrr, pair_loss
from dragoman.train.ranking.negatives import Analyse, Hard, Mined, by_words, draw_negatives
from dragoman.train.ranking.pairs import RankingPairs
from dragoman.train.spec import Recipe

_WIDEST = 64
"""Own candidates of a question that the model scores in mining; a random sample if there are more."""


class CrossTask:
    """Training of pair scores: Eq. 5 over each question's list, plus `judging` times binary cross-entropy."""

    def __init__(
        self,
        trunk: Trunk,
        tokens: Tokens,
        train: RankingPairs,
        dev: RankingPairs,
        *,
        recipe: Recipe,
        negatives: Negatives,
        judging: float,
        positives: int,
        mined: Mined,
        analyse: Analyse,
        device: str = "cpu",
    ) -> None:
        self._trunk = trunk.to(device)
        self.tokens = tokens
        self._train = train
        self._dev = dev
        self._recipe = recipe
        self._negatives = negatives
        self._judging = judging
        self._positives = positives
        self._mined = mined
        self._device = device
        self._epoch = 0
        self._rows = list(range(len(train.questions)))
        if sum(bool(question.gold) for question in train.questions) < 2:
            raise TrainingError("There are no two questions to learn from.", remedy="Give more turns with evidence.")
        self._words: Hard = by_words(train, analyse, negatives.words) if negatives.words else {}
        self._hard: Hard = self._words

    @property
    def model(self) -> Trunk:
        return self._trunk

    @property
    def head_parameters(self) -> frozenset[str]:
        return self._trunk.head_parameters

    def batches(self, epoch: int) -> Sequence[Sequence[int]]:
        """Return shuffled questions, grouped by length."""
        self._epoch = epoch
        if self._negatives.mined and epoch >= self._negatives.after:
            negatives = self._mined.get(epoch, self._mine)
            self._hard = {row: (*negatives.get(row, ()), *self._words.get(row, ())) for row in self._rows}
        dice = random.Random(f"{self._recipe.train.seed}/{epoch}")
        order = list(self._rows)
        dice.shuffle(order)
        size = self._recipe.train.batch
        chunks = [order[start : start + 8 * size] for start in range(0, len(order), 8 * size)]
        by_length = [sorted(chunk, key=lambda row: len(self._train.questions[row].text)) for chunk in chunks]
        batches = [chunk[start : start + size] for chunk in by_length for start in range(0, len(chunk), size)]
        dice.shuffle(batches)
        return batches

    def loss(self, batch: Sequence[int]) -> Tensor:
        lists = [self._candidate_list(row) for row in batch]
        pairs = [
            (self._train.questions[row].text, self._train.texts[place])
            for row, places in zip(batch, lists, strict=True)
            for place in places
        ]
        flat = self._scores(pairs)
        widest = max(map(len, lists))
        shape = (len(batch), widest)
        right, counted = torch.zeros(shape, dtype=torch.bool), torch.zeros(shape, dtype=torch.bool)
        for i, (row, places) in enumerate(zip(batch, lists, strict=True)):
            counted[i, : len(places)] = True
            gold = self._train.questions[row].gold
            right[i, : len(places)] = torch.tensor([place in gold for place in places])
        right, counted = right.to(self._device), counted.to(self._device)
        scores = flat.new_zeros(shape).masked_scatter(counted, flat)  # (Q, L)
        loss = contrastive(scores, right, counted & ~right)
        return loss + self._judging * pair_loss(scores, right, counted) if self._judging else loss

    def _candidate_list(self, row: int) -> tuple[int, ...]:
        """Return a question's list in this epoch."""
        question, settings = self._train.questions[row], self._negatives
        dice = random.Random(f"{self._recipe.train.seed}/{self._epoch}/{row}")
        gold = sorted(question.gold)
        right = gold if len(gold) <= self._positives else dice.sample(gold, self._positives)
        hard = self._hard.get(row, ())
        own, others = draw_negatives(
            question, hard, own=settings.own, mined=max(settings.words, settings.mined), dice=dice
        )
        return (*right, *own, *others)

    def _scores(self, pairs: Sequence[tuple[str, str]]) -> Tensor:
        """Return the scores of pairs with gradients, (N,)."""
        encodings = self.tokens.encode(pairs)
        order = sorted(range(len(encodings)), key=lambda row: len(encodings[row].ids))
        scores = []
        size = at_once(self._device)
        for start in range(0, len(order), size):
            rows = self.tokens.rows([encodings[row] for row in order[start : start + size]], self._device)
            scores.append(self._trunk(rows)[HEAD][:, 0].float())
        back = torch.empty(len(order), dtype=torch.long, device=self._device)
        back[torch.tensor(order, device=self._device)] = torch.arange(len(order), device=self._device)
        return torch.cat(scores)[back]

    def _mine(self) -> Hard:
        """Mine the own candidates of each question that this model ranks high and that are wrong."""
        looked: list[tuple[int, int]] = []
        for row, question in enumerate(self._train.questions):
            wrong = question.wrong
            if len(wrong) > self._negatives.own:  # else all of them are in the list anyway
                dice = random.Random(f"{self._recipe.train.seed}/{row}/mine/{self._epoch}")
                sample = wrong if len(wrong) <= _WIDEST else dice.sample(wrong, _WIDEST)
                looked += [(row, place) for place in sample]
        texts = [(self._train.questions[row].text, self._train.texts[place]) for row, place in looked]
        scores = score(self._trunk, self.tokens, texts, HEAD, device=self._device)[:, 0].tolist() if texts else []
        by_row: dict[int, list[tuple[float, int]]] = {}
        for (row, place), value in zip(looked, scores, strict=True):
            by_row.setdefault(row, []).append((-value, place))
        most = max(self._negatives.mined, self._negatives.own)
        return {row: tuple(place for _, place in sorted(scored)[:most]) for row, scored in by_row.items()}

    def measure(self) -> Mapping[str, float]:
        texts = pair_texts(self._dev)
        return ranking_measures(
            self._dev, score(self._trunk, self.tokens, texts, HEAD, device=self._device)[:, 0].tolist()
        )


def pair_texts(pairs: RankingPairs) -> list[tuple[str, str]]:
    """Return every question with every candidate, in order."""
    return [(question.text, pairs.texts[place]) for question in pairs.questions for place in question.candidates]


def ranking_measures(pairs: RankingPairs, scores: Sequence[float]) -> dict[str, float]:
    """`hit@1` and `mrr` over the offered candidates, in all and by source; `/all` means over all candidates; also the
    list-wise and the pair losses. `scores` has one score per text of `pair_texts`."""
    ranks: dict[str, list[int | None]] = {"": []}
    lists, at = [], 0
    for question in pairs.questions:
        own = dict(zip(question.candidates, scores[at : at + len(question.candidates)], strict=True))
        at += len(question.candidates)
        right = torch.tensor([[place in question.gold for place in own]])
        values = torch.tensor([list(own.values())])
        lists.append(
            float(contrastive(values, right, ~right)) + float(pair_loss(values, right, torch.ones_like(right)))
        )
        if question.gold:
            rank = _rank(question.offered, own, question.gold)
            ranks[""].append(rank)
            ranks.setdefault(f"/{question.source}", []).append(rank)
            whole = _rank(question.candidates, own, question.gold)
            ranks.setdefault(f"/{question.source}/all", []).append(whole)
    measures = {
        f"{name}{suffix}": value for suffix, these in ranks.items() for name, value in hit_and_mrr(these).items()
    }
    return measures | {"loss": sum(lists) / max(1, len(lists))}


def _rank(places: Sequence[int], own: Mapping[int, float], gold: frozenset[int]) -> int | None:
    return first_right([own[place] for place in places], [place in gold for place in places])
