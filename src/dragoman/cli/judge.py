"""`dragoman judge`: export blinded rating sheets and import the ratings."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.terminal import rendering
from dragoman.core.errors import InputError

app = typer.Typer(no_args_is_help=True)


@app.command("export")
def export_(
    *,
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.", show_default=False)],
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="SHEET.csv", help="CSV file name; each annotator's number is added.", show_default=False
        ),
    ],
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="NAME", help="The data set, if the runs have several.", show_default=False),
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option("--system", metavar="NAME", help="Only this system. Repeatable.", show_default=False),
    ] = None,
    n: Annotated[int, typer.Option("--n", min=1, help="Number of turns, the same for every system.")] = 100,
    seed: Annotated[int, typer.Option("--seed", help="Random seed for the choice and order of turns.")] = 1,
    annotators: Annotated[int, typer.Option("--annotators", min=1, help="Number of annotators, one sheet each.")] = 3,
    every: Annotated[bool, typer.Option("--every", help="Include turns without gold evidence.")] = False,
) -> None:
    """Write blinded, shuffled rating sheets: CSV for a spreadsheet, HTML for a browser.

    A key file next to them says which system wrote which reply: do not give it to the annotators.
    """
    from dragoman.evaluate.judging.sheets import export, gather

    sheets = export(gather(runs, data, system), out, n=n, seed=seed, annotators=annotators, grounded=not every)
    for file in sheets.files:
        typer.echo(f"  {file} (or {file.with_suffix('.html').name})")
    typer.echo(f"  {sheets.key}: keep it from the annotators")
    systems = len(sheets.systems)
    typer.echo(f"{sheets.turns} turns of {sheets.available} that fit, {systems} systems, {annotators} annotators.")
    filled = " ".join(shlex.quote(str(file)) for file in sheets.files)
    typer.echo(f"Next, once they are filled in: dragoman judge import {filled} --key {shlex.quote(str(sheets.key))}")


@app.command("import")
def import_(
    sheets: Annotated[
        list[Path], typer.Argument(metavar="SHEET...", help="Filled sheets, one per annotator.", show_default=False)
    ],
    key: Annotated[
        Path, typer.Option("--key", metavar="KEY.json", help="The key file of the export.", show_default=False)
    ],
    json_out: Annotated[
        Path | None,
        typer.Option("--json", metavar="OUT", help="Write the figures to this JSON file.", show_default=False),
    ] = None,
    markdown_out: Annotated[
        Path | None,
        typer.Option("--markdown", metavar="OUT", help="Write the tables to this file.", show_default=False),
    ] = None,
) -> None:
    """Check filled sheets and print the ratings of each system.

    Prints means with confidence intervals, kappa and the share of agreeing pairs. Invalid cells are reported with file
    and row.
    """
    from dragoman.evaluate.judging.answers import kappa_text, markdown, read_sheets, shown, to_json

    verdicts = read_sheets(sheets, key)
    table = rendering.table("system", ">coherence (1-5)", ">persona (%)", ">knowledge (%)")
    for system, figures in verdicts.systems.items():
        cells = [
            shown(figures.get("coherence"), "coherence"),
            shown(figures.get("persona"), "persona"),
            shown(figures.get("knowledge"), "knowledge"),
        ]
        rendering.add_row(table, system, *cells)
    rendering.out().print(table)
    if verdicts.agreement:
        agreed = rendering.table("question", ">kappa", "method", ">agreeing pairs (%)", ">replies")
        for question, row in verdicts.agreement.items():
            rendering.add_row(
                agreed, question, kappa_text(row.kappa), row.method, f"{100 * row.percent:.1f}", str(row.items)
            )
        rendering.out().print(agreed)
    typer.echo(f"{len(verdicts.annotators)} annotators. Intervals: 95 % bootstrap over turns.")
    if json_out is not None:
        _write(json_out, json.dumps(to_json(verdicts), ensure_ascii=False, indent=2) + "\n", "--json")
    if markdown_out is not None:
        _write(markdown_out, markdown(verdicts), "--markdown")


def _write(path: Path, text: str, option: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"Cannot write {path}: {error.strerror}.", remedy=f"Give another path to {option}.") from error
