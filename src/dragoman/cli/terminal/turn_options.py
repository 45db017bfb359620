"""Options that control turns, for `ask` and `chat`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from dragoman.core.control import MemoryMode, RetrieveMode, TurnControl

Retrieve = Annotated[
    RetrieveMode, typer.Option("--retrieve", help="Whether to search: auto leaves it to the agent's gate.")
]
MemoryUse = Annotated[
    MemoryMode, typer.Option("--memory", help="Read and write facts about the user, only read them, or neither.")
]
Since = Annotated[str, typer.Option("--since", metavar="DATE", help="Only documents and facts of this day or later.")]
Until = Annotated[str, typer.Option("--until", metavar="DATE", help="Only documents and facts from before this day.")]
Private = Annotated[bool, typer.Option("--private", help="Save nothing: no messages, no facts.")]


def options_of(control: TurnControl) -> dict[str, Any]:
    """The control as keyword arguments of `Assistant.ask` and `stream`, without those at their default."""
    plain = asdict(TurnControl())
    return {name: value for name, value in asdict(control).items() if value != plain[name]}
