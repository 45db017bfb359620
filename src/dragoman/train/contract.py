"""What training is made of: a recipe says what is wanted, a learner makes a part of it, a task is what its loop learns.

`learners` is the table of them by kind; each file of `learners/` registers one.
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
    """What a run reports while it goes on."""

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
    """For each file: its name without a folder, SHA-256, rows; what goes into the part and its card."""


@dataclass(frozen=True, slots=True)
class Job:
    """One training: what is wanted, from what, where to. `device` is "cpu" or "cuda".

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
    """Makes a part of a job. It resumes by itself: what lies in the job's folder is gone on with.

    One that can share a training between processes says `parallel = True`, one that learns from `aux` too
    `auxiliary = True`; where it says neither, several processes and auxiliary data are refused before it is asked.
    """

    def fit(self, job: Job) -> Part: ...


class Task(Protocol):
    """What the loop learns: a model, batches in an order that seed and epoch alone decide, a loss, measures on dev."""

    @property
    def model(self) -> torch.nn.Module: ...

    def batches(self, epoch: int) -> Sequence[Sequence[int]]:
        """The batches of an epoch as row numbers, for this epoch always the same."""
        ...

    def loss(self, batch: Sequence[int]) -> torch.Tensor:
        """The mean loss of some rows; the loop averages over accumulated batches and calls backward."""
        ...

    def measure(self) -> Mapping[str, float]:
        """The measures on dev by name; `train.metric` names the one that decides."""
        ...
