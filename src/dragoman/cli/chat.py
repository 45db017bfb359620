"""`dragoman chat`: a conversation in the terminal or through a pipe."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.ask import AsJson, Dialogue, print_json, write_line
from dragoman.cli.terminal import rendering
from dragoman.cli.terminal.agent_options import (
    Agent,
    Model,
    Overridable,
    Set,
    State,
    User,
    interactive,
    new_dialogue,
    opened,
    piped,
)
from dragoman.cli.terminal.messages import printable, tell
from dragoman.cli.terminal.reply_output import tell_trouble
from dragoman.cli.terminal.turn_options import MemoryUse, Private, Retrieve, options_of
from dragoman.core.control import TurnControl
from dragoman.core.errors import ConfigError, DragomanError

if TYPE_CHECKING:
    from dragoman.agent.assistant import Assistant
    from dragoman.core.trace import Reply


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(cls=Overridable)(chat)


def chat(
    *,
    file: Annotated[
        str | None,
        typer.Argument(metavar="[AGENT]", help="A packed agent, or what --agent takes.", show_default=False),
    ] = None,
    agent: Agent = None,
    user: User = "me",
    dialogue: Dialogue = None,
    as_json: AsJson = False,
    retrieve: Retrieve = "auto",
    memory: MemoryUse = "on",
    private: Private = False,
    model: Model = None,
    settings: Set = None,
    state: State = None,
) -> None:
    """Chat with an agent.

    Without a terminal, each line of standard input is one message or command (/private), and each reply is printed
    on one line; a list takes one line an item. What commands say goes to standard error.
    """
    from dragoman.cli.terminal.chat_loop import ChatLoop
    from dragoman.cli.terminal.nearby import first_offer

    if file is not None and agent is not None:
        raise ConfigError("Two agents are named.", remedy="Name one.")
    with opened(file or agent, settings=settings, state=state, model=model, talks=True) as assistant:
        name, control = dialogue or new_dialogue(), TurnControl(retrieve, memory, keep=not private)
        if interactive() and not as_json:
            offer = first_offer(assistant)
            if offer:
                rendering.out().print(offer, style="dim", soft_wrap=True, markup=False, highlight=False)
            ChatLoop(assistant, user=user, dialogue=name, control=control).run()
        elif not _converse(assistant, user=user, dialogue=name, as_json=as_json, control=control):
            raise typer.Exit(1)


def _converse(assistant: Assistant, *, user: str, dialogue: str, as_json: bool, control: TurnControl) -> bool:
    """Answer every line of standard input, and obey those that are commands; whether all of them were answered."""
    from dragoman.cli.terminal.chat_loop import ChatLoop

    all_answered = True
    lines = enumerate(piped(), start=1)

    def reply_to(line: str, chosen: TurnControl) -> Reply:
        reply = assistant.ask(line, user=user, dialogue=dialogue, **options_of(chosen))
        if as_json:
            print_json(reply)
        else:
            write_line(_folded(printable(reply.text)))
            tell_trouble(reply)
        return reply

    def next_line(question: str) -> str:
        tell(question)
        return next(lines, (0, b""))[1].decode("utf-8", "surrogateescape")

    chat = ChatLoop(
        assistant,
        user=user,
        dialogue=dialogue,
        control=control,
        console=rendering.err(),
        reply_to=reply_to,
        next_line=next_line,
    )
    for number, raw in lines:
        line = raw.decode("utf-8", "surrogateescape").strip()
        if not line:
            tell(f"Line {number} is empty and was skipped.")
            continue
        if line == "/quit":
            break
        try:
            if not chat.obeys(line):
                chat.answer(line)
        except DragomanError as error:
            # One bad turn must not cost the turns that follow it.
            all_answered = False
            tell(f"Line {number}: {rendering.error_text(error)}")
            if as_json:
                write_line(json.dumps({"error": error.message, "remedy": error.remedy}, ensure_ascii=False))
    return all_answered


def _folded(text: str) -> str:
    """A reply on one line, and each item of a list on a line of its own."""
    return "\n".join(" ".join(part.split()) for part in re.split(r"\n(?=- )", text))
