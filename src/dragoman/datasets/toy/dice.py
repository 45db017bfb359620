"""Chance that falls the same way on every machine and version of Python."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """Draws from a key. Only `Random.random` is used: the one method whose numbers are promised never to change."""

    def __init__(self, *key: object) -> None:
        self._random = random.Random("/".join(str(part) for part in key))

    def below(self, n: int) -> int:
        return int(self._random.random() * n)

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def pick(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def weighed(self, options: Sequence[tuple[T, float]]) -> T:
        """One of the options, each as often as its weight says."""
        left = self._random.random() * sum(weight for _, weight in options)
        for option, weight in options:
            left -= weight
            if left < 0:
                return option
        return options[-1][0]

    def several(self, options: Sequence[T], k: int) -> list[T]:
        """k of the options in a random order, none of them twice."""
        rest = list(options)
        return [rest.pop(self.below(len(rest))) for _ in range(k)]
