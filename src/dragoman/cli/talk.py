"""`dragoman chat` and `dragoman ask`: a conversation at the terminal or down a pipe, and a single turn."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.terminal import rendering
from dragoman.cli.terminal.agent_options import (
    Agent,
    Overridable,
    Set,
    State,
    User,
    at_terminal,
    interactive,
    new_dialogue,
    opened,
    piped,
)
from dragoman.cli.terminal.reply_output import print_short_why, print_why, speak
from dragoman.core.errors import DragomanError
from dragoman.core.trace import reply_to_json
from dragoman.core.values import Reply

if TYPE_CHECKING:
    from dragoman.agent.assistant import Assistant

Dialogue = Annotated[
    str | None,
    typer.Option("--dialogue", metavar="NAME", help="Go on with a dialogue of this name.", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print each reply with its trace as one line of JSON.")]


def add_to(app: typer.Typer) -> None:
    """Register this file's commands."""
    app.command(cls=Overridable)(chat)
    app.command(cls=Overridable)(ask)


def chat(
    *,
    agent: Agent = None,
    user: User = "me",
    dialogue: Dialogue = None,
    as_json: AsJson = False,
    settings: Set = None,
    state: State = None,
) -> None:
    """Talk with an agent.

    With no terminal it reads one user turn a line from standard input and prints one reply a line.
    """
    from dragoman.cli.terminal.chat_loop import ChatLoop

    with opened(agent, settings=settings, state=state, talks=True) as assistant:
        name = dialogue or new_dialogue()
        if interactive() and not as_json:
            ChatLoop(assistant, user=user, dialogue=name).run()
        elif not _converse(assistant, user=user, dialogue=name, as_json=as_json):
            raise typer.Exit(1)


def ask(
    *,
    text: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT",
            help="The turn. With none, or with -, it is read from standard input.",
            show_default=False,
        ),
    ] = None,
    agent: Agent = None,
    user: User = "me",
    dialogue: Dialogue = None,
    why: Annotated[bool, typer.Option("--why", help="Print the trace and the evidence after the reply.")] = False,
    as_json: AsJson = False,
    settings: Set = None,
    state: State = None,
) -> None:
    """Ask an agent one thing."""
    turn = _turn(text)
    with opened(agent, settings=settings, state=state, talks=True) as assistant:
        name = dialogue or new_dialogue()
        if as_json:
            print_json(assistant.ask(turn, user=user, dialogue=name))
            return
        console = rendering.out()
        reply = speak(assistant.stream(turn, user=user, dialogue=name), console)
        if reply is None:
            raise typer.Exit(1)
        if why:
            print_why(reply, console)
        elif console.is_terminal:
            print_short_why(reply, console)


def _turn(text: list[str] | None) -> str:
    """The words of the command line, else what is piped in."""
    if text and text != ["-"]:
        return " ".join(text)
    if not text and at_terminal():
        raise typer.BadParameter('Nothing was asked. Write for instance: dragoman ask "When does the ferry leave?"')
    return piped().read().decode("utf-8", "surrogateescape").strip()


def _converse(assistant: Assistant, *, user: str, dialogue: str, as_json: bool) -> bool:
    """Answer every line of standard input; whether all of them could be answered."""
    all_answered = True
    for number, raw in enumerate(piped(), start=1):
        line = raw.decode("utf-8", "surrogateescape").strip()
        if not line:
            _warn(f"Line {number} is empty and was skipped.")
            continue
        try:
            reply = assistant.ask(line, user=user, dialogue=dialogue)
        except DragomanError as error:
            # One bad turn must not cost the turns that follow it.
            all_answered = False
            _warn(f"Line {number}: {rendering.error_text(error)}")
            if as_json:
                _write(json.dumps({"error": error.message, "remedy": error.remedy}, ensure_ascii=False))
            continue
        if as_json:
            print_json(reply)
        else:
            _write(" ".join(rendering.printable(reply.text).split()))
    return all_answered


def print_json(reply: Reply) -> None:
    _write(json.dumps(reply_to_json(reply), ensure_ascii=False))


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _warn(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
