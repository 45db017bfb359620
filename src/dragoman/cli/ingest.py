"""`dragoman ingest`: read files, folders, web pages and Git repositories into a source."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.terminal import rendering
from dragoman.cli.terminal.agent_options import Agent, Overridable, Set, State, User, again, opened
from dragoman.cli.terminal.messages import tell
from dragoman.cli.terminal.progress import progress_bars
from dragoman.cli.terminal.ray_option import Ray, workers
from dragoman.core.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.agent.assistant import Assistant
    from dragoman.sources.ingest import IngestReport


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(cls=Overridable)(ingest)


def ingest(
    *,
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH", help="Files, folders, web pages, sitemaps and Git repositories to read.", show_default=False
        ),
    ],
    source: Annotated[str, typer.Option("--source", "-s", metavar="NAME", help="The source to add them to.")] = (
        "DOCUMENTS"
    ),
    sync: Annotated[
        bool, typer.Option("--sync", help="Also remove passages of files and pages that are gone.")
    ] = False,
    follow_links: Annotated[
        bool, typer.Option("--follow-links", help="Also read what links inside a folder point to outside of it.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Keep running, and read files again when they change (Ctrl-C stops).")
    ] = False,
    pages: Annotated[int, typer.Option("--pages", min=1, metavar="N", help="Most web pages to fetch.")] = 500,
    allow_private: Annotated[
        bool, typer.Option("--allow-private", help="Also fetch from private addresses, such as an intranet's.")
    ] = False,
    agent: Agent = None,
    user: User = "me",
    settings: Set = None,
    state: State = None,
    ray: Ray = None,
) -> None:
    """Read files, folders, web pages and Git repositories into a source.

    Supports text, Markdown, HTML, PDF, CSV, JSONL, Word, PowerPoint, Excel, OpenDocument text, EPUB, e-mails and
    Jupyter notebooks. Unchanged files are skipped. Files that fail are listed at the end; the others are added.

    https://... is one page, or all pages of a sitemap; git+https://... or https://...git is a Git repository.
    robots.txt is obeyed, and private addresses are refused. With --sync, pages that a sitemap no longer lists and
    pages that a site answers with 404 or 410 are removed.
    """
    from dragoman.sources.web import is_address
    from dragoman.sources.web.site import WebLimits

    local = [path for path in paths if not is_address(path)]
    if watch and not local:
        raise ConfigError("--watch needs a file or folder.", remedy="Pages are fetched again by the same command.")
    limits = WebLimits(pages=pages, allow_private=allow_private)
    with workers(ray) as pool, opened(agent, settings=settings, state=state) as assistant:
        with progress_bars() as bars:
            report = assistant.ingest(
                paths,
                source=source,
                user=user,
                sync=sync or watch,
                follow_links=follow_links,
                progress=bars.reading,
                workers=pool,
                web=limits,
            )
        _print_report(report, source)
        if watch:
            _watch(assistant, local, report, source=source, user=user, follow_links=follow_links)
    if report.failed:
        raise typer.Exit(1)
    sys.stdout.write(f'Ask about it: dragoman ask{again(agent)} --why "..."\n')


def _watch(
    assistant: Assistant, paths: list[str], before: IngestReport, *, source: str, user: str, follow_links: bool
) -> None:
    """Read files again whenever they change, and print what is new since the report before; never returns."""
    from dragoman.sources.watch import changes

    sys.stdout.write("Watching for changes; Ctrl-C stops.\n")
    sys.stdout.flush()
    for _ in changes(paths, follow_links=follow_links):
        there = [path for path in paths if Path(path).exists()]
        report = assistant.ingest(there, source=source, user=user, sync=True, follow_links=follow_links, retry=False)
        failed = tuple(failure for failure in report.failed if failure not in before.failed)
        skipped = tuple(link for link in report.skipped if link not in before.skipped)
        if report.added + report.changed + report.removed or failed:
            sys.stdout.write(f"{report.added} added, {report.changed} changed, {report.removed} removed\n")
            sys.stdout.flush()
        _print_problems(replace(report, failed=failed, skipped=skipped))
        before = report


def _print_report(report: IngestReport, source: str) -> None:
    table = rendering.table("source", ">files", ">added", ">changed", ">removed", ">unchanged", ">failed", ">seconds")
    counts = (report.files, report.added, report.changed, report.removed, report.unchanged, len(report.failed))
    table.add_row(source, *(str(count) for count in counts), f"{report.seconds:.1f}")
    rendering.out().print(table)
    _print_problems(report)


def _print_problems(report: IngestReport) -> None:
    for link in report.skipped:
        tell(f"Skipped: {link.path}: {link.reason} Read it with --follow-links.")
    for failure in report.failed:
        tell(f"Failed: {failure.path}: {failure.reason}")
