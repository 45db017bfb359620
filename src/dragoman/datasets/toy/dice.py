"""Random draws that are equal on every machine and version of Python."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """Random draws from a key. Only `Random.random` is used, whose sequence Python guarantees."""

    def __init__(self, *key: object) -> None:
        self._random = random.Random("/".join(str(part) for part in key))

    def below(self, n: int) -> int:
        return int(self._random.random() * n)

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def pick(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def weighed(self, options: Sequence[tuple[T, float]]) -> T:
        """Draw an option by weight."""
        left = self._random.random() * sum(weight for _, weight in options)
        for option, weight in options:
            left -= weight
            if left < 0:
                return option
        return options[-1][0]

    def several(self, options: Sequence[T], k: int) -> list[T]:
        """Draw k distinct options in random order."""
        rest = list(options)
        return [rest.pop(self.below(len(rest))) for _ in range(k)]
