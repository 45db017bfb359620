"""`dragoman ingest`: read files and folders into a source."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.terminal import rendering
from dragoman.cli.terminal.agent_options import Agent, Overridable, Set, State, User, again, opened
from dragoman.cli.terminal.progress import progress_bars
from dragoman.cli.terminal.ray_option import Ray, workers

if TYPE_CHECKING:
    from dragoman.sources.ingest import IngestReport


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(cls=Overridable)(ingest)


def ingest(
    *,
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Files and folders to read.", show_default=False)],
    source: Annotated[str, typer.Option("--source", "-s", metavar="NAME", help="The source to add them to.")] = (
        "DOCUMENTS"
    ),
    sync: Annotated[bool, typer.Option("--sync", help="Also remove passages of files that no longer exist.")] = False,
    follow_links: Annotated[
        bool, typer.Option("--follow-links", help="Also read what links inside a folder point to outside of it.")
    ] = False,
    agent: Agent = None,
    user: User = "me",
    settings: Set = None,
    state: State = None,
    ray: Ray = None,
) -> None:
    """Read files and folders into a source.

    Supports text, Markdown, HTML, PDF, CSV, JSONL, Word, PowerPoint, Excel, OpenDocument text, EPUB, e-mails and
    Jupyter notebooks. Unchanged files are skipped. Files that fail are listed at the end; the others are added.
    """
    with workers(ray) as found, opened(agent, settings=settings, state=state) as assistant, progress_bars() as bars:
        report = assistant.ingest(
            paths,
            source=source,
            user=user,
            sync=sync,
            follow_links=follow_links,
            progress=bars.reading,
            workers=found,
        )
    _print_report(report, source)
    if report.failed:
        raise typer.Exit(1)
    sys.stdout.write(f'Ask about it: dragoman ask{again(agent)} --why "..."\n')


def _print_report(report: IngestReport, source: str) -> None:
    table = rendering.table("source", ">files", ">added", ">changed", ">removed", ">unchanged", ">failed", ">seconds")
    counts = (report.files, report.added, report.changed, report.removed, report.unchanged, len(report.failed))
    table.add_row(source, *(str(count) for count in counts), f"{report.seconds:.1f}")
    rendering.out().print(table)
    for link in report.skipped:
        sys.stderr.write(f"Skipped: {link.path}: {link.reason} Read it with --follow-links.\n")
    for failure in report.failed:
        sys.stderr.write(f"Failed: {failure.path}: {failure.reason}\n")
