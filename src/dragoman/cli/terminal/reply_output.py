"""Print replies as they stream, and their explanations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dragoman.cli.terminal import rendering
from dragoman.cli.terminal.messages import printable, tell_once
from dragoman.core.trace import Note, Reply, model_failures

if TYPE_CHECKING:
    from rich.console import Console


class _OutputLine:
    """Streamed text, wrapped between words at the width of the terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._column = 0

    def write(self, piece: str) -> None:
        from rich.cells import cell_len

        length = cell_len(piece.rstrip())
        if self._console.is_terminal and self._column and self._column + length > self._console.width:
            self._console.out("")
            self._column = 0
        self._console.out(piece, end="", highlight=False)
        self._console.file.flush()
        self._column = cell_len(piece.rpartition("\n")[2]) + (0 if "\n" in piece else self._column)


def speak(pieces: Iterator[Note | str | Reply], console: Console) -> Reply | None:
    """Print a reply as it streams and return it; None if the stream ends without one."""
    reply, begun = None, False
    line = _OutputLine(console)
    status = console.status("thinking", spinner="dots") if console.is_terminal else None
    if status is not None:
        status.start()
    try:
        for piece in pieces:
            if isinstance(piece, Note):
                if status is not None:
                    status.update(rendering.note_progress(piece))
            elif isinstance(piece, Reply):
                reply = piece
            else:
                if status is not None:
                    status.stop()
                begun = True
                line.write(printable(piece))
    finally:
        if status is not None:
            status.stop()
        if begun:
            console.out("")
    if reply is not None:
        if not begun:
            console.out(printable(reply.text), highlight=False)
        tell_trouble(reply)
    return reply


def tell_trouble(reply: Reply) -> None:
    """Warn, once, that the model failed, where the reply was composed without it."""
    for message in model_failures(reply.trace):
        tell_once(f"Warning: {message}")


def print_short_why(reply: Reply, console: Console) -> None:
    """Print the dim lines under a reply: changes of memory, and where the reply comes from."""
    for line in (*rendering.learned_lines(reply.trace), rendering.why_line(reply)):
        console.print(f"  {line}", style="dim", soft_wrap=True)


def print_why(reply: Reply, console: Console) -> None:
    """Print what decided a reply, then its trace and its evidence."""
    for line in rendering.explanation_text(reply):
        console.print(line)
    console.print(rendering.trace_table(reply.trace))
    if cost := rendering.cost_line(reply.trace):
        console.print(f"Cost: {cost}")
    if reply.evidence:
        console.print(rendering.evidence_table(reply.evidence))
    else:
        console.print("No evidence: nothing was looked up, or nothing was found.", style="dim")
