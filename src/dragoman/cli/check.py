"""`dragoman check`: try an agent on its written conversations."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.terminal import rendering
from dragoman.cli.terminal.agent_options import Overridable, Set, agent_name, fetch_weights, overrides
from dragoman.cli.terminal.progress import progress_bars
from dragoman.core.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from dragoman.agent.check import Outcome


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("check", cls=Overridable)(check_agent)


def check_agent(
    *,
    agent: Annotated[
        str | None,
        typer.Argument(
            metavar="AGENT",
            help="An agent's folder or the name of a shipped one. Default: the current folder, else harbour.",
            show_default=False,
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            "-f",
            metavar="FILE",
            help="The conversations. Default: the agent's conversations.toml.",
            show_default=False,
        ),
    ] = None,
    json_out: Annotated[
        Path | None,
        typer.Option("--json", metavar="OUT", help="Write the outcomes with the replies here.", show_default=False),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="Hold the first so many only.", show_default=False)
    ] = None,
    at_least: Annotated[
        int | None,
        typer.Option(
            "--at-least", min=0, metavar="N", help="Be content when so many pass. Default: all.", show_default=False
        ),
    ] = None,
    settings: Set = None,
) -> None:
    """Try an agent on its written conversations.

    Prints which replies were not as expected, and leaves with 0 only where all of them were.
    """
    from dragoman.agent.build import locate
    from dragoman.agent.check import check, fresh_assistants, read_conversations, require_sources

    name, chosen = agent_name(agent), overrides(settings)
    path = file or locate(name)[0].with_name("conversations.toml")
    conversations = read_conversations(path)[:limit]
    outcomes: list[Outcome] = []
    with progress_bars() as bars:
        fetch_weights(name, chosen)
        with fresh_assistants(name, overrides=chosen, progress=bars.reading) as (fresh, sources):
            require_sources(conversations, sources)
            for outcome in check(fresh, conversations):
                outcomes.append(outcome)
                bars.show("Conversations", len(outcomes), len(conversations), outcome.name)
    _print_outcomes(outcomes)
    if json_out is not None:
        _write_outcomes(outcomes, json_out)
    passed = sum(outcome.passed for outcome in outcomes)
    if passed < (len(outcomes) if at_least is None else at_least):
        typer.echo("\nThe replies themselves: --json OUT")
        typer.echo(f"Why one came about:     dragoman ask --agent {shlex.quote(name)} --why TEXT")
        raise typer.Exit(1)


def _print_outcomes(outcomes: Sequence[Outcome]) -> None:
    console = rendering.out()
    table = rendering.table("conversation", "kind", "passed", "what was wrong", ">seconds")
    for outcome in outcomes:
        wrong = "\n".join(outcome.wrong)
        rendering.add_row(
            table, outcome.name, outcome.kind, "yes" if outcome.passed else "NO", wrong, f"{outcome.seconds:.2f}"
        )
    console.print(table)
    summary = rendering.table("kind", ">passed", ">of", ">seconds")
    for kind in dict.fromkeys(outcome.kind for outcome in outcomes):
        _add_sum(summary, kind, [outcome for outcome in outcomes if outcome.kind == kind])
    _add_sum(summary, "all", outcomes)
    console.print(summary)


def _add_sum(summary: Table, kind: str, outcomes: Sequence[Outcome]) -> None:
    passed = sum(outcome.passed for outcome in outcomes)
    rendering.add_row(
        summary, kind, str(passed), str(len(outcomes)), f"{sum(outcome.seconds for outcome in outcomes):.1f}"
    )


def _write_outcomes(outcomes: Sequence[Outcome], path: Path) -> None:
    rows = [{"passed": outcome.passed, **asdict(outcome)} for outcome in outcomes]
    try:
        path.write_text(json.dumps(rows, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"Cannot write {path}: {error.strerror}.", remedy="Give another path to --json.") from error
