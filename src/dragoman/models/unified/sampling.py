"""The next tokens of several responses at once: the most probable ones, or drawn by numbers of each response's own.

Numbers come from a hash of seed and step, not from a generator that rows would share: what is drawn for a response does
not depend on what is written beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import torch
from torch import Tensor

from dragoman.models.unified.model import TOP_P, Writing


def number(seed: int, step: int) -> float:
    """The number in [0, 1) of a seed at a step."""
    return int.from_bytes(blake2b(f"{seed}:{step}".encode(), digest_size=4).digest()) / 2**32


def next_tokens(logits: Tensor, asked: Sequence[Writing], step: int) -> Tensor:
    """One token for each row of logits (B, V), (B,): the most probable where the temperature is 0, else drawn."""
    chosen = logits.argmax(-1)
    rows = [row for row, one in enumerate(asked) if one.temperature]
    if not rows:
        return chosen
    heat = torch.tensor([asked[row].temperature for row in rows], dtype=torch.float64, device=logits.device)
    numbers = torch.tensor([number(asked[row].seed, step) for row in rows], dtype=torch.float64, device=logits.device)
    hot = logits[rows].double()
    hot = (hot - hot.amax(-1, keepdim=True)) / heat[:, None]  # from 0 down, so that no temperature makes it infinite
    chances = nucleus(hot.softmax(-1), TOP_P)
    chosen[rows] = drawn(chances, numbers)
    return chosen


def nucleus(chances: Tensor, share: float) -> Tensor:
    """Probabilities (B, V) with 0 for all but the fewest most probable tokens that have `share` of them together."""
    ordered, order = chances.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(-1) - ordered
    return torch.zeros_like(chances).scatter(-1, order, ordered.where(before < share, 0.0))


def drawn(chances: Tensor, numbers: Tensor) -> Tensor:
    """The token of each row at which the sum of its probabilities, in the vocabulary's order, exceeds a number (B,).

    The order is the vocabulary's, since that by probability changes with the last digit of two that are alike.
    """
    sums = chances.cumsum(-1)
    found = torch.searchsorted(sums, (numbers * sums[:, -1])[:, None], right=True).clamp(max=chances.shape[-1] - 1)
    # a GPU adds in an order of its own, by which a sum may exceed the number where nothing was added
    return torch.where(chances.gather(-1, found) > 0, found, chances.argmax(-1, keepdim=True))[:, 0]
