"""`dragoman remember`: store a fact about a user."""

from __future__ import annotations

from typing import Annotated

import typer

from dragoman.cli.terminal import rendering
from dragoman.cli.terminal.agent_options import Agent, Overridable, Set, State, User, again, opened


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(cls=Overridable)(remember)


def remember(
    *,
    text: Annotated[
        list[str], typer.Argument(metavar="TEXT", help="The fact, as the user would say it.", show_default=False)
    ],
    agent: Agent = None,
    user: User = "me",
    settings: Set = None,
    state: State = None,
) -> None:
    """Store a fact about a user."""
    with opened(agent, settings=settings, state=state) as assistant:
        learned = assistant.remember(" ".join(text), user=user)
    for line in rendering.learned_text(learned) or ["nothing new"]:
        typer.echo(line[0].upper() + line[1:])
    typer.echo(f"See all of it: dragoman recall{again(agent, user)}")
