"""`dragoman recall`: show stored facts about a user."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from dragoman.cli.terminal import rendering
from dragoman.cli.terminal.agent_options import Agent, Overridable, Set, State, User, again, opened

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(cls=Overridable)(recall)


def recall(
    *,
    query: Annotated[
        list[str] | None,
        typer.Argument(metavar="QUERY", help="Search text. Default: show everything.", show_default=False),
    ] = None,
    agent: Agent = None,
    user: User = "me",
    as_json: AsJson = False,
    settings: Set = None,
    state: State = None,
) -> None:
    """Show stored facts about a user."""
    with opened(agent, settings=settings, state=state) as assistant:
        facts = assistant.recall(" ".join(query) if query else None, user=user)
    if as_json:
        from dragoman.core.codec import encode

        typer.echo(json.dumps([encode(fact) for fact in facts], ensure_ascii=False))
    elif facts:
        rendering.out().print(rendering.facts_table(facts))
        typer.echo(f'Delete one of them: dragoman forget{again(agent, user)} "its words"')
    else:
        typer.echo(f'Nothing is remembered about {user}. Begin with: dragoman remember{again(agent, user)} "I am ..."')
