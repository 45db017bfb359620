"""Take back what a turn taught the agent about a user. Functions for `Service.forgetting`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.core.errors import ConfigError
from dragoman.server.hosted_agent import Seat


def retract(seat: Seat, added: Sequence[str], replaced: Sequence[str] = ()) -> int:
    """Remove facts that a turn added and restore those that they replaced; chats keep their words."""
    memory: Any = seat.assistant.memory
    if not hasattr(memory, "retract"):
        raise ConfigError("This agent's memory cannot take a fact back.", remedy="Set memory.kind to rules.")
    return len(memory.retract(seat.scope, added, replaced))
