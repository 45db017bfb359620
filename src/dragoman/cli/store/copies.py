"""`dragoman store`: copy, back up, restore, verify and purge a store; `index` is in its own file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.store import index
from dragoman.cli.store.options import PLACE, AsJson, Schema, Store
from dragoman.cli.terminal.messages import tell
from dragoman.cli.terminal.progress import progress_bars

if TYPE_CHECKING:
    from dragoman.stores.transfer.portable import Summary

app = typer.Typer(no_args_is_help=True)


@app.command()
def migrate(
    *,
    source: Annotated[str, typer.Argument(metavar="FROM", help=PLACE, show_default=False)],
    target: Annotated[
        str,
        typer.Argument(
            metavar="TO", help="The target, given like FROM: empty or not existing yet.", show_default=False
        ),
    ],
    from_schema: Annotated[str, typer.Option(metavar="NAME", help="Schema of FROM on PostgreSQL.")] = ("dragoman"),
    to_schema: Annotated[str, typer.Option(metavar="NAME", help="Schema of TO on PostgreSQL.")] = ("dragoman"),
    again: Annotated[
        bool, typer.Option("--again", help="If scopes still differ at the end, delete them in TO and copy them again.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Copy everything from one store to another and compare the two.

    Copies passages with vectors, dialogues with traces, and stored values of every tenant and user. Repeat the command
    to resume an interrupted copy. A target with other content is refused. Stop writers of FROM first: later changes are
    detected by the comparison, and --again copies them.
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
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="New folder for the backup.", show_default=False)],
    schema: Schema = "dragoman",
    as_json: AsJson = False,
) -> None:
    """Back up a store, which may be in use: a consistent snapshot."""
    from dragoman.stores.locate import opened
    from dragoman.stores.transfer.backup import back_up

    with opened(store, schema=schema, present=True) as opened_store:
        manifest = back_up(opened_store, folder)
    _report("backed up", str(folder / manifest.file), manifest.content, as_json=as_json)


@app.command()
def restore(
    *,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of a backup.", show_default=False)],
    store: Store,
    schema: Schema = "dragoman",
    as_json: AsJson = False,
) -> None:
    """Restore a backup into an empty store of either engine; indexes are rebuilt."""
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
    """Verify a store or a backup: file integrity, row digests and counts per source."""
    from dragoman.stores.locate import opened
    from dragoman.stores.transfer.backup import MANIFEST, verify_backup
    from dragoman.stores.transfer.checking import problems
    from dragoman.stores.transfer.portable import summary

    if (Path(place) / MANIFEST).is_file():
        _report("sound", place, verify_backup(Path(place)).content, as_json=as_json)
        return
    with opened(place, schema=schema, present=True) as store:
        faults = list(problems(store))
        content, where = summary(store), store.where
    _report("broken" if faults else "sound", where, content, as_json=as_json, problems=faults)
    if faults:
        raise typer.Exit(1)


@app.command()
def purge(*, store: Store, schema: Schema = "dragoman", as_json: AsJson = False) -> None:
    """Remove deleted and overwritten data from the files of the store.

    An SQLite file never keeps such data. On PostgreSQL, every table of the store is rewritten (locked meanwhile; needs
    free space for the largest) and the write-ahead log is released. Steps that lack permission, or whose data is still
    needed elsewhere, are reported, and the exit code is 1. Backups, archives, replicas and free disk blocks are not
    covered.
    """
    from dragoman.stores.locate import opened

    with opened(store, schema=schema, present=True) as opened_store:
        purged, where = opened_store.purge(), opened_store.where
    if as_json:
        typer.echo(json.dumps({"state": "purged", "where": where, "tables": purged.tables, "left": purged.left}))
    else:
        typer.echo(f"Purged: {where}")
        for what in purged.left:
            tell(f"Left: {what}")
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
        tell(f"Problem: {problem}")
