"""`dragoman init` and `doctor`: make an agent, see what works here."""

from __future__ import annotations

import json
import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.check import check_agents
from dragoman.cli.terminal import rendering
from dragoman.cli.terminal.agent_options import Agent, Overridable, agent_name
from dragoman.core.errors import InputError

_SCAFFOLD = Path(__file__).parent / "scaffold"


class Language(StrEnum):
    """The languages in which an agent can be begun."""

    en = "en"
    zh = "zh"


def add_to(app: typer.Typer) -> None:
    """Register this file's commands."""
    app.command()(init)
    app.command("check", cls=Overridable)(check_agents)
    app.command()(doctor)


def init(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder to make.", show_default=False)],
    language: Annotated[Language, typer.Option("--language", "-l", help="The agent's language.")] = Language.en,
) -> None:
    """Make an agent of your own.

    The folder works at once and is there to be changed: files, sources, roles.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} exists already and is not empty.", remedy="Give the name of a new folder.")
    template = _SCAFFOLD / language.value
    made = []
    try:
        for file in sorted(path for path in template.rglob("*") if path.is_file()):
            target = folder / file.relative_to(template)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
            made.append(target)
        (folder / ".gitignore").write_bytes((_SCAFFOLD / "gitignore").read_bytes())
    except OSError as error:
        raise InputError(f"Cannot write {folder}: {error.strerror}.", remedy="Choose another folder.") from error
    for target in made:
        typer.echo(f"  {target}")
    named = shlex.quote(str(folder))
    typer.echo(f"\nTalk to it:      dragoman chat --agent {named}")
    typer.echo(f"Check it:        dragoman check {named}")
    typer.echo(f"Make it yours:   put your files into {folder / 'documents'} and edit {folder / 'agent.toml'}")


def doctor(
    agent: Agent = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Say what works here and how to mend what does not."""
    from dragoman.cli.doctor import examine

    findings = examine(agent_name(agent))
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
        raise typer.Exit(1)
    if not as_json:
        sys.stdout.write("Everything essential works. Talk to an agent: dragoman chat\n")
