"""Progress on standard error: bars on a terminal, silence down a pipe."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dragoman.cli import show

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID


class Bars:
    """Called with a label, what is done and what there is in all; one bar a label, begun with its first call."""

    def __init__(self) -> None:
        self._console = show.err()
        self._progress: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, label: str, done: int, total: int | None = None) -> None:
        if not self._console.is_terminal:
            return
        if self._progress is None:
            self._progress = _made(self._console)
            self._progress.start()
        if label not in self._tasks:
            self._tasks[label] = self._progress.add_task(show.one_line(label, 40), total=total)
        self._progress.update(self._tasks[label], completed=done, total=total)

    def close(self) -> None:
        """Take the bars away."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
            self._tasks.clear()


def _made(console: Console) -> Progress:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True)


@contextmanager
def progress_bars() -> Iterator[Bars]:
    """Bars for the length of a block."""
    bars = Bars()
    try:
        yield bars
    finally:
        bars.close()
