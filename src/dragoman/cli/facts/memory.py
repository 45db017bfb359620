"""`dragoman memory`: import memories from other programs, export them, set a user's time zone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dragoman.cli.terminal import rendering
from dragoman.cli.terminal.agent_options import Agent, Overridable, Set, State, User, again, opened

if TYPE_CHECKING:
    from dragoman.memory.transfer.importing import ImportPlan

_SHOWN = 40
FileFormat = Literal["chatgpt", "claude", "mem0", "dragoman", "json", "markdown"]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be kept, and change nothing.")]


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    memory = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    memory.command("import", cls=Overridable)(import_)
    memory.command(cls=Overridable)(export)
    memory.command(cls=Overridable)(zone)
    app.add_typer(memory, name="memory", help="Import and export a user's memory; set their time zone.")


def import_(
    *,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="An export (.zip, .json) or a list (.json, .md).", show_default=False)
    ],
    agent: Agent = None,
    user: User = "me",
    file_format: Annotated[
        FileFormat | None, typer.Option("--format", help="What the file is. Default: found out.")
    ] = None,
    chats: Annotated[bool, typer.Option("--chats", help="Keep its chats too, as past chats of the user.")] = False,
    dry_run: DryRun = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    settings: Set = None,
    state: State = None,
) -> None:
    """Take facts from a file of ChatGPT, Claude, mem0 or Dragoman, or from a list in JSON or Markdown.

    Each fact is kept once, with the date on which it was told. Orders to the agent that the file holds are left out.
    """
    with opened(agent, settings=settings, state=state) as assistant:
        plan = assistant.import_memory(file, user=user, format=file_format, chats=chats, dry_run=dry_run)
    if as_json:
        from dragoman.core.codec import encode

        typer.echo(json.dumps(encode(plan), ensure_ascii=False))
        return
    _print(plan, dry_run=dry_run)
    if dry_run:
        typer.echo("Nothing was changed. Leave out --dry-run to keep this.")
    else:
        typer.echo(f"See all of it: dragoman recall{again(agent, user)}")


def _print(plan: ImportPlan, *, dry_run: bool) -> None:
    words = {"new": "new", "replaces": "replaces", "past": "earlier", "known": "known"}
    if plan.kept:
        table = rendering.table("told", "fact", "", title="Would be kept" if dry_run else "Kept")
        for each in plan.kept[:_SHOWN]:
            other = f"{words[each.fate]}: {rendering.one_line(each.other, 60)}" if each.other else words[each.fate]
            rendering.add_row(table, each.fact.said_at[:10], rendering.one_line(each.fact.text, 120), other)
        rendering.out().print(table)
    more = len(plan.kept) - _SHOWN
    if more > 0:
        typer.echo(f"... and {more} more.")
    duplicates = len(plan.facts) - len(plan.kept)
    counts = [f"{len(plan.kept)} kept", f"{duplicates} known already", f"{plan.left_out} without a fact about the user"]
    counts += [f"{plan.instructions} of these orders to an agent"] if plan.instructions else []
    counts += [f"{plan.messages} messages read"] if plan.messages else []
    counts += [f"{plan.chats} chats"] if plan.chats else []
    typer.echo(f"Facts: {', '.join(counts)}.")


def export(
    *,
    agent: Agent = None,
    user: User = "me",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The file to write. Default: standard output.", show_default=False),
    ] = None,
    file_format: Annotated[
        Literal["json", "markdown"], typer.Option("--format", help="json comes back whole.")
    ] = "json",
    settings: Set = None,
    state: State = None,
) -> None:
    """Write a user's facts, earlier facts and standing wishes to a file."""
    from dragoman.core.private_files import make_private_file
    from dragoman.memory.transfer.exporting import as_markdown

    with opened(agent, settings=settings, state=state) as assistant:
        if file_format == "json":
            text = json.dumps(assistant.export_memory(user=user), ensure_ascii=False, indent=2) + "\n"
        else:
            text = as_markdown(assistant.recall(user=user), assistant.wishes(user=user))
    if out is None:
        typer.echo(text, nl=False)
        return
    make_private_file(out)
    out.write_text(text, encoding="utf-8")
    typer.echo(f"Written: {out}. Read it again: dragoman memory import{again(agent, user)} {out}")


def zone(
    *,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="ZONE", help="A name such as Europe/Zurich; 'none' for the agent's.", show_default=False
        ),
    ] = None,
    agent: Agent = None,
    user: User = "me",
    settings: Set = None,
    state: State = None,
) -> None:
    """Show or set a user's time zone, by which "yesterday" and the end of a day are understood."""
    with opened(agent, settings=settings, state=state) as assistant:
        if name is not None:
            assistant.set_time_zone("" if name == "none" else name, user=user)
        typer.echo(assistant.time_zone(user=user) or "The agent's time zone.")
