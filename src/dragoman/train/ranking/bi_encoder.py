"""Training task of a bi-encoder: one trunk encodes queries and passages, and cosines rank them.

A row is a question. A batch encodes each text once: for every question its positives, its own candidates and mined
negatives; a positive of one question is a negative for others of the same source.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from dragoman.core.errors import TrainingError
from dragoman.core.values import SourceName
from dragoman.models.torch.trunk import Encoded, Pooling, Tokens, Trunk, at_once, embed
from dragoman.retriever.repetition_penalty import RepetitionPenalty
from dragoman.retriever.vectors import MIX
from dragoman.train.ranking.losses import contrastive
from dragoman.train.ranking.negatives import Analyse, Hard, Mined, by_vectors, by_words, draw_negatives
from dragoman.train.ranking.pairs import RankingPairs, RankingQuestion
from dragoman.train.ranking.vectors import PairVectors
from dragoman.train.spec import Recipe

_COLDEST = 100.0
"""Largest factor of cosines."""
_SLOPE, _BEYOND = 0.2, 0.5
"""Initial values of the repetition penalty."""


class Towers(Trunk):
    """Trunk with the parameters of training and queries: temperature, weights of a mix, and repetition penalties of
    the sources in `said`.

    Both towers share the trunk. Parameters in `beside` are not exported with the model.
    """

    def __init__(self, trunk: Trunk, *, temperature: float, mix: bool, said: Sequence[SourceName] = ()) -> None:
        pooling: Pooling = trunk.pooling
        super().__init__(trunk.encoder, {}, pooling=pooling)
        self.keep_fixed(trunk)
        self.sources = tuple(said)
        self.beside = nn.ParameterDict({"coldness": nn.Parameter(torch.tensor(-math.log(temperature)))})
        if mix:
            self.beside["mix"] = nn.Parameter(torch.zeros(len(MIX)))
        if said:
            self.beside["slope"] = nn.Parameter(torch.full((len(said),), _SLOPE))
            self.beside["beyond"] = nn.Parameter(torch.full((len(said),), _BEYOND))

    @property
    def coldness(self) -> Tensor:
        """Factor of cosines: one over the temperature."""
        factor: Tensor = self.beside["coldness"].exp().clamp(max=_COLDEST)
        return factor

    def shares(self) -> dict[str, Tensor]:
        """Weights of the components of a query; default 1."""
        if "mix" not in self.beside:
            return {}
        return dict(zip(MIX, torch.softmax(self.beside["mix"], 0), strict=True))

    def said(self) -> dict[SourceName, RepetitionPenalty]:
        """Learned repetition penalty by source."""
        if not self.sources:
            return {}
        learned = zip(self.beside["slope"].tolist(), self.beside["beyond"].tolist(), strict=True)
        return {
            name: RepetitionPenalty(slope, beyond) for name, (slope, beyond) in zip(self.sources, learned, strict=True)
        }

    def lost(self, nearness: Tensor, sources: Sequence[SourceName]) -> Tensor:
        """Return the penalties of texts, (Q, P), from their cosines with the nearest reply, (Q, P)."""
        places = [self.sources.index(name) for name in sources]
        slope, beyond = self.beside["slope"][places], self.beside["beyond"][places]
        loss: Tensor = slope[:, None] * (nearness - beyond[:, None]).clamp(min=0)
        return loss


@dataclass(frozen=True, slots=True)
class Negatives:
    """Numbers of negatives per question: own candidates, by BM25, and mined by the model from epoch `after` on (with
    its `ceiling`)."""

    own: int
    words: int
    mined: int
    after: int
    ceiling: float


class BiTask:
    """Contrastive training by Eq. 5 over the batch, and over each question's own candidates (`listwise`)."""

    head_parameters = ("beside",)

    def __init__(
        self,
        towers: Towers,
        tokens: Tokens,
        train: RankingPairs,
        dev: RankingPairs,
        *,
        recipe: Recipe,
        negatives: Negatives,
        listwise: float,
        positives: int,
        mined: Mined,
        analyse: Analyse,
        device: str = "cpu",
    ) -> None:
        self._towers = towers.to(device)
        self.tokens = tokens
        self._train = train
        self._dev = dev
        self._recipe = recipe
        self._negatives = negatives
        self._listwise = listwise
        self._positives = positives
        self._mined = mined
        self._device = device
        self._epoch = 0
        self._rows = [place for place, question in enumerate(train.questions) if question.gold]
        if len(self._rows) < 2:
            raise TrainingError(
                f"There is {len(self._rows)} question to learn from.", remedy="Give more turns with evidence."
            )
        self._encoded = tokens.encode(train.texts)
        self._said = [dict(zip(q.said, tokens.encode(list(q.said.values())), strict=True)) for q in train.questions]
        replies = [q.replied if q.source in towers.sources else () for q in train.questions]
        self._replied = [tokens.encode(list(replied)) for replied in replies]
        self._words: Hard = by_words(train, analyse, negatives.words) if negatives.words else {}
        self._hard: Hard = self._words

    @property
    def model(self) -> Towers:
        return self._towers

    def batches(self, epoch: int) -> Sequence[Sequence[int]]:
        """Return shuffled questions; from epoch `after` on, negatives are mined first."""
        self._epoch = epoch
        if self._negatives.mined and epoch >= self._negatives.after:
            negatives = self._mined.get(epoch, self._mine)
            self._hard = {row: (*negatives.get(row, ()), *self._words.get(row, ())) for row in self._rows}
        order = list(self._rows)
        random.Random(f"{self._recipe.train.seed}/{epoch}").shuffle(order)
        size = self._recipe.train.batch
        return [order[start : start + size] for start in range(0, len(order), size)]

    def loss(self, batch: Sequence[int]) -> Tensor:
        questions = [self._train.questions[row] for row in batch]
        taken = [self._batch_texts(row) for row in batch]
        places = list(dict.fromkeys(place for own, other in taken for place in (*own, *other)))
        right, wrong, own = self._masks(questions, taken, places)
        vectors = self._vectors([self._encoded[place] for place in places])  # (P, D)
        queries = self._queries([self._said[row] for row in batch])  # (Q, D)
        replies = self._replies(batch)
        with torch.autocast(vectors.device.type, enabled=False):  # half the digits cannot tell near cosines apart
            scores = (queries @ vectors.T - self._lost(batch, replies, vectors)) * self._towers.coldness
            loss = contrastive(scores, right & own, wrong)
            if self._listwise:
                loss = loss + self._listwise * contrastive(scores, right & own, wrong & own)
        return loss

    def _batch_texts(self, row: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the texts of a question in its batch: positives, own negatives and mined ones."""
        question, settings = self._train.questions[row], self._negatives
        dice = random.Random(f"{self._recipe.train.seed}/{self._epoch}/{row}")
        gold = sorted(question.gold)
        right = gold if len(gold) <= self._positives else dice.sample(gold, self._positives)
        hard = self._hard.get(row, ())
        own, others = draw_negatives(
            question, hard, own=settings.own, mined=max(settings.words, settings.mined), dice=dice
        )
        return (*right, *own), others

    def _masks(
        self,
        questions: Sequence[RankingQuestion],
        taken: Sequence[tuple[tuple[int, ...], tuple[int, ...]]],
        places: list[int],
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the masks of positives, negatives and own candidates, each (Q, P). A text is a negative only for
        questions of its source, since it may be a positive of another source."""
        column = {place: i for i, place in enumerate(places)}
        by_source = {question.source: torch.zeros(len(places), dtype=torch.bool) for question in questions}
        for question, (mine, others) in zip(questions, taken, strict=True):
            by_source[question.source][[column[place] for place in (*mine, *others)]] = True
        right, own = (torch.zeros((len(questions), len(places)), dtype=torch.bool) for _ in range(2))
        for i, (question, (mine, _)) in enumerate(zip(questions, taken, strict=True)):
            right[i, [column[place] for place in question.gold if place in column]] = True
            own[i, [column[place] for place in mine]] = True
        wrong = torch.stack([by_source[question.source] for question in questions]) & ~right
        return right.to(self._device), wrong.to(self._device), own.to(self._device)

    def _queries(self, query_parts: Sequence[Mapping[str, Encoded]]) -> Tensor:
        """Return the unit vectors of queries: the weighted sum of their components."""
        encodings = [encoding for parts in query_parts for encoding in parts.values()]
        vectors = iter(self._vectors(encodings))
        shares = self._towers.shares()
        mixed = [torch.stack([shares.get(name, 1.0) * next(vectors) for name in parts]).sum(0) for parts in query_parts]
        return nn.functional.normalize(torch.stack(mixed), dim=-1)

    def _replies(self, batch: Sequence[int]) -> Tensor | None:
        """Return the unit vectors of the batch's earlier replies, (R, D); None if there are none."""
        replied = [encoding for row in batch for encoding in self._replied[row]]
        return self._vectors(replied) if replied else None

    def _lost(self, batch: Sequence[int], replies: Tensor | None, vectors: Tensor) -> Tensor | float:
        """Return the penalties of the batch's texts for its questions, (Q, P), by the nearest earlier reply."""
        if replies is None:
            return 0.0
        replied = [self._replied[row] for row in batch]
        near = replies @ vectors.T  # (R, P)
        never = torch.full_like(vectors[:, 0], -1.0)  # (P,): nothing was said
        apart = torch.split(near, [len(each) for each in replied])
        nearest = [rows.amax(0) if len(rows) else never for rows in apart]
        return self._towers.lost(torch.stack(nearest), [self._train.questions[row].source for row in batch])

    def _vectors(self, encodings: Sequence[Encoded]) -> Tensor:
        """Return unit vectors with gradients, (N, D)."""
        order = sorted(range(len(encodings)), key=lambda row: len(encodings[row].ids))
        vectors = []
        size = at_once(self._device)
        for start in range(0, len(order), size):
            rows = self.tokens.rows([encodings[row] for row in order[start : start + size]], self._device)
            vectors.append(self._towers.vectors(rows).float())
        back = torch.empty(len(order), dtype=torch.long, device=self._device)
        back[torch.tensor(order, device=self._device)] = torch.arange(len(order), device=self._device)
        return torch.cat(vectors)[back]

    def _mine(self) -> Hard:
        """Mine the texts that this model ranks high and that are wrong."""
        vectors = self.embedded(self._train)
        count, ceiling = self._negatives.mined, self._negatives.ceiling
        return by_vectors(self._train, vectors.queries.numpy(), vectors.texts.numpy(), count, ceiling=ceiling)

    def embedded(self, pairs: RankingPairs) -> PairVectors:
        """Encode pairs by the present model."""

        def read(texts: Sequence[str]) -> Tensor:
            return embed(self._towers, self.tokens, texts, device=self._device)

        shares = {name: float(share.detach()) for name, share in self._towers.shares().items()}
        return PairVectors.of(pairs, read, shares, self._towers.said())

    def measure(self) -> Mapping[str, float]:
        vectors = self.embedded(self._dev)
        coldness = float(self._towers.coldness.detach())
        return vectors.measured() | {
            "loss": vectors.loss(coldness),
            "temperature": 1.0 / coldness,
            **{f"share/{name}": float(share.detach()) for name, share in self._towers.shares().items()},
            **{f"said/{name}": penalty.slope for name, penalty in self._towers.said().items()},
        }
