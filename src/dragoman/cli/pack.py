"""`dragoman pack`: an agent as one file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.terminal.messages import tell


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(pack)


def pack(
    *,
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="An agent's folder, or the name of a sample agent.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="File to write. Default: NAME.dragoman.", show_default=False),
    ] = None,
) -> None:
    """Pack an agent into one file that others can talk to.

    It holds agent.toml, the files beside it and the documents that it reads from elsewhere, without hidden files,
    weights, memories and dialogues.
    """
    from dragoman.agent.build import locate
    from dragoman.agent.packing import SUFFIX
    from dragoman.agent.packing import pack as pack_folder

    folder = locate(agent)[0].parent.resolve()
    file = out or Path(f"{folder.name}{SUFFIX}")
    if file.suffix != SUFFIX:
        file = file.with_name(f"{file.name}{SUFFIX}")
    report = pack_folder(folder, file)
    for copied in report.copied:
        left_out = f"; left out, of kinds that are not read: {copied.left_out}" if copied.left_out else ""
        sys.stdout.write(f"{copied.source}: files copied from {copied.path}: {copied.files}{left_out}\n")
    sys.stdout.write(f"{report.files} files, {file.stat().st_size / 1e6:.1f} MB: {file}\n")
    if report.refused:
        tell(f"{report.refused} So `dragoman chat {file.name}` refuses it; others unzip it into a folder first.")
    else:
        sys.stdout.write(f"Talk to it: dragoman chat {file}\n")
