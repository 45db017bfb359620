"""Progress on standard error: bars on a terminal, a line every few seconds down a pipe."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from dragoman.cli.terminal import rendering as show

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

_PATIENCE = 0.3
"""Seconds before a bar appears: what is over at once needs none."""
_BETWEEN_LINES = 10.0
"""Seconds between two lines down a pipe, and before the first."""
_NAME_WIDTH = 48
_BYTES = " bytes"


class Bars:
    """Progress bars by label, for downloads, ingestion and conversations."""

    def __init__(self) -> None:
        self._console = show.err()
        self._began: float | None = None
        self._last_line = 0.0
        self._progress: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._named: set[str] = set()

    def show(self, label: str, done: int, total: int | None, name: str = "", *, unit: str = "") -> None:
        """Update a bar; `name` is the current item, `unit` what is counted."""
        if self._began is None:
            self._began = monotonic()
        if not self._console.is_terminal:
            self._line(label, done, total, name, unit)
            return
        if self._progress is None:
            if monotonic() - self._began < _PATIENCE or done == total:
                return
            self._progress = _new_progress(self._console)
            self._progress.start()
        if label not in self._tasks:
            self._tasks[label] = self._progress.add_task(label, total=total, name="")
        self._progress.update(self._tasks[label], completed=done, total=total, name=show.one_line(name, _NAME_WIDTH))

    def _line(self, label: str, done: int, total: int | None, name: str, unit: str) -> None:
        now = monotonic()
        if now - max(self._began or now, self._last_line) < _BETWEEN_LINES:
            return
        self._last_line = now
        if unit == _BYTES and total:
            size, unit = (1e6, " MB") if total >= 1e6 else (1e3, " kB")
            amount = f"{done / size:.1f} of {total / size:.1f}{unit} ({done / total:.0%})"
        else:
            amount = f"{done} of {total}{unit} ({done / total:.0%})" if total else f"{done}{unit}"
        line = f"{label}: {amount} {show.one_line(name, _NAME_WIDTH)}".rstrip()
        self._console.print(line, soft_wrap=True, markup=False)

    def notice(self, text: str) -> None:
        """One line about slow work that reports no progress."""
        self._console.print(text, soft_wrap=True, markup=False)

    def reading(self, done: int, total: int, name: str, /) -> None:
        """Progress callback of ingestion: bytes done, bytes in total, current file; pages while they are fetched."""
        if total:
            self.show("Reading", done, total, name, unit=_BYTES)
        elif name:
            count = f"{done}: " if self._console.is_terminal else ""  # a bar without an end shows no number
            self.show("Fetching pages", done, None, f"{count}{name}")

    def fetching(self, name: str, done: int, total: int | None, /) -> None:
        """Progress callback of downloads; without a terminal, prints a line at the start and one now and then."""
        if not self._console.is_terminal and name not in self._named:
            self._named.add(name)
            size = f" ({total / 1e6:.0f} MB)" if total else ""
            self._console.print(f"Fetching {name}{size}", soft_wrap=True)
        megabytes = None if total is None else round(total / 1e6)
        named = f"{done / 1e6:.0f} MB" if self._console.is_terminal else ""
        self.show(f"Fetching {name}", round(done / 1e6), megabytes or None, named, unit=" MB")
        if done == total:
            self._last_line = monotonic()  # the work after a download begins a time of its own

    def close(self) -> None:
        """Remove the bars."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
            self._tasks.clear()


def _new_progress(console: Console) -> Progress:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[name]}", markup=False),
    )
    return Progress(*columns, console=console, transient=True)


@contextmanager
def progress_bars() -> Iterator[Bars]:
    """Context manager for progress bars, also for weights downloaded inside the block."""
    from dragoman.models import weights

    bars = Bars()
    weights.on_progress, weights.on_notice = bars.fetching, bars.notice
    try:
        yield bars
    finally:
        weights.on_progress = weights.on_notice = None
        bars.close()
