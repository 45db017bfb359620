"""`dragoman models`: list, download and locate model weights, and distil an encoder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.models_distil import distil_encoder
from dragoman.models import weights

app = typer.Typer(no_args_is_help=True)


@app.command("list")
def list_() -> None:
    """List the weights that can be downloaded, and which of them are present."""
    from rich.console import Console
    from rich.table import Table

    table = Table("name", "size", "licence", "here", "what it is", box=None, pad_edge=False)
    for entry in weights.CATALOGUE.values():
        here = "yes" if entry.is_present else "no"
        table.add_row(entry.name, _megabytes(entry.bytes), entry.licence, here, entry.about)
    Console().print(table)
    wanted = [entry for entry in weights.CATALOGUE.values() if not entry.for_training]
    missing = [entry.name for entry in wanted if not entry.is_present]
    if missing:
        typer.echo(f"Next: dragoman models pull {' '.join(missing)}")
    else:
        typer.echo("Next: dragoman chat")


@app.command()
def pull(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names of weights. Default: all that the agent needs.")
    ] = None,
) -> None:
    """Download weights and verify their SHA-256; valid files are not downloaded again."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    needed = [entry.name for entry in weights.CATALOGUE.values() if not entry.for_training]
    entries = [weights.find(name) for name in names or needed]
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    placed: dict[str, Path] = {}
    with Progress(*columns, console=Console(stderr=True)) as bars:
        for entry in entries:
            task = bars.add_task(entry.name, total=None)

            def show(name: str, done: int, total: int | None, task: TaskID = task) -> None:
                bars.update(task, completed=done, total=total)

            placed[entry.name] = weights.pull(entry.name, progress=show)
            bars.update(task, completed=entry.bytes, total=entry.bytes)
    for name, place in placed.items():
        typer.echo(f"{name}: {place}")
    typer.echo("Next: dragoman chat")


@app.command()
def path(name: Annotated[str, typer.Argument(help="Name of the weights.")]) -> None:
    """Print the path of weights, without downloading them."""
    from dragoman.core.errors import WeightsError

    entry = weights.find(name)
    if not entry.is_present:
        raise WeightsError(f"The weights '{name}' are not here.", remedy=f"Run `dragoman models pull {name}`.")
    typer.echo(str(entry.path))


app.command("distil")(distil_encoder)


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.0f} MB"
