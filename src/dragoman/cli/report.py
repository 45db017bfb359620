"""`dragoman report`: tables of one or more runs, printed or written to files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.terminal import rendering
from dragoman.core.errors import InputError

if TYPE_CHECKING:
    from dragoman.evaluate.results import Result

JsonOut = Annotated[
    Path | None, typer.Option("--json", metavar="OUT", help="Write the tables to this JSON file.", show_default=False)
]
MarkdownOut = Annotated[
    Path | None, typer.Option("--md", metavar="OUT", help="Write the tables to this Markdown file.", show_default=False)
]
CsvOut = Annotated[
    Path | None,
    typer.Option("--csv", metavar="OUT", help="Write the figures to this CSV file, one per line.", show_default=False),
]


def add_to(app: typer.Typer) -> None:
    """Register this file's command."""
    app.command()(report)


def report(
    *,
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write all four formats to this folder.", show_default=False),
    ] = None,
    markdown_out: MarkdownOut = None,
    csv_out: CsvOut = None,
    json_out: JsonOut = None,
    html_out: Annotated[
        Path | None,
        typer.Option("--html", metavar="OUT", help="Write an HTML page with plots to this file.", show_default=False),
    ] = None,
) -> None:
    """Print the tables of runs; runs on the same data set share a table.

    Runs on different data are never joined.
    """
    from dragoman.evaluate.running.run_record import CSV, MARKDOWN, PAGE, RESULTS, load_run
    from dragoman.evaluate.show.join import join

    result = join([load_run(run) for run in runs])
    print_tables(result)
    targets = {"--json": json_out, "--md": markdown_out, "--csv": csv_out, "--html": html_out}
    write_tables(result, targets)
    if out is not None:
        names = {"--json": RESULTS, "--md": MARKDOWN, "--csv": CSV, "--html": PAGE}
        _refuse_run(out, runs)
        write_tables(result, {option: out / name for option, name in names.items()})


def print_tables(result: Result) -> None:
    """Print the tables of a result, as wide as the terminal."""
    from dragoman.evaluate.show.tables import terminal

    console = rendering.out()
    console.print(result.title, style="bold underline")
    if result.about:
        console.print(result.about)
    console.print()
    for part in terminal(result, console.width):
        console.print(part)


def write_tables(result: Result, targets: Mapping[str, Path | None]) -> None:
    """Write a result in each format whose option names a file."""
    from dragoman.evaluate.running.run_folder import write_whole
    from dragoman.evaluate.running.timings import split_repeatable
    from dragoman.evaluate.show.report import page
    from dragoman.evaluate.show.tables import csv_text, markdown, result_json

    made: dict[str, Callable[[], str]] = {
        "--json": lambda: result_json(split_repeatable(result)[0]),
        "--md": lambda: markdown(result),
        "--csv": lambda: csv_text(result),
        "--html": lambda: page([result]),
    }
    for option, path in targets.items():
        if path is not None:
            write_whole(path, made[option]())


def _refuse_run(out: Path, runs: Sequence[Path]) -> None:
    """Refuse to write a report into a run folder, where it would overwrite the run's files."""
    from dragoman.evaluate.running.run_folder import MANIFEST

    if (out / MANIFEST).exists() or out.resolve() in {run.resolve() for run in runs}:
        raise InputError(f"'{out}' is the folder of a run.", remedy="Give --out another folder.")
