"""`dragoman recall`: show stored facts about a user."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Annotated

import typer

from dragoman.cli.terminal import rendering
from dragoman.cli.terminal.agent_options import Agent, Overridable, Set, State, User, again, opened

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(cls=Overridable)(recall)


def moment(text: str) -> datetime:
    """The last moment of the day, or of any other period, that a text names; now where that is later."""
    from dragoman.core.clock import now

    start, end = _bounds(text)
    last = end - timedelta(seconds=1) if end else start
    assert last is not None
    return min(last, now())


def _bounds(text: str) -> tuple[datetime | None, datetime | None]:
    """The first moment of the period that a text names, and the first one after it."""
    from dragoman.core.clock import now
    from dragoman.core.errors import InputError
    from dragoman.decision.times import resolve

    period = resolve(text, now(), tense="past")
    if period is None or (period.end is None and period.start is None):
        raise InputError(f"'{text[:60]}' is no date.", remedy="Write it as 2026-05-03, or as in 'last Friday'.")
    return period.start, period.end


def recall(
    *,
    query: Annotated[
        list[str] | None,
        typer.Argument(metavar="QUERY", help="Search text. Default: show everything.", show_default=False),
    ] = None,
    agent: Agent = None,
    user: User = "me",
    at: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="Show what was known on a day: 2026-05-03, 'last Friday', '上周五'."),
    ] = None,
    since: Annotated[str | None, typer.Option(metavar="DATE", help="Show only what was told from this day on.")] = None,
    until: Annotated[str | None, typer.Option(metavar="DATE", help="Show only what was told up to this day.")] = None,
    as_json: AsJson = False,
    settings: Set = None,
    state: State = None,
) -> None:
    """Show stored facts about a user."""
    with opened(agent, settings=settings, state=state) as assistant:
        then = {} if at is None else {"at": moment(at)}
        if since is not None:
            then["since"] = _bounds(since)[0] or moment(since)
        if until is not None:
            then["until"] = _bounds(until)[1] or moment(until)
        facts = assistant.recall(" ".join(query) if query else None, user=user, **then)
        wishes = assistant.wishes(user=user) if query is None and not then else ()
    if as_json:
        from dragoman.core.codec import encode

        typer.echo(json.dumps([encode(fact) for fact in facts], ensure_ascii=False))
    elif facts:
        rendering.out().print(rendering.facts_table(facts))
        typer.echo(f'Delete one of them: dragoman forget{again(agent, user)} "its words"')
    elif not wishes:
        typer.echo(f'Nothing is remembered about {user}. Begin with: dragoman remember{again(agent, user)} "I am ..."')
    if wishes and not as_json:
        rendering.out().print(rendering.wishes_table(wishes))
