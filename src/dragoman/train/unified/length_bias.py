"""How long responses are: what is added to the logit of their end so that they are most like people's.

A model that always says the likeliest word ends too soon where people say the same in many ways. Too low a number makes
it go on after it has said what it had to say: in circles, or in words that mean nothing. So lengths say where to look,
and likeness to people's replies says which number is taken. The plan and the evidence are the right ones here, so that
only the writing is measured.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dragoman.models.unified.model import Unified, Writing
from dragoman.reader.consensus import cut

_LEAST, _MOST = -4.0, 3.0
_ROUNDS = 5
_CLOSE = 0.03
"""A ratio within so much of 1 is left alone."""


@dataclass(frozen=True, slots=True)
class LengthBias:
    """The number that was found, and how long responses were without and are with it, as a share of people's."""

    value: float
    before: float
    after: float


def fit_length_bias(runtime: Unified, asked: Sequence[tuple[Writing, str]], *, max_tokens: int) -> LengthBias:
    """Try numbers by halving, since responses only get longer as it falls; `asked` are turns with people's replies."""
    replies = cut([reply for _, reply in asked])

    def tried(ending: float) -> tuple[float, float]:
        drafts = runtime.write([replace(one, ending=ending) for one, _ in asked], max_tokens=max_tokens)
        said = cut([draft.text for draft in drafts])
        return likeness(said, replies), _size(said) / max(1, _size(replies))

    like, before = tried(0.0)
    best = LengthBias(0.0, before, before)
    if abs(before - 1) <= _CLOSE:
        return best
    low, high = (_LEAST, 0.0) if before < 1 else (0.0, _MOST)
    for _ in range(_ROUNDS):
        value = (low + high) / 2
        alike, after = tried(value)
        if alike > like:
            like, best = alike, LengthBias(round(value, 3), before, after)
        low, high = (low, value) if after < 1 else (value, high)
    return best


def likeness(said: Sequence[Sequence[str]], replies: Sequence[Sequence[str]]) -> float:
    """How like people's replies the texts are: BLEU-1, the share of their words that people have, less by brevity."""
    size = _size(said)
    if not size:
        return 0.0
    shared = sum((Counter(one) & Counter(reply)).total() for one, reply in zip(said, replies, strict=True))
    return shared / size * math.exp(min(0.0, 1 - _size(replies) / size))


def _size(texts: Sequence[Sequence[str]]) -> int:
    return sum(map(len, texts))
