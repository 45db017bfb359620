"""The mean of what several trainings of one model learned from the same beginning.

Weights that were fine-tuned from one base lie near each other, and their mean errs less than each of them, at the cost
of one model when it runs.
"""

from __future__ import annotations

import torch
from torch import Tensor

from dragoman.train.optimise import trainable


class Mean:
    """Sums what models learned, in double precision on the CPU, and gives their mean."""

    def __init__(self) -> None:
        self._count = 0
        self._sums: dict[str, Tensor] = {}

    def add(self, model: torch.nn.Module) -> None:
        """Count a model in."""
        for name, parameter in trainable(model).items():
            value = parameter.detach().to("cpu", torch.float64)
            self._sums[name] = self._sums[name] + value if self._count else value.clone()
        self._count += 1

    def put(self, model: torch.nn.Module) -> None:
        """Write the mean into a model."""
        with torch.no_grad():
            for name, parameter in trainable(model).items():
                parameter.copy_(self._sums[name] / self._count)
