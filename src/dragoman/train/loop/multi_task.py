"""Several tasks over one trunk: alternating batches, separate measures."""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate

from torch import Tensor

from dragoman.models.torch.trunk import Trunk
from dragoman.train.contract import Task

MEAN = "mean"
"""The measure that decides: the mean of each task's own."""


class MixedTask:
    """Trains several heads at once. Row numbers are consecutive over all tasks.

    `deciding` names each task's own measure; `weights` say how much a task's loss counts.
    """

    def __init__(
        self,
        trunk: Trunk,
        tasks: Mapping[str, tuple[Task, int]],
        *,
        deciding: Mapping[str, str],
        weights: Mapping[str, float],
        seed: int,
    ) -> None:
        self._trunk = trunk
        self._names = list(tasks)
        self._tasks = [task for task, _ in tasks.values()]
        self._begins = [0, *accumulate(rows for _, rows in tasks.values())]
        self._deciding = deciding
        self._weights = weights
        self._seed = seed

    @property
    def model(self) -> Trunk:
        return self._trunk

    @property
    def head_parameters(self) -> frozenset[str]:
        return self._trunk.head_parameters

    def batches(self, epoch: int) -> Sequence[Sequence[int]]:
        """The batches of all tasks in random order; each batch belongs to one task."""
        mixed = [
            [begin + row for row in batch]
            for begin, task in zip(self._begins, self._tasks, strict=False)
            for batch in task.batches(epoch)
        ]
        random.Random(f"{self._seed}/{epoch}/mixed").shuffle(mixed)
        return mixed

    def batch_setting(self, batch: Sequence[int]) -> str:
        """The name of the setting that limits the size of a batch."""
        return f"input.tables.{self._names[self._place(batch)]}.train.batch"

    def loss(self, batch: Sequence[int]) -> Tensor:
        place = self._place(batch)
        weight = self._weights.get(self._names[place], 1.0)
        return weight * self._tasks[place].loss([row - self._begins[place] for row in batch])

    def _place(self, batch: Sequence[int]) -> int:
        return bisect_right(self._begins, batch[0]) - 1

    def measure(self) -> Mapping[str, float]:
        measures: dict[str, float] = {}
        deciding = []
        for name, task in zip(self._names, self._tasks, strict=True):
            measured = task.measure()
            measures |= {f"{name}/{key}": value for key, value in measured.items()}
            deciding.append(measured[self._deciding[name]])
        return measures | {MEAN: math.fsum(deciding) / len(deciding)}
