"""`dragoman forget`: delete a fact about a user, or everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.terminal.agent_options import Agent, Overridable, Set, State, User, again, at_terminal, opened
from dragoman.core.errors import InputError
from dragoman.text.forget.requests import means_everything

if TYPE_CHECKING:
    from dragoman.core.values import Erasure


_SHOWN = 5
"""How many messages that mention a deleted fact are shown."""


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(cls=Overridable)(forget)


def forget(
    *,
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="WHAT", help="The fact to delete: its text or its id.", show_default=False),
    ] = None,
    agent: Agent = None,
    user: User = "me",
    everything: Annotated[
        bool, typer.Option("--all", help="Delete everything about the user: facts, chats and traces.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    settings: Set = None,
    state: State = None,
) -> None:
    """Delete a fact about a user, or everything.

    Deleted text is removed from every file on disk. Deleting everything shows how much will be deleted and asks for
    confirmation.
    """
    if bool(what) == everything:
        raise typer.BadParameter("Say what to forget, or give --all for everything of the user, but not both.")
    if what and means_everything(" ".join(what)):
        raise typer.BadParameter("To delete everything of the user, give --all instead of words.")
    if everything and not yes and not at_terminal():
        raise typer.BadParameter(f"Deleting everything of {user} needs --yes where nobody can be asked.")
    blanked = 0
    with opened(agent, settings=settings, state=state) as assistant:
        if everything and not yes and not _confirmed(assistant.erasure(user=user), user):
            typer.echo("Nothing was deleted.")
            raise typer.Exit(1)
        count = assistant.forget(" ".join(what) if what else None, user=user)
        receipt = assistant.receipt(user=user) if everything else ()
        mentions = assistant.mentions(user=user) if what else ()
        if mentions and (yes or (at_terminal() and _confirmed_mentions(mentions))):
            blanked = assistant.forget_mentions(user=user)
    if what and not count and not mentions:
        raise InputError(
            f"Nothing remembered about {user} matches.",
            remedy=f"See what is remembered: dragoman recall{again(agent, user)}",
        )
    if blanked:
        typer.echo(f"Deleted: {blanked} more messages that mention it.")
    elif mentions:
        typer.echo(f"Messages that still mention it: {len(mentions)}. Give --yes to delete such messages too.")
    for line in receipt:
        typer.echo(f"Erased from {line.place}: {line.count} {line.what}, sha256 {line.sha256}")
    typer.echo(f"Deleted: {count}. See what is left: dragoman recall{again(agent, user)}")


def _confirmed_mentions(mentions: Sequence[str]) -> bool:
    from dragoman.cli.terminal.rendering import one_line

    typer.echo(f"Messages that still mention it: {len(mentions)}")
    for text in mentions[:_SHOWN]:
        typer.echo(f"  {one_line(text, 96)}")
    return typer.confirm("Delete them too?")


def _confirmed(erasure: Erasure, user: str) -> bool:
    from dragoman.reader.phrases import erasure_text

    typer.echo(f"This deletes {erasure_text(erasure, about=user)}. It cannot be undone.")
    return typer.confirm("Delete everything?")
