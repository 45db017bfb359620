"""Probabilities over a closed set of token sequences: the only place that converts log-probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from dragoman.core.errors import InputError

K = TypeVar("K")

Tokens = tuple[int, ...]
"""A token sequence; the token END means "the answer stops here"."""
END = -1


def check_options(options: Sequence[str]) -> None:
    """Raise an error unless there are options, none is blank and all differ."""
    if not options:
        raise InputError("There is nothing to choose from.", remedy="Give at least one option.")
    if any(not option.strip() for option in options) or len(set(options)) < len(options):
        raise InputError(f"The options {list(options)} are blank or named twice.", remedy="Give different words.")


def normalise(logprobs: Mapping[K, float]) -> dict[K, float]:
    """Softmax of log-probabilities or logits; uniform where all of them are minus infinity or not a number."""
    best = max(logprobs.values(), default=-math.inf)
    if math.isnan(best) or best == -math.inf:
        return {key: 1.0 / len(logprobs) for key in logprobs}
    weights = {key: math.exp(value - best) if not math.isnan(value) else 0.0 for key, value in logprobs.items()}
    total = math.fsum(weights.values())
    return {key: weight / total for key, weight in weights.items()}


def ended(sequences: Mapping[str, Tokens]) -> dict[str, Tokens]:
    """Append END to every sequence that is a prefix of another one, so that none is a prefix any more."""
    return {
        option: (*tokens, END)
        if any(other != option and longer[: len(tokens)] == tokens for other, longer in sequences.items())
        else tokens
        for option, tokens in sequences.items()
    }


def walk(
    sequences: Mapping[str, Tokens], logprobs: Callable[[Tokens, Sequence[int]], Mapping[int, float]]
) -> dict[str, float]:
    """The probability of each sequence where the model may only produce one of them.

    `logprobs(prefix, tokens)` is asked only where the sequences part; its answer is normalised over
    the tokens that lead on. Sequences must be different and none the beginning of another (`ended`).
    """
    closed = ended(sequences)
    probabilities: dict[str, float] = {}

    def descend(options: Sequence[str], depth: int, probability: float) -> None:
        if len(options) == 1:
            probabilities[options[0]] = probability
            return
        branches: dict[int, list[str]] = {}
        for option in options:
            branches.setdefault(closed[option][depth], []).append(option)
        shares = {next(iter(branches)): 1.0}
        if len(branches) > 1:
            scores = logprobs(closed[options[0]][:depth], tuple(branches))
            shares = normalise({token: scores.get(token, -math.inf) for token in branches})
        for token, group in branches.items():
            descend(group, depth + 1, probability * shares[token])

    descend(list(sequences), 0, 1.0)
    total = math.fsum(probabilities.values())
    return {option: probabilities[option] / total for option in sequences}
