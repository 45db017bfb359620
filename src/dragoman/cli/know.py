"""`dragoman ingest`, `remember`, `recall` and `forget`: what an agent knows of the world and of a user."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.terminal import rendering
from dragoman.cli.terminal.agent_options import Agent, Overridable, Set, State, User, again, at_terminal, opened
from dragoman.cli.terminal.progress import progress_bars
from dragoman.cli.terminal.ray_option import Ray, workers
from dragoman.core.errors import InputError

if TYPE_CHECKING:
    from dragoman.sources.ingest import IngestReport

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def add_to(app: typer.Typer) -> None:
    """Register this file's commands."""
    for command in (ingest, remember, recall, forget):
        app.command(cls=Overridable)(command)


def ingest(
    *,
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Files and folders.", show_default=False)],
    source: Annotated[str, typer.Option("--source", "-s", metavar="NAME", help="The source to put them in.")] = (
        "DOCUMENTS"
    ),
    sync: Annotated[bool, typer.Option("--sync", help="Remove what came from files that are gone.")] = False,
    agent: Agent = None,
    user: User = "me",
    settings: Set = None,
    state: State = None,
    ray: Ray = None,
) -> None:
    """Read files and folders into a source.

    Text, Markdown, HTML, PDF, CSV and JSONL are understood. A file that is there already and has not changed costs
    nothing. One that fails is named at the end; the others go in.
    """
    with workers(ray) as found, opened(agent, settings=settings, state=state) as assistant, progress_bars() as bars:
        report = assistant.ingest(paths, source=source, user=user, sync=sync, progress=bars.reading, workers=found)
    _print_report(report, source)
    if report.failed:
        raise typer.Exit(1)
    sys.stdout.write(f'Ask about it: dragoman ask{again(agent)} --why "..."\n')


def _print_report(report: IngestReport, source: str) -> None:
    table = rendering.table("source", ">files", ">added", ">changed", ">removed", ">unchanged", ">failed", ">seconds")
    counts = (report.files, report.added, report.changed, report.removed, report.unchanged, len(report.failed))
    table.add_row(source, *(str(count) for count in counts), f"{report.seconds:.1f}")
    rendering.out().print(table)
    for failure in report.failed:
        sys.stderr.write(f"Failed: {failure.path}: {failure.reason}\n")


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
    """Remember a fact about a user."""
    with opened(agent, settings=settings, state=state) as assistant:
        learned = assistant.remember(" ".join(text), user=user)
    for line in rendering.learned_text(learned) or ["nothing new"]:
        typer.echo(line[0].upper() + line[1:])
    typer.echo(f"See all of it: dragoman recall{again(agent, user)}")


def recall(
    *,
    query: Annotated[
        list[str] | None,
        typer.Argument(metavar="QUERY", help="What to look for. Without it: everything.", show_default=False),
    ] = None,
    agent: Agent = None,
    user: User = "me",
    as_json: AsJson = False,
    settings: Set = None,
    state: State = None,
) -> None:
    """Show what is remembered about a user."""
    with opened(agent, settings=settings, state=state) as assistant:
        facts = assistant.recall(" ".join(query) if query else None, user=user)
    if as_json:
        from dragoman.core.codec import encode

        typer.echo(json.dumps([encode(fact) for fact in facts], ensure_ascii=False))
    elif facts:
        rendering.out().print(rendering.facts_table(facts))
        typer.echo(f'Forget one of them: dragoman forget{again(agent, user)} "its words"')
    else:
        typer.echo(f'Nothing is remembered about {user}. Begin with: dragoman remember{again(agent, user)} "I am ..."')


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
