"""`dragoman init`, `check` and `doctor`: make an agent, see that it answers right, see what works here."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.terminal import rendering
from dragoman.cli.terminal.agent_options import Agent, Overridable, Set, agent_name, fetch_weights, overrides
from dragoman.cli.terminal.progress import progress_bars
from dragoman.core.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from dragoman.agent.check import Outcome

_SCAFFOLD = Path(__file__).parent / "scaffold"


class Language(StrEnum):
    """The languages in which an agent can be begun."""

    en = "en"
    zh = "zh"


def add_to(app: typer.Typer) -> None:
    """Register this file's commands."""
    app.command()(init)
    app.command("check", cls=Overridable)(check_agent)
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
