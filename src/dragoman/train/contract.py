"""Contracts of training: a job has a recipe and data, a learner makes a part of it, a loop trains a task.

`learners` is the registry by kind; each file of `learners/` registers one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from dragoman.core.examples import Dataset, Example
from dragoman.core.values import Passage
from dragoman.models.part import Part
from dragoman.train.spec import Recipe

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Progress:
    """Callback for the progress of a run."""

    stage: str
    done: int
    total: int
    loss: float | None = None
    metric: float | None = None


Report: TypeAlias = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Corpus:
    """One side of the data: the sets, their examples read and checked, and the passages that they share."""

    sets: tuple[Dataset, ...]
    examples: tuple[Example, ...]
    passages: tuple[Passage, ...] = ()
    origin: tuple[Mapping[str, Any], ...] = ()
    """For each file its name without a folder, SHA-256 and rows, as the part and its card state them."""


@dataclass(frozen=True, slots=True)
class Job:
    """One training: recipe, data and folder. `device` is "cpu" or "cuda".

    `aux` is another set's examples, which a learner may begin with before it learns from `train`. `command` is for a
    learner that writes its own card: what the card says made it.
    """

    recipe: Recipe
    train: Corpus
    dev: Corpus
    folder: Path
    device: str = "cpu"
    report: Report = lambda progress: None
    aux: Corpus | None = None
    command: str = ""


class Learner(Protocol):
    """Trains the part of a job, and resumes from the job's folder.

    A learner that can train in several processes has `parallel = True`, one that uses `aux` has `auxiliary = True`;
    otherwise several processes, or auxiliary data, are an error before it is called.
    """

    def fit(self, job: Job) -> Part: ...


class Task(Protocol):
    """The task of a training loop: a model, batches determined by seed and epoch, a loss, and measures on dev."""

    @property
    def model(self) -> torch.nn.Module: ...

    def batches(self, epoch: int) -> Sequence[Sequence[int]]:
        """The batches of an epoch as row numbers; the same on every call."""
        ...

    def loss(self, batch: Sequence[int]) -> torch.Tensor:
        """The mean loss of some rows; the loop averages over accumulated batches and calls backward."""
        ...

    def measure(self) -> Mapping[str, float]:
        """The measures on dev by name; `train.metric` names the one that decides."""
        ...
