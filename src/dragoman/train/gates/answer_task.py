"""Task of a causal language model that answers prompts with one of two words; only the answer has a loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import torch
from torch import Tensor

from dragoman.core.errors import TrainingError
from dragoman.models.torch.causal_lm import Causal
from dragoman.models.torch.model import by_length
from dragoman.train.loop.losses import binary_loss
from dragoman.train.loop.text_measures import yes_measures
from dragoman.train.loop.text_task import positive_weight, shuffled
from dragoman.train.spec import Recipe

TokenIds = Sequence[int]
"""The tokens of a prompt up to where the answer begins."""


class AnswerTask:
    """Learn to answer with the first option for label 1 and the second for label 0.

    The loss is over the whole vocabulary at the answer (`vocabulary`), or over the two options (`options`).
    """

    def __init__(
        self,
        causal: Causal,
        rows: Sequence[TokenIds],
        labels: Sequence[float],
        *,
        dev_rows: Sequence[TokenIds],
        dev_labels: Sequence[float],
        options: tuple[str, str],
        recipe: Recipe,
        over: Literal["vocabulary", "options"] = "vocabulary",
    ) -> None:
        self.causal = causal
        self._rows = rows
        self._labels = torch.tensor(labels, dtype=torch.float32)
        self._dev_rows = dev_rows
        self._dev_labels = torch.tensor(dev_labels, dtype=torch.float32)
        self._recipe = recipe
        self._over = over
        self._words = answer_tokens(causal, options)
        self._positive = float(positive_weight(self._labels, recipe.balance))

    @property
    def model(self) -> torch.nn.Module:
        model: torch.nn.Module = self.causal.model
        return model

    def batches(self, epoch: int) -> Sequence[Sequence[int]]:
        """Batches of shuffled rows, sorted by length in chunks; determined by seed and epoch."""
        spec = self._recipe.train
        lengths = [len(row) for row in self._rows]
        return shuffled(lengths, spec.batch, seed=spec.seed, epoch=epoch)

    def loss(self, batch: Sequence[int]) -> Tensor:
        logits = self.causal.logits([self._rows[row] for row in batch])  # (B, V)
        targets = self._labels[list(batch)].to(logits.device)
        focal = self._recipe.balance.focal
        if self._over == "options":
            return binary_loss(self._odds(logits), targets, positive=self._positive, focal=focal)
        return answer_loss(logits, targets, self._words, positive=self._positive, focal=focal)

    def measure(self) -> Mapping[str, float]:
        return yes_measures(self.scores(self._dev_rows), self._dev_labels)

    @torch.inference_mode()
    def scores(self, rows: Sequence[TokenIds]) -> Tensor:
        """The log-odds of the first option against the second, (N,)."""
        was = self.model.training
        self.model.eval()
        scores = torch.zeros(len(rows))
        for batch in by_length(rows, self._recipe.train.batch):
            scores[batch] = self._odds(self.causal.logits([rows[row] for row in batch])).cpu()
        self.model.train(was)
        return scores

    def _odds(self, logits: Tensor) -> Tensor:
        yes, no = self._words
        return logits[:, yes] - logits[:, no]


def answer_loss(
    logits: Tensor, targets: Tensor, words: tuple[int, int], *, positive: float = 1.0, focal: float = 0.0
) -> Tensor:
    """The mean of -w (1-p)^g log p over rows, p the share of the right word in the whole vocabulary.

    `logits` are (B, V); where a target (B,) is 1 the right word is the first of the two, and w is `positive`.
    """
    logprobs = logits.float().log_softmax(-1)
    yes = targets > 0.5
    right = torch.where(yes, words[0], words[1])
    logprob = logprobs.gather(-1, right[:, None])[:, 0]  # log p, (B,)
    weights = torch.where(yes, positive, 1.0)
    if focal:
        weights = weights * (1.0 - logprob.exp()).clamp(min=0.0) ** focal
    return -(weights * logprob).mean()


def answer_tokens(causal: Causal, options: tuple[str, str]) -> tuple[int, int]:
    """The first tokens of the two options, which must differ."""
    first, second = (sequence[0] for sequence in causal.answers(options).values())
    if first == second:
        raise TrainingError(
            f"To this tokenizer '{options[0]}' and '{options[1]}' begin alike, so that one token does not tell them "
            "apart.",
            remedy="Train another base.",
        )
    return first, second
