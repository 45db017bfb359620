"""Joint training of a unified model (UniMS-RAG): turns as token trees in packed rows, all losses in one pass.

Hidden states come from the base; the vocabulary is only computed at labelled places. The same turn, packed with
others or alone, on a CPU or a GPU, gives the same loss.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from dragoman.core.errors import TrainingError
from dragoman.core.examples import Example
from dragoman.core.tokens import EVALUATION
from dragoman.models.torch.causal_lm import Causal
from dragoman.models.unified.frozen_layer_cache import FrozenLayerCache
from dragoman.models.unified.masks import BLOCK
from dragoman.models.unified.model import TurnTokens, Writing
from dragoman.models.unified.packed import (
    Attention,
    Packed,
    compile_layers,
    pack,
    some_logits,
    states,
    use_attention,
    vocabulary_logits,
)
from dragoman.models.unified.token_tree import Layout, laid_out
from dragoman.models.unified.tree_attention import can_attend
from dragoman.train.unified.dev_pass import Examining
from dragoman.train.unified.losses import (
    listwise_loss,
    similarity_margin,
    similarity_targets,
    soft_cross_entropy,
    total_loss,
    weighted_mean,
)
from dragoman.train.unified.measures import TurnOutcome, measures
from dragoman.train.unified.sequences import Sequences
from dragoman.train.unified.training_trees import TargetPlace, TrainingTree

T = TypeVar("T")
Over: TypeAlias = Literal["vocabulary", "options"]
_CHUNK = 2048
"""Positions whose full-vocabulary logits are in memory at a time."""
_DRAWN = 8
"""Number of batches whose turns are drawn together and sorted by length."""
_AHEAD = 2


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """Options of batching and weights of losses.

    `tokens` is what a batch holds at most, `batch` its turns, `epoch` the turns that an epoch draws (0: all). Another
    `run` takes turns in another order; dev's are drawn by the seed alone. `over`
    "options" learns plans and similarities among the tokens that may stand there, "vocabulary" among all. `weights` are
    Eq. 7's, by kind, and "listwise". `measured` is the number of dev's turns that are looked at (0: all), `whole` that
    of those whose candidates and response are read too (0: all), `most` that of their candidates.
    """

    tokens: int = 8192
    batch: int = 32
    epoch: int = 0
    seed: int = 1
    run: int = 0
    attention: Literal["auto", "sdpa", "flex"] = "auto"
    compiled: bool = False
    over: Over = "vocabulary"
    soft: bool = False
    weights: Mapping[str, float] = field(default_factory=dict)
    measured: int = 0
    whole: int = 0
    most: int = 0


@dataclass(frozen=True, slots=True)
class _PackedBatch:
    """Training trees packed into rows, with the row and column of each position."""

    packed: Packed
    places: tuple[TargetPlace, ...]
    rows: Tensor
    columns: Tensor
    lists: tuple[tuple[int, int, bool], ...]
    """The places of candidates that are compared: number among the places, list, whether it is right."""


class UnifiedTask:
    """Task of plans, similarities and responses; `sequences` builds the trees of an epoch."""

    def __init__(
        self,
        causal: Causal,
        turns: TurnTokens,
        sequences: Sequences,
        examples: Sequence[Example],
        *,
        dev: Sequence[Example],
        settings: TaskSettings,
    ) -> None:
        self.causal = causal
        self._turns = turns
        self._sequences = sequences
        self._examples = examples
        self._settings = settings
        self._device = causal.device
        self.attention: Attention = _attention(settings.attention, causal.device)
        use_attention(causal.model, self.attention)
        if settings.compiled and self.attention == "flex":
            compile_layers(causal.model)
        self._epoch = 0
        self._evaluation = [turns.spelling.one(token) for token in EVALUATION if token in turns.spelling.ids]
        self._below = FrozenLayerCache.of(causal.model) if causal.device == "cpu" else None
        self._sizes = [self._learnable(example) for example in examples]
        self._rows = [row for row, size in enumerate(self._sizes) if size]
        if not self._rows:
            raise TrainingError(
                "No training turn says anything to learn from.", remedy="Give turns with a plan, evidence or a reply."
            )
        if self._below is not None:
            self._below.announce(self._coming_back())
        self._dev = _some(dev, settings.measured, settings.seed)
        self._latest: list[TurnOutcome] = []
        self._ahead = ThreadPoolExecutor(1, "lessons") if causal.device != "cpu" else None
        self._waiting: dict[tuple[int, ...], Future[_PackedBatch]] = {}
        self._following: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        self.tokens = 0
        """Tokens of training so far, without padding."""

    @property
    def model(self) -> torch.nn.Module:
        model: torch.nn.Module = self.causal.model
        return model

    @property
    def head_parameters(self) -> frozenset[str]:
        """New rows of the vocabulary, trained from scratch at `train.head_rate`."""
        return frozenset(name for name, _ in self.model.named_parameters() if name.endswith(".rows"))

    @property
    def batch_tokens(self) -> int:
        """The most tokens of a batch."""
        return self._settings.tokens

    @property
    def sizes(self) -> Sequence[int]:
        """Return the approximate number of tokens of each turn."""
        return self._sizes

    def batches(self, epoch: int) -> Sequence[Sequence[int]]:
        """Return shuffled batches of turns of similar length within the token limit, determined by seed and epoch."""
        self._epoch = epoch
        self._waiting.clear()
        batches = token_batches(self._rows, self._sizes, self._settings, epoch)
        keys = [tuple(batch) for batch in batches]
        self._following = {key: keys[i + 1 : i + 1 + _AHEAD] for i, key in enumerate(keys)}
        return batches

    def loss(self, batch: Sequence[int]) -> Tensor:
        losses = self.losses(batch)
        return total_loss(losses, self._settings.weights)

    def losses(self, batch: Sequence[int]) -> dict[str, Tensor]:
        """Return the mean loss of each kind over its positions in the batch."""
        packed_batch = self._tensors(tuple(batch))
        self.tokens += sum(len(layout.tokens) for _, _, layout in packed_batch.packed.starts)
        hidden = states(
            self.model, packed_batch.packed, device=self._device, attention=self.attention, below=self._below
        )
        at = hidden[packed_batch.rows.to(self._device), packed_batch.columns.to(self._device)]  # (P, width)
        losses: dict[str, Tensor] = {}
        each = torch.zeros(len(packed_batch.places), device=self._device)
        judged = [i for i, place in enumerate(packed_batch.places) if place.kind == "similarity"]
        others = [i for i, place in enumerate(packed_batch.places) if place.kind != "similarity"]
        tens = torch.empty(0)
        if judged:
            values = torch.tensor([packed_batch.places[i].value or 0.0 for i in judged], device=self._device)
            targets = similarity_targets(values, soft=self._settings.soft)
            options = torch.tensor(self._evaluation, device=self._device).expand(len(judged), -1)
            costs, tens = self._option_costs(at[judged], options, targets, over=self._settings.over)
            each = each.index_put((torch.tensor(judged, device=self._device),), costs)
        if others:
            costs = self._tokens_said([packed_batch.places[i] for i in others], at[others])
            each = each.index_put((torch.tensor(others, device=self._device),), costs)
        for kind in ("plan", "similarity", "response", "check"):
            mine = [i for i, place in enumerate(packed_batch.places) if place.kind == kind]
            if mine:
                weights = torch.tensor([packed_batch.places[i].weight for i in mine], device=self._device)
                losses[kind] = weighted_mean(each[mine], weights)
        if packed_batch.lists and self._settings.weights.get("listwise", 1.0):
            number = {place: i for i, place in enumerate(judged)}
            rows = [number[place] for place, _, _ in packed_batch.lists]
            lists = torch.tensor([group for _, group, _ in packed_batch.lists], device=self._device)
            gold = torch.tensor([float(right) for _, _, right in packed_batch.lists], device=self._device)
            losses["listwise"] = listwise_loss(similarity_margin(tens[rows]), gold, lists)
        return losses

    def measure(self) -> Mapping[str, float]:
        self._latest = self.outcomes(self._dev)
        return measures(self._latest, self._settings.weights)

    def final(self, best: Mapping[str, float]) -> list[TurnOutcome]:
        """Return dev's outcomes by the present model; cached if the last measures were the `best`."""
        if self._latest and measures(self._latest, self._settings.weights) == dict(best):
            return self._latest
        return self.outcomes(self._dev)

    def outcomes(self, examples: Sequence[Example]) -> list[TurnOutcome]:
        """Return the model's outcomes on turns, in order."""
        settings = self._settings
        whole = {example.id for example in _some(examples, settings.whole, settings.seed)}
        turns = [
            self._sequences.examined(example, most=settings.most, whole=example.id in whole) for example in examples
        ]
        examining = Examining(
            self.causal, self._evaluation, self.attention, settings.tokens, self._width(), below=self._below
        )
        return examining.outcomes(turns)

    def answered(self, count: int) -> list[tuple[Writing, str]]:
        """Return dev's prompts and gold responses, at most this many."""
        pairs = ((self._sequences.answered(example), example.gold.reply or "") for example in self._dev)
        answered = [(writing, reply) for writing, reply in pairs if writing is not None]
        return list(_some(answered, count, self._settings.seed))

    def _learnable(self, example: Example) -> int:
        """Return the approximate tokens of a turn; 0 if it has no loss in any epoch."""
        lesson = self._sequences.tree(example, 0)
        if not lesson.places:  # it may be one of those that are learned whole in other epochs alone
            lesson = self._sequences.tree(example, 0, whole=True)
        return lesson.size if lesson.places else 0

    def _coming_back(self) -> Iterator[Layout]:
        """Return the trees that repeat in every epoch: those with a plan alone, without random draws."""
        for row in self._rows:
            lesson = self._sequences.tree(self._examples[row], 0)
            if all(place.kind == "plan" for place in lesson.places):
                yield laid_out(lesson.segments)

    def _tensors(self, batch: tuple[int, ...]) -> _PackedBatch:
        """Return a batch as tensors; on a GPU the next ones are built in the background."""
        waiting = self._waiting.pop(batch, None)
        if self._ahead is not None:
            for key in self._following.get(batch, ()):
                if key not in self._waiting:
                    self._waiting[key] = self._ahead.submit(self._packed, key, self._epoch)
        return waiting.result() if waiting is not None else self._packed(batch, self._epoch)

    def _packed(self, batch: Sequence[int], epoch: int) -> _PackedBatch:
        lessons = [self._sequences.tree(self._examples[row], epoch) for row in batch]
        return pack_batch(lessons, self._width())

    def _width(self) -> int | None:
        """Return the width of rows; equal for all on FlexAttention, so that kernels compile once."""
        return -(-self._settings.tokens // BLOCK) * BLOCK if self.attention == "flex" else None

    def _tokens_said(self, places: Sequence[TargetPlace], at: Tensor) -> Tensor:
        """Return -log p of the target of each position, over its options or all tokens."""
        targets = torch.tensor([[place.target or 0] for place in places], device=self._device)
        costs_by_place = torch.zeros(len(places), device=self._device)
        closed = [i for i, place in enumerate(places) if self._settings.over == "options" and place.options]
        open_ones = [i for i in range(len(places)) if i not in set(closed)]
        if closed:
            tokens = sorted({token for i in closed for token in places[i].options})
            at_token = {token: place for place, token in enumerate(tokens)}
            allowed = torch.zeros(len(closed), len(tokens), dtype=torch.bool)
            for row, i in enumerate(closed):
                allowed[row, [at_token[token] for token in places[i].options]] = True
            logits = self._some_logits(at[closed], tokens).masked_fill(~allowed.to(self._device), -torch.inf)
            right = torch.tensor([at_token[places[i].target or 0] for i in closed], device=self._device)
            costs = torch.nn.functional.cross_entropy(logits, right, reduction="none")
            costs_by_place = costs_by_place.index_put((torch.tensor(closed, device=self._device),), costs)
        if open_ones:
            ones = torch.ones(len(open_ones), 1, device=self._device)
            costs, _ = self._option_costs(at[open_ones], targets[open_ones], ones, over="vocabulary")
            costs_by_place = costs_by_place.index_put((torch.tensor(open_ones, device=self._device),), costs)
        return costs_by_place

    def _option_costs(self, at: Tensor, options: Tensor, shares: Tensor, *, over: Over) -> tuple[Tensor, Tensor]:
        """-sum t log p at each place for shares (P, K) of its options (P, K), and the options' logits.

        In chunks that are computed again in the backward pass: logits of a whole vocabulary fill any memory.
        """
        if over == "options":
            logits = self._some_logits(at, options[0].tolist())
            return soft_cross_entropy(logits, shares), logits

        def part(hidden: Tensor, tokens: Tensor, share: Tensor) -> tuple[Tensor, Tensor]:
            logits = vocabulary_logits(self.model, hidden)
            some = logits.gather(-1, tokens)
            return (share.sum(-1) * logits.logsumexp(-1)) - (share * some).sum(-1), some

        costs, option_logits = [], []
        for start in range(0, len(at), _CHUNK):
            end = start + _CHUNK
            chunk = at[start:end], options[start:end], shares[start:end]
            one, some = checkpoint(part, *chunk, use_reentrant=False) if torch.is_grad_enabled() else part(*chunk)
            costs.append(one)
            option_logits.append(some)
        return torch.cat(costs), torch.cat(option_logits)

    def _some_logits(self, at: Tensor, tokens: Sequence[int]) -> Tensor:
        return some_logits(self.model, at, tokens)


def token_batches(rows: Sequence[int], sizes: Sequence[int], settings: TaskSettings, epoch: int) -> list[list[int]]:
    """Return batches of turns of similar length within both limits; a longer turn is a batch alone."""
    dice = random.Random(f"{settings.seed + settings.run}/{epoch}")
    order = list(rows)
    dice.shuffle(order)
    order = order[: settings.epoch or None]
    mean = max(1, sum(sizes[row] for row in rows) // len(rows))
    chunk = _DRAWN * max(1, min(settings.batch, settings.tokens // mean))
    batches: list[list[int]] = []
    for start in range(0, len(order), chunk):
        size = 0
        fresh = True
        for row in sorted(order[start : start + chunk], key=lambda row: sizes[row]):
            full = not fresh and (len(batches[-1]) >= settings.batch or size + sizes[row] > settings.tokens)
            if fresh or full:
                batches.append([])
                size, fresh = 0, False
            batches[-1].append(row)
            size += sizes[row]
    dice.shuffle(batches)
    return batches


def pack_batch(lessons: Sequence[TrainingTree], width: int | None) -> _PackedBatch:
    """Pack training trees into rows, with all their positions and lists."""
    packed = pack([lesson.segments for lesson in lessons], width=width)
    places: list[TargetPlace] = []
    spots: list[tuple[int, int]] = []
    lists: list[tuple[int, int, bool]] = []
    group = 0
    for tree, lesson in enumerate(lessons):
        first = len(places)
        places += lesson.places
        spots += [packed.place(tree, place.segment, place.offset) for place in lesson.places]
        for compared in lesson.groups:
            lists += [
                (first + place, group, right) for place, right in zip(compared.places, compared.gold, strict=True)
            ]
            group += 1
    where = torch.tensor(spots, dtype=torch.long).reshape(-1, 2)
    return _PackedBatch(packed, tuple(places), where[:, 0], where[:, 1], tuple(lists))


def _attention(wanted: str, device: str) -> Attention:
    if wanted == "flex" and not device.startswith("cuda"):
        raise TrainingError("FlexAttention is for a GPU.", remedy='Set model.attention = "auto".')
    if wanted == "auto":
        return "flex" if device.startswith("cuda") and can_attend(device) else "sdpa"
    return "flex" if wanted == "flex" else "sdpa"


def _some(examples: Sequence[T], count: int, seed: int) -> Sequence[T]:
    """Draw this many turns and keep their order; 0: all."""
    if not count or count >= len(examples):
        return examples
    places = set(random.Random(seed).sample(range(len(examples)), count))
    return [example for place, example in enumerate(examples) if place in places]
