"""Average the weights of several trainings that began with the same weights.

Weights that were fine-tuned from one base lie near each other, and their mean errs less than each of them, at the cost
of one model when it runs. What an adapter adds to a weight is a product B A, so its products are averaged, not its
factors, and the mean is brought back to the adapter's rank by its largest singular values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor

from dragoman.train.contract import Job, Task
from dragoman.train.loop.optimiser import trainable
from dragoman.train.loop.out_of_memory import release
from dragoman.train.loop.training_loop import fit

T = TypeVar("T", bound=Task)
_A, _B = ".lora_A.", ".lora_B."


@dataclass(frozen=True, slots=True)
class AveragedRun:
    """One of several trainings, numbered from 0, with its own seed and folder."""

    number: int
    job: Job
    folder: Path


def fit_runs(make: Callable[[AveragedRun], T], job: Job, runs: int) -> tuple[T, Mapping[str, float]]:
    """Train several times, each resumable in its own folder, and return a task with the average of the weights.

    `make` begins a task with the same weights for each. Of one training dev's measures come with it; of the mean none:
    a caller that needs them measures it.
    """
    if runs == 1:
        task = make(AveragedRun(0, job, job.folder))
        return task, fit(task, job)
    mean = Mean()
    for number in range(runs):
        run = AveragedRun(number, _by_chance(job, number), job.folder / f"run-{number + 1}")
        run.folder.mkdir(parents=True, exist_ok=True)
        task = make(run)
        fit(task, run.job, folder=run.folder)
        mean.add(task.model)
        if number + 1 < runs:
            del task
            release()  # the next one needs the memory
    mean.put(task.model)
    return task, {}


def _by_chance(job: Job, run: int) -> Job:
    """The job with the seed of another run."""
    train = job.recipe.train
    train = train.model_copy(update={"seed": train.seed + run})
    return replace(job, recipe=job.recipe.model_copy(update={"train": train}))


class Mean:
    """Running mean of trained weights, in double precision on the CPU."""

    def __init__(self) -> None:
        self._count = 0
        self._sums: dict[str, Tensor] = {}
        self._factors: dict[str, list[Tensor]] = {}

    def add(self, model: torch.nn.Module) -> None:
        """Add a model to the mean."""
        for name, parameter in trainable(model).items():
            value = parameter.detach().to("cpu", torch.float64, copy=True)
            if _A in name or _B in name:
                self._factors.setdefault(name, []).append(value)
            else:
                self._sums[name] = self._sums[name] + value if self._count else value
        self._count += 1

    def put(self, model: torch.nn.Module) -> None:
        """Write the mean into a model."""
        parameters = trainable(model)
        with torch.no_grad():
            for name, total in self._sums.items():
                parameters[name].copy_(total / self._count)
            for name, values in self._factors.items():
                if _A in name:
                    other = name.replace(_A, _B)
                    a, b = mean_product(values, self._factors[other])
                    parameters[name].copy_(a)
                    parameters[other].copy_(b)


def mean_product(a: list[Tensor], b: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Factors A and B, of the rank of those given, whose product is nearest to the mean of the products B A.

    The products share a column and a row space of at most as many dimensions as there are factors, so the singular
    values are those of a small matrix between the two, and no product is ever written out.
    """
    rank = a[0].shape[0]
    left, inner = torch.linalg.qr(torch.cat(b, dim=1))
    right, outer = torch.linalg.qr(torch.cat(a, dim=0).T)
    u, values, v = torch.linalg.svd(inner @ outer.T / len(a), full_matrices=False)
    root = values[:rank].sqrt()
    found_a, found_b = root[:, None] * (v[:rank] @ right.T), left @ u[:, :rank] * root
    if len(root) < rank:  # a layer narrower than the adapter's rank
        found_a = torch.cat([found_a, found_a.new_zeros(rank - len(root), found_a.shape[1])])
        found_b = torch.cat([found_b, found_b.new_zeros(found_b.shape[0], rank - len(root))], dim=1)
    return found_a, found_b
