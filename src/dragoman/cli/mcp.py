"""`dragoman mcp`: an MCP server with the tools of an agent, over standard input and output."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from typing import Annotated, Any

import typer

from dragoman.cli.keys import KeysPlace, ledger_of
from dragoman.cli.serve import load_agent, named
from dragoman.cli.terminal import interrupts
from dragoman.cli.terminal.agent_options import DEFAULT_AGENT, Overridable, Set, agent_name
from dragoman.core.errors import MissingExtraError

KEY = "DRAGOMAN_KEY"


def add_to(app: typer.Typer) -> None:
    """Register this file's command."""
    app.command(name="mcp", cls=Overridable)(serve_tools)


def serve_tools(
    *,
    agent: Annotated[
        str | None,
        typer.Argument(
            metavar="AGENT",
            help="An agent's folder, its agent.toml, or the name of a sample agent. "
            f"Default: the current folder if it has an agent.toml, else {DEFAULT_AGENT}.",
            show_default=False,
        ),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(
            "--user",
            "-u",
            metavar="ID",
            help="User whose memory and dialogues are used. Default: me.",
            show_default=False,
        ),
    ] = None,
    keys_place: KeysPlace = None,
    settings: Set = None,
) -> None:
    """Serve an agent to an MCP client: ask, recall, remember, forget and search.

    Communicates over standard input and output and acts for the local user or, if the environment variable DRAGOMAN_KEY
    holds a key of `dragoman keys create`, for the user of that key. Exits when the client disconnects.
    """
    serving = _tools()
    from dragoman.server.service import Service

    credential = os.environ.get(KEY) or None
    ((name, agent_path),) = named([agent_name(agent)]).items()
    with ExitStack() as opened:
        ledger = ledger_of(keys_place, [agent_path], settings) if credential else None
        if ledger is not None:
            opened.callback(ledger.close)
        service = Service({name: load_agent(agent_path, settings, opened)}, ledger=ledger)
        if sys.stdin.isatty():
            sys.stderr.write("An MCP client is expected on standard input; Ctrl-D ends.\n")
        interrupts.hand_over()
        serving.serve_stdio(service, credential=credential, user=user)


def _tools() -> Any:
    try:
        from dragoman.server.mcp import tool_server
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"This needs the package '{error.name}', which is not installed.",
            remedy="Install it: pip install 'dragoman[mcp]'",
        ) from error
    return tool_server
