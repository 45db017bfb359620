"""Evaluation of a unified model on dev: every plan, candidate and response of a turn in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from dragoman.core.tokens import STEPS
from dragoman.models.torch.causal_lm import Causal
from dragoman.models.unified.frozen_layer_cache import FrozenLayerCache
from dragoman.models.unified.packed import Attention, pack, some_logits, states, vocabulary_logits
from dragoman.models.unified.token_tree import laid_out
from dragoman.train.unified.measures import Scored, TurnOutcome
from dragoman.train.unified.training_trees import Examined


class Examining:
    """Evaluates turns in batches of at most `tokens`; `evaluation` are the ids of the eleven similarities.

    Logits of the whole vocabulary are computed for responses only; elsewhere those of the allowed tokens.
    """

    def __init__(
        self,
        causal: Causal,
        evaluation: Sequence[int],
        attention: Attention,
        tokens: int,
        width: int | None,
        *,
        below: FrozenLayerCache | None = None,
    ) -> None:
        self._causal = causal
        self._evaluation = list(evaluation)
        self._attention = attention
        self._tokens = tokens
        self._width = width
        self._below = below

    @torch.no_grad()
    def outcomes(self, asked: Sequence[Examined]) -> list[TurnOutcome]:
        """The outcome of each turn, in order."""
        model = self._causal.model
        was = model.training
        model.eval()
        outcomes: dict[int, TurnOutcome] = {}
        if self._below is not None:
            self._below.announce(laid_out(one.segments) for one in asked)
        for batch in self._batches([one.size for one in asked]):
            outcomes |= dict(zip(batch, self._examine([asked[i] for i in batch]), strict=True))
        model.train(was)
        return [outcomes[i] for i in range(len(asked))]

    def _batches(self, sizes: Sequence[int]) -> Iterator[list[int]]:
        """Batches of turns of similar length; padding counts where each turn is a row of its own."""
        batch: list[int] = []
        size = 0
        for i in sorted(range(len(sizes)), key=lambda i: sizes[i]):
            padded = sizes[i] * (len(batch) + 1) if self._attention == "sdpa" else 0
            if batch and max(size + sizes[i], padded) > self._tokens:
                yield batch
                batch, size = [], 0
            batch.append(i)
            size += sizes[i]
        if batch:
            yield batch

    def _examine(self, asked: Sequence[Examined]) -> list[TurnOutcome]:
        device = self._causal.device
        packed = pack([one.segments for one in asked], width=self._width)
        with _half(device):
            hidden = states(
                self._causal.model, packed, device=device, attention=self._attention, below=self._below
            ).float()
        outcomes = []
        for number, one in enumerate(asked):
            spots = torch.tensor([packed.place(number, *place) for place in _logit_places(one)], device=device)
            outcomes.append(self._outcome(one, hidden[spots[:, 0], spots[:, 1]]))
        return outcomes

    def _outcome(self, one: Examined, hidden: Tensor) -> TurnOutcome:
        """The outcome of a turn from the hidden states at its places."""
        model, forks = self._causal.model, _forks(one)
        first, middle = len(one.plan[1].forks), len(forks) + len(one.candidates)
        tokens = sorted({*self._evaluation, *(token for _, fork in forks for token in fork)})
        at = {token: place for place, token in enumerate(tokens)}
        logits = some_logits(model, hidden[:middle], tokens)
        fork_logits = [{token: float(logits[i, at[token]]) for token in fork} for i, (_, fork) in enumerate(forks)]
        return TurnOutcome(
            one.id,
            one.gold,
            one.plan[1].probabilities(fork_logits[:first]),
            None if one.check is None else one.check[1].probabilities(fork_logits[first:]),
            self._scored(one, logits[len(forks) :, [at[token] for token in self._evaluation]]),
            _response(one, vocabulary_logits(model, hidden[middle:])) if one.places else (),
        )

    def _scored(self, one: Examined, logits: Tensor) -> tuple[Scored, ...]:
        if not one.candidates:
            return ()
        logprobs = logits.double().log_softmax(-1)
        steps = torch.arange(STEPS + 1, dtype=torch.float64, device=logits.device) / STEPS
        expected = (logprobs.exp() @ steps).tolist()
        costs = [-float(logprobs[i, STEPS if right else 0]) for i, (_, _, right) in enumerate(one.candidates)]
        return tuple(
            Scored(source, right, value, cost)
            for (_, source, right), value, cost in zip(one.candidates, expected, costs, strict=True)
        )


def _forks(one: Examined) -> list[tuple[int, tuple[int, ...]]]:
    """The forks of the trees of orders: the segment, and the tokens to choose from."""
    trees = [one.plan, *([] if one.check is None else [one.check])]
    return [(first + fork.segment, fork.tokens) for first, tree in trees for fork in tree.forks]


def _logit_places(one: Examined) -> list[tuple[int, int]]:
    """The positions whose logits are needed: forks, candidates, the response."""
    return [
        *((segment, -1) for segment, _ in _forks(one)),
        *((segment, -1) for segment, _, _ in one.candidates),
        *((place.segment, place.offset) for place in one.places),
    ]


def _response(one: Examined, logits: Tensor) -> tuple[float, ...]:
    targets = torch.tensor([place.target or 0 for place in one.places], device=logits.device)
    costs = torch.nn.functional.cross_entropy(logits.float(), targets, reduction="none")
    return tuple(costs.tolist())


def _half(device: str) -> AbstractContextManager[object]:
    """Use bfloat16, as in training, on a GPU that supports it."""
    if device.startswith("cuda") and torch.cuda.is_bf16_supported():
        return torch.autocast("cuda", dtype=torch.bfloat16)
    return nullcontext()
