"""`dragoman ask`: ask one question."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.terminal import rendering
from dragoman.cli.terminal.agent_options import (
    Agent,
    Model,
    Overridable,
    Set,
    State,
    User,
    at_terminal,
    new_dialogue,
    opened,
    piped,
)
from dragoman.cli.terminal.reply_output import print_short_why, print_why, speak
from dragoman.cli.terminal.turn_options import MemoryUse, Private, Retrieve, Since, Until, options_of
from dragoman.core.control import TurnControl
from dragoman.core.trace import Reply, reply_to_json

Dialogue = Annotated[
    str | None,
    typer.Option("--dialogue", metavar="NAME", help="Continue the dialogue of this name.", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print each reply with its trace as one line of JSON.")]


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(cls=Overridable)(ask)


def ask(
    *,
    text: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT",
            help="The question, after the agent's folder or packed file if you like. Read from standard input where "
            "omitted or -.",
            show_default=False,
        ),
    ] = None,
    agent: Agent = None,
    user: User = "me",
    dialogue: Dialogue = None,
    why: Annotated[
        bool, typer.Option("--why", help="After the reply, print what decided it, the trace and the evidence.")
    ] = False,
    as_json: AsJson = False,
    retrieve: Retrieve = "auto",
    memory: MemoryUse = "on",
    private: Private = False,
    since: Since = "",
    until: Until = "",
    model: Model = None,
    settings: Set = None,
    state: State = None,
) -> None:
    """Ask an agent one question."""
    if text and agent is None and (_is_agent(Path(text[0])) or _names_one_before_a_question(text)):
        agent, *text = text
    turn = _turn(text)
    with opened(agent, settings=settings, state=state, model=model, talks=True) as assistant:
        name = dialogue or new_dialogue()
        options = options_of(TurnControl(retrieve, memory, keep=not private, since=since, until=until))
        if as_json:
            print_json(assistant.ask(turn, user=user, dialogue=name, **options))
            return
        console = rendering.out()
        reply = speak(assistant.stream(turn, user=user, dialogue=name, **options), console)
        if reply is None:
            raise typer.Exit(1)
        if why:
            print_why(reply, console)
        elif console.is_terminal:
            print_short_why(reply, console)


def _is_agent(path: Path) -> bool:
    """Whether a first word is no part of the question: `dragoman chat`, `check` and `serve` take an agent there."""
    return (path / "agent.toml").is_file() or (path.is_file() and path.suffix in (".toml", ".dragoman"))


def _turn(text: list[str] | None) -> str:
    """The question from the command line, else from standard input."""
    if text and text != ["-"]:
        return " ".join(text)
    if not text and at_terminal():
        raise typer.BadParameter('No question given. Example: dragoman ask "When does the ferry leave?"')
    return piped().read().decode("utf-8", "surrogateescape").strip()


def print_json(reply: Reply) -> None:
    """Print a reply with its trace as one line of JSON."""
    write_line(json.dumps(reply_to_json(reply), ensure_ascii=False))


def write_line(line: str) -> None:
    """Print a line and flush it, so that the reader of a pipe gets it at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _names_one_before_a_question(text: list[str]) -> bool:
    """Whether a shipped agent's name stands before a quoted question; "harbour opening hours" is a question."""
    from dragoman.agent.build import shipped

    return len(text) == 2 and " " in text[1] and text[0] in shipped()
