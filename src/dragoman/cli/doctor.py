"""`dragoman doctor`: check the installation."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from dragoman.cli.terminal import rendering
from dragoman.cli.terminal.agent_options import Agent, Model, Overridable, Set, agent_name, overrides, with_model
from dragoman.core.errors import ConfigError


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(cls=Overridable)(doctor)


def doctor(
    name: Annotated[
        str | None, typer.Argument(metavar="[AGENT]", help="What --agent takes.", show_default=False)
    ] = None,
    agent: Agent = None,
    model: Model = None,
    settings: Set = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Check the installation and suggest fixes. An agent's endpoint is tried with five requests or so."""
    from dragoman.cli.terminal.diagnosis import examine

    if name is not None and agent is not None:
        raise ConfigError("Two agents are named.", remedy="Name one.")
    findings = examine(agent_name(name or agent), with_model(model, overrides(settings)))
    if as_json:
        from dragoman.core.codec import encode

        typer.echo(json.dumps([encode(finding) for finding in findings], ensure_ascii=False, indent=2))
    else:
        table = rendering.table("", "what", "found")
        for finding in findings:
            remedy = f"\nTo mend it: {finding.remedy}" if finding.remedy else ""
            rendering.add_row(table, finding.state, finding.what, finding.found + remedy)
        rendering.out().print(table)
    broken = [finding for finding in findings if finding.state == "broken"]
    if broken:
        if not as_json:
            sys.stdout.write(f"Broken: {', '.join(finding.what for finding in broken)}. See the table.\n")
        raise typer.Exit(1)
    if not as_json:
        sys.stdout.write("Everything essential works. Talk to an agent: dragoman chat\n")
