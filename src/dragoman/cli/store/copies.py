"""`dragoman store`: copy a store to another engine, back it up, restore it, check it, purge it; `index` is in its own
file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.store import index
from dragoman.cli.store.options import PLACE, AsJson, Schema, Store
from dragoman.cli.terminal.progress import progress_bars

if TYPE_CHECKING:
    from dragoman.stores.transfer.portable import Summary

app = typer.Typer(no_args_is_help=True)


@app.command()
def migrate(
    *,
    source: Annotated[str, typer.Argument(metavar="FROM", help=PLACE, show_default=False)],
    target: Annotated[str, typer.Argument(metavar="TO", help="The same; empty, or not there yet.", show_default=False)],
    from_schema: Annotated[str, typer.Option(metavar="NAME", help="The schema of FROM, where it is a PostgreSQL.")] = (
        "dragoman"
    ),
    to_schema: Annotated[str, typer.Option(metavar="NAME", help="The schema of TO, where it is a PostgreSQL.")] = (
        "dragoman"
    ),
    again: Annotated[
        bool, typer.Option("--again", help="Where scopes differ in the end, drop what TO has of them and copy anew.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Copy everything from one store to another, and compare the two.

    Passages with their vectors, dialogues with their traces, and kept values go over, of every tenant and user.
    Interrupted, the command goes on when it is repeated. A target that holds anything else is let alone. Stop what
    writes to FROM before: what changes there meanwhile is found when the two are compared, and --again mends it.
    """
    from dragoman.stores.locate import opened
    from dragoman.stores.transfer.copying import copy_store

    with (
        opened(source, schema=from_schema, present=True) as left,
        opened(target, schema=to_schema) as right,
        progress_bars() as bars,
    ):
        left.require_whole()
        copied = copy_store(left, right, identity=left.identity(), again=again, progress=bars.show)
        right.settle()
        where = right.where
    _report("copied", where, copied.summary, as_json=as_json, resumed=copied.resumed)


@app.command()
def backup(
    *,
    store: Store,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder for the backup.", show_default=False)],
    schema: Schema = "dragoman",
    as_json: AsJson = False,
) -> None:
    """Write a backup of a store that may be in use: everything as it is at one moment."""
    from dragoman.stores.locate import opened
    from dragoman.stores.transfer.backup import back_up

    with opened(store, schema=schema, present=True) as opened_store:
        manifest = back_up(opened_store, folder)
    _report("backed up", str(folder / manifest.file), manifest.content, as_json=as_json)


@app.command()
def restore(
    *,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a backup.", show_default=False)],
    store: Store,
    schema: Schema = "dragoman",
    as_json: AsJson = False,
) -> None:
    """Put a backup into an empty store, of the same kind or the other one; indexes are made anew."""
    from dragoman.stores.locate import file_of, opened
    from dragoman.stores.transfer import backup as backups

    file = file_of(store)
    content = backups.restore_file(folder, file) if file is not None else None
    if content is None:
        with opened(store, schema=schema) as target, progress_bars() as bars:
            content = backups.restore(folder, target, progress=bars.show)
            where = target.where
    else:
        with opened(store, present=True) as target:
            target.settle()
            where = target.where
    _report("restored", where, content, as_json=as_json)


@app.command()
def verify(
    *,
    place: Annotated[
        str, typer.Argument(metavar="PLACE", help=f"{PLACE} Or the folder of a backup.", show_default=False)
    ],
    schema: Schema = "dragoman",
    as_json: AsJson = False,
) -> None:
    """Check a store or a backup: the file, every row against its digest, every source against its counts."""
    from dragoman.stores.locate import opened
    from dragoman.stores.transfer.backup import MANIFEST, verify_backup
    from dragoman.stores.transfer.checking import problems
    from dragoman.stores.transfer.portable import summary

    if (Path(place) / MANIFEST).is_file():
        _report("sound", place, verify_backup(Path(place)).content, as_json=as_json)
        return
    with opened(place, schema=schema, present=True) as store:
        found = list(problems(store))
        content, where = summary(store), store.where
    _report("broken" if found else "sound", where, content, as_json=as_json, problems=found)
    if found:
        raise typer.Exit(1)


@app.command()
def purge(*, store: Store, schema: Schema = "dragoman", as_json: AsJson = False) -> None:
    """Take what was forgotten, removed or overwritten out of the files of the store.

    An SQLite file holds nothing of it anyway. A PostgreSQL server rewrites every table of the store (each is locked
    for as long as that takes, and needs as much free space as the largest) and lets go of its write-ahead log. What
    the user may not do, or what something else still needs, is named, and the exit code is 1. Backups, archives and
    replicas, and free blocks of the disk, are out of reach.
    """
    from dragoman.stores.locate import opened

    with opened(store, schema=schema, present=True) as opened_store:
        purged, where = opened_store.purge(), opened_store.where
    if as_json:
        typer.echo(json.dumps({"state": "purged", "where": where, "tables": purged.tables, "left": purged.left}))
    else:
        typer.echo(f"Purged: {where}")
        for what in purged.left:
            typer.echo(f"Left: {what}", err=True)
    if purged.left:
        raise typer.Exit(1)


index.add_to(app)


def _report(
    what: str, where: str, content: Summary, *, as_json: bool, resumed: bool = False, problems: list[str] | None = None
) -> None:
    from dataclasses import asdict

    if as_json:
        extra: dict[str, object] = {"resumed": True} if resumed else {}
        extra |= {} if problems is None else {"problems": problems}
        typer.echo(json.dumps({"state": what, "where": where, **asdict(content), **extra}, ensure_ascii=False))
        return
    typer.echo(f"{what.capitalize()}{' (went on with an earlier copy)' if resumed else ''}: {where}")
    counts = f"{content.passages} passages, {content.turns} turns and {content.kept} kept values"
    typer.echo(f"{counts} of {content.scopes} scopes; digest {content.digest}")
    for problem in problems or ():
        typer.echo(f"Problem: {problem}", err=True)
