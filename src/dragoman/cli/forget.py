"""`dragoman forget`: a fact about a user, or everything."""

from __future__ import annotations

from typing import Annotated

import typer

from dragoman.cli.terminal.agent_options import Agent, Overridable, Set, State, User, again, at_terminal, opened
from dragoman.core.errors import InputError


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(cls=Overridable)(forget)


def forget(
    *,
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="WHAT", help="The fact to forget: its words or its id.", show_default=False),
    ] = None,
    agent: Agent = None,
    user: User = "me",
    everything: Annotated[
        bool, typer.Option("--all", help="Forget everything of the user: facts, dialogues and traces.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    settings: Set = None,
    state: State = None,
) -> None:
    """Forget a fact about a user, or everything.

    What is forgotten is gone from every file on disk.
    """
    if bool(what) == everything:
        raise typer.BadParameter("Say what to forget, or give --all for everything of the user, but not both.")
    if everything and not yes and not _confirmed(user):
        typer.echo("Nothing was forgotten.")
        raise typer.Exit(1)
    with opened(agent, settings=settings, state=state) as assistant:
        count = assistant.forget(" ".join(what) if what else None, user=user)
    if what and not count:
        raise InputError(
            f"Nothing remembered about {user} matches.",
            remedy=f"See what is remembered: dragoman recall{again(agent, user)}",
        )
    typer.echo(f"Forgotten: {count}. See what is left: dragoman recall{again(agent, user)}")


def _confirmed(user: str) -> bool:
    if not at_terminal():
        raise typer.BadParameter(f"Forgetting everything of {user} needs --yes where nobody can be asked.")
    return typer.confirm(f"Forget everything of {user}: facts, dialogues and traces?")
