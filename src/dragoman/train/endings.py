"""How long responses are: what is added to the logit of their end so that they are as long as people's.

A model that always says the likeliest word ends too soon where people say the same in many ways. The plan and the
evidence are the right ones here, so that only the writing is measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dragoman.models.unified import Unified, Writing

_LEAST, _MOST = -6.0, 3.0
_ROUNDS = 5
_CLOSE = 0.03
"""A ratio within so much of 1 is left alone."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The number that was found, and how long responses were without and are with it, as a share of people's."""

    value: float
    before: float
    after: float


def fit_ending(runtime: Unified, asked: Sequence[tuple[Writing, str]], *, max_tokens: int) -> Ending:
    """Try numbers by halving, since responses only get longer as it falls; `asked` are turns with people's replies."""
    before = _ratio(runtime, asked, 0.0, max_tokens)
    best = Ending(0.0, before, before)
    low, high = (_LEAST, 0.0) if before < 1 else (0.0, _MOST)
    if abs(before - 1) <= _CLOSE:
        return best
    for _ in range(_ROUNDS):
        value = (low + high) / 2
        after = _ratio(runtime, asked, value, max_tokens)
        if _off(after) < _off(best.after):
            best = Ending(round(value, 3), before, after)
        low, high = (low, value) if after < 1 else (value, high)
    return best


def _ratio(runtime: Unified, asked: Sequence[tuple[Writing, str]], ending: float, max_tokens: int) -> float:
    """The characters of all responses over those of people's."""
    drafts = runtime.write([replace(one, ending=ending) for one, _ in asked], max_tokens=max_tokens)
    said = sum(len(draft.text.strip()) for draft in drafts)
    return said / max(1, sum(len(reply.strip()) for _, reply in asked))


def _off(ratio: float) -> float:
    return abs(math.log(max(ratio, 1e-3)))
