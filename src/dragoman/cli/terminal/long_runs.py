"""Shared by the commands of long runs: options, training figures, and how to resume."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.terminal import rendering

if TYPE_CHECKING:
    from dragoman.train.contract import Progress

Fresh = Annotated[bool, typer.Option("--fresh", help="Delete the folder's earlier results and start again.")]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Skip invalid rows.")]


def training_figures(step: Progress) -> str:
    """Loss and dev metric of a step, as far as they are known."""
    numbers = {"loss": step.loss, "dev": step.metric}
    return " · ".join(f"{name} {value:.3f}" for name, value in numbers.items() if value is not None)


def say_how_to_resume(kept: str = "") -> None:
    """Print what was kept of an interrupted run, and the command that resumes it."""
    console = rendering.err()
    if kept:
        console.print(kept, soft_wrap=True)
    again = shlex.join(word for word in sys.argv[1:] if word != "--fresh")
    console.print(f"Go on with:  dragoman {again}", soft_wrap=True)
