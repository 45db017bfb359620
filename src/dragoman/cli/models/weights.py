"""`dragoman models`: list, download and locate model weights, and distil an encoder."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.models.distil import distil_encoder
from dragoman.cli.terminal.progress import progress_bars
from dragoman.core.errors import InputError
from dragoman.models import downloads, weights
from dragoman.models.suggested import SUGGESTIONS

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
    more = Table("name", "size", "licence", "here", "memory", "not tried here", box=None, pad_edge=False)
    for suggestion in SUGGESTIONS.values():
        size, memory = _megabytes(suggestion.bytes), f"{suggestion.memory} GB"
        here = "yes" if downloads.address(suggestion.address).file.is_file() else "no"
        more.add_row(suggestion.name, size, suggestion.licence, here, memory, suggestion.about)
    Console().print("\nLarger language models, from a model hub:")
    Console().print(more)
    entries = [entry for entry in weights.CATALOGUE.values() if not entry.for_training]
    missing = [entry.name for entry in entries if not entry.is_present]
    if missing:
        typer.echo(f"Next: dragoman models pull {' '.join(missing)}")
    else:
        typer.echo("Next: dragoman chat, or dragoman models pull NAME and dragoman chat --model NAME")


@app.command()
def pull(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Names of `dragoman models list`, hf:OWNER/REPO/FILE.gguf, or URLs of GGUF files. "
            "Default: all that the agent needs."
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Accept the licences of models from a hub or URL without being asked.")
    ] = False,
) -> None:
    """Download weights and verify their SHA-256; valid files are not downloaded again, and broken-off ones resumed."""
    needed = [entry.name for entry in weights.CATALOGUE.values() if not entry.for_training]
    selected = names or needed
    for name in selected:  # a wrong name is told before anything is fetched
        downloads.address(name) if downloads.is_address(name) else weights.find(name)
    offers = {name: _offered(name, accept=yes) for name in selected if downloads.is_address(name)}
    placed: dict[str, Path] = {}
    with progress_bars() as bars:
        for name in selected:
            offer = offers.get(name)
            if name not in offers:
                placed[name] = weights.pull(name, progress=bars.fetching)
            elif offer is None:
                placed[name] = downloads.address(name).file
            else:
                placed[name] = downloads.fetch(offer, progress=partial(bars.fetching, name))
    for name, place in placed.items():
        typer.echo(f"{name}: {place}")
    models = [name for name in selected if name in offers]
    typer.echo(f"Next: dragoman chat{f' --model {shlex.quote(models[0])}' if models else ''}")


def _offered(name: str, *, accept: bool) -> downloads.Offer | None:
    """Return the file offered at an address after its licence was accepted; None if it is already here."""
    where = downloads.address(name)
    if where.file.is_file():
        return None
    offer = downloads.ask(where)
    size = _megabytes(offer.bytes) if offer.bytes is not None else "unknown size"
    typer.echo(f"{name}: {size}, licence: {offer.licence or 'not stated'}, SHA-256: {offer.sha256 or 'not stated'}")
    typer.echo(f"from {where.url}")
    if accept:
        return offer
    if not sys.stdin.isatty():
        raise InputError("Nobody is here to accept the licence.", remedy="Read it, then pull with --yes.")
    typer.confirm("Do you accept the licence, and shall it be downloaded?", abort=True)
    return offer


@app.command()
def path(name: Annotated[str, typer.Argument(help="Name of the weights.")]) -> None:
    """Print the path of weights, without downloading them."""
    from dragoman.core.errors import WeightsError

    if downloads.is_address(name):
        typer.echo(str(weights.path(name)))
        return
    entry = weights.find(name)
    if not entry.is_present:
        raise WeightsError(f"The weights '{name}' are not here.", remedy=f"Run `dragoman models pull {name}`.")
    typer.echo(str(entry.path))


app.command("distil")(distil_encoder)


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.0f} MB"
