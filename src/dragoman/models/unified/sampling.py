"""Greedy and random choice of the next tokens of several responses.

Random numbers come from a hash of seed and step, not from a generator that rows would share, so that a response does
not depend on its batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import torch
from torch import Tensor

from dragoman.models.unified.model import TOP_P, Writing


def number(seed: int, step: int) -> float:
    """The random number in [0, 1) of a seed and a step."""
    return int.from_bytes(blake2b(f"{seed}:{step}".encode(), digest_size=4).digest()) / 2**32


def next_tokens(logits: Tensor, requests: Sequence[Writing], step: int) -> Tensor:
    """One token for each row of logits (B, V), (B,): the most probable where the temperature is 0, else drawn."""
    tokens = logits.argmax(-1)
    rows = [row for row, one in enumerate(requests) if one.temperature]
    if not rows:
        return tokens
    heat = torch.tensor([requests[row].temperature for row in rows], dtype=torch.float64, device=logits.device)
    numbers = torch.tensor(
        [number(requests[row].seed, step) for row in rows], dtype=torch.float64, device=logits.device
    )
    hot = logits[rows].double()
    hot = (hot - hot.amax(-1, keepdim=True)) / heat[:, None]  # from 0 down, so that no temperature makes it infinite
    chances = nucleus(hot.softmax(-1), TOP_P)
    tokens[rows] = drawn(chances, numbers)
    return tokens


def nucleus(chances: Tensor, share: float) -> Tensor:
    """Nucleus of probabilities (B, V): 0 for all but the fewest most probable tokens that together have `share`."""
    ordered, order = chances.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(-1) - ordered
    return torch.zeros_like(chances).scatter(-1, order, ordered.where(before < share, 0.0))


def drawn(chances: Tensor, numbers: Tensor) -> Tensor:
    """The token of each row at which the cumulative probability exceeds a number (B,).

    Tokens are summed in the vocabulary's order: a sort by probability depends on the last digit of near ties.
    """
    sums = chances.cumsum(-1)
    tokens = torch.searchsorted(sums, (numbers * sums[:, -1])[:, None], right=True).clamp(max=chances.shape[-1] - 1)
    # a GPU adds in an order of its own, by which a sum may exceed the number where nothing was added
    return torch.where(chances.gather(-1, tokens) > 0, tokens, chances.argmax(-1, keepdim=True))[:, 0]
