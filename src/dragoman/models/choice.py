"""From log-probabilities to probabilities over a closed set: the only place where one becomes the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from dragoman.core.errors import InputError

K = TypeVar("K")

Tokens = tuple[int, ...]
"""A token sequence. END in it stands for "the answer stops here"."""
END = -1


def check_options(options: Sequence[str]) -> None:
    """Options must be there, not blank, and differ."""
    if not options:
        raise InputError("There is nothing to choose from.", remedy="Give at least one option.")
    if any(not option.strip() for option in options) or len(set(options)) < len(options):
        raise InputError(f"The options {list(options)} are blank or named twice.", remedy="Give different words.")


def normalise(logprobs: Mapping[K, float]) -> dict[K, float]:
    """Log-probabilities or logits to probabilities that sum to one; equal where nothing is known of any."""
    best = max(logprobs.values(), default=-math.inf)
    if math.isnan(best) or best == -math.inf:
        return {key: 1.0 / len(logprobs) for key in logprobs}
    weights = {key: math.exp(value - best) if not math.isnan(value) else 0.0 for key, value in logprobs.items()}
    total = math.fsum(weights.values())
    return {key: weight / total for key, weight in weights.items()}


def ended(sequences: Mapping[str, Tokens]) -> dict[str, Tokens]:
    """Close every sequence that another one continues, so that none is the beginning of another."""
    return {
        option: (*tokens, END)
        if any(other != option and longer[: len(tokens)] == tokens for other, longer in sequences.items())
        else tokens
        for option, tokens in sequences.items()
    }


def walk(
    sequences: Mapping[str, Tokens], logprobs: Callable[[Tokens, Sequence[int]], Mapping[int, float]]
) -> dict[str, float]:
    """The probability of each sequence, the model being held to the sequences at every token.

    `logprobs(prefix, tokens)` is asked only where the sequences part; its answer is normalised over
    the tokens that lead on. Sequences must be different and none the beginning of another (`ended`).
    """
    closed = ended(sequences)
    found: dict[str, float] = {}

    def descend(options: Sequence[str], depth: int, probability: float) -> None:
        if len(options) == 1:
            found[options[0]] = probability
            return
        branches: dict[int, list[str]] = {}
        for option in options:
            branches.setdefault(closed[option][depth], []).append(option)
        shares = {next(iter(branches)): 1.0}
        if len(branches) > 1:
            told = logprobs(closed[options[0]][:depth], tuple(branches))
            shares = normalise({token: told.get(token, -math.inf) for token in branches})
        for token, group in branches.items():
            descend(group, depth + 1, probability * shares[token])

    descend(list(sequences), 0, 1.0)
    total = math.fsum(found.values())
    return {option: found[option] / total for option in sequences}
