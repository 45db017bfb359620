"""Fit the bias on the end token's logit, so that responses are as long as people's and most like them.

Greedy decoding ends too soon where people say the same in many ways; a bias that is too low makes the model go on in
circles or in meaningless words. So the length ratio says in which direction to search, and likeness to people's replies
says which value is taken. Plan and evidence are the gold ones, so that only the writing is measured.

A few replies that run on move the ratio of a small sample, so the bias stays 0 unless a bootstrap interval over turns
excludes the ratio 1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dragoman.models.unified.model import Unified, Writing
from dragoman.reader.consensus import cut

ENOUGH_TURNS = 256
"""A sample of dev is at least this large, where dev has so many turns."""
_LEAST, _MOST = -4.0, 3.0
_ROUNDS = 5
_CLOSE = 0.03
"""A length ratio this near to 1 is left alone, however sure it is."""
_DRAWS = 2000
_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class LengthBias:
    """The fitted bias; `before` and `after` are length ratios of responses to people's replies without and with it."""

    value: float
    before: float
    after: float
    interval: tuple[float, float]
    """The 95 % interval of `before`."""


def fit_length_bias(runtime: Unified, asked: Sequence[tuple[Writing, str]], *, max_tokens: int) -> LengthBias:
    """Search by bisection, since a lower bias only makes responses longer; `asked` are turns with people's replies."""
    replies = cut([reply for _, reply in asked])

    def write(bias: float) -> list[tuple[str, ...]]:
        drafts = runtime.write([replace(writing, ending=bias) for writing, _ in asked], max_tokens=max_tokens)
        return cut([draft.text for draft in drafts])

    texts = write(0.0)
    before, interval = _ratio(texts, replies), ratio_interval(texts, replies)
    best, best_likeness = LengthBias(0.0, before, before, interval), likeness(texts, replies)
    if abs(before - 1) <= _CLOSE or interval[0] <= 1 <= interval[1]:
        return best
    low, high = (_LEAST, 0.0) if before < 1 else (0.0, _MOST)
    for _ in range(_ROUNDS):
        value = (low + high) / 2
        texts = write(value)
        after, alike = _ratio(texts, replies), likeness(texts, replies)
        if alike > best_likeness and abs(after - 1) < abs(before - 1):
            best, best_likeness = LengthBias(round(value, 3), before, after, interval), alike
        low, high = (low, value) if after < 1 else (value, high)
    return best


def ratio_interval(
    texts: Sequence[Sequence[str]], replies: Sequence[Sequence[str]], *, seed: int = 0
) -> tuple[float, float]:
    """The 95 % percentile interval of the length ratio: a bootstrap that draws turns with replacement."""
    import numpy as np

    sizes = np.array([[len(text), max(1, len(reply))] for text, reply in zip(texts, replies, strict=True)])
    generator = np.random.default_rng(seed)
    sums = [sizes[generator.integers(len(sizes), size=len(sizes))].sum(axis=0) for _ in range(_DRAWS)]
    low, high = np.quantile([size / reply_size for size, reply_size in sums], [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return float(low), float(high)


def likeness(texts: Sequence[Sequence[str]], replies: Sequence[Sequence[str]]) -> float:
    """BLEU-1 of the texts: the share of their words that people's replies have, times the brevity penalty."""
    size = _size(texts)
    if not size:
        return 0.0
    shared = sum((Counter(text) & Counter(reply)).total() for text, reply in zip(texts, replies, strict=True))
    return shared / size * math.exp(min(0.0, 1 - _size(replies) / size))


def _ratio(texts: Sequence[Sequence[str]], replies: Sequence[Sequence[str]]) -> float:
    return _size(texts) / max(1, _size(replies))


def _size(texts: Sequence[Sequence[str]]) -> int:
    return sum(map(len, texts))
