"""Progress bars for long work that is called from Python: in a notebook, or on standard error.

with progress() as bars:
    assistant = dragoman.load("my-agent", progress=bars.ingest)
    assistant.ingest(["notes"], source="DOCUMENTS", progress=bars.ingest)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from dragoman.models import weights

if TYPE_CHECKING:
    from rich.progress import TaskID

_BETWEEN = 0.2
"""Seconds between two updates of a bar: a notebook keeps every message that it is sent."""
_NAME_WIDTH = 60


class _Display(Protocol):
    """Shows the state of one piece of work; a label that is new gets a bar of its own."""

    def show(self, label: str, done: int, total: int | None, name: str) -> None: ...

    def close(self) -> None: ...


class _TrainingProgress(Protocol):
    """Progress of training: `dragoman.train.contract.Progress`."""

    @property
    def stage(self) -> str: ...
    @property
    def done(self) -> int: ...
    @property
    def total(self) -> int: ...
    @property
    def loss(self) -> float | None: ...
    @property
    def metric(self) -> float | None: ...


class ProgressBars:
    """Progress callbacks, each named after the work that it is for."""

    def __init__(self, display: _Display) -> None:
        self._display = display
        self._shown: dict[str, float] = {}

    def ingest(self, done: int, total: int, name: str, /) -> None:
        """For `progress` of `dragoman.load` and of `Assistant.ingest`."""
        if total:
            self._show("Reading", done, total, name)
        elif name:
            self._show("Fetching pages", done, None, name)

    def evaluate(self, stage: str, done: int, total: int | None, name: str, /) -> None:
        """For `progress` of `dragoman.evaluate.run` and `experiment`."""
        self._show(stage, done, total, name)

    def train(self, progress: _TrainingProgress, /) -> None:
        """For `report` of `dragoman.train.run.train`."""
        figures = [("loss", progress.loss), ("dev", progress.metric)]
        shown = " · ".join(f"{name} {value:.3f}" for name, value in figures if value is not None)
        self._show(progress.stage, progress.done, progress.total or None, shown)

    def fetch(self, name: str, done: int, total: int | None, /) -> None:
        """Downloads of weights; set while the bars are open."""
        self._show(f"Fetching {name}", done, total, "")

    def _show(self, label: str, done: int, total: int | None, name: str) -> None:
        now = monotonic()
        if done != total and now - self._shown.get(label, -_BETWEEN) < _BETWEEN:
            return
        self._shown[label] = now
        self._display.show(label, done, total, name if len(name) <= _NAME_WIDTH else f"…{name[1 - _NAME_WIDTH :]}")


@contextmanager
def progress() -> Iterator[ProgressBars]:
    """Progress bars for the block, also for weights that are downloaded inside it."""
    display: _Display = _HtmlDisplay() if in_notebook() else _TerminalDisplay()
    bars = ProgressBars(display)
    before, weights.on_progress = weights.on_progress, bars.fetch
    try:
        yield bars
    finally:
        weights.on_progress = before
        display.close()


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    library = sys.modules.get("IPython")
    shell = None if library is None else library.get_ipython()
    return getattr(shell, "kernel", None) is not None


class _HtmlDisplay:
    """One element of HTML for each bar, updated in place; it needs no widgets."""

    def __init__(self) -> None:
        self._handles: dict[str, Any] = {}

    def show(self, label: str, done: int, total: int | None, name: str) -> None:
        from IPython.display import HTML, display

        content = HTML(_bar_html(label, done, total, name))
        if label in self._handles:
            self._handles[label].update(content)
        else:
            self._handles[label] = display(content, display_id=True)

    def close(self) -> None:
        self._handles.clear()


def _bar_html(label: str, done: int, total: int | None, name: str) -> str:
    value = f' value="{done}" max="{total}"' if total else ""
    amount = f"{done / total:.0%}" if total else f"{done:,}"
    return f"<div>{escape(label)} <progress{value}></progress> {amount} <small>{escape(name)}</small></div>"


class _TerminalDisplay:
    """Bars on standard error; rich leaves them out where it is no terminal."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(show_speed=False),
            TextColumn("{task.fields[name]}", markup=False),
        )
        console = Console(stderr=True)
        self._progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._tasks: dict[str, TaskID] = {}

    def show(self, label: str, done: int, total: int | None, name: str) -> None:
        if not self._tasks:
            self._progress.start()
        if label not in self._tasks:
            self._tasks[label] = self._progress.add_task(label, total=total, name="")
        self._progress.update(self._tasks[label], completed=done, total=total, name=name)

    def close(self) -> None:
        self._progress.stop()
