"""The encoder of an agent by itself, for a process that has nothing else of the agent to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dragoman.core.protocols import Encoder


@contextmanager
def encoder_of(config: Mapping[str, Any], folder: Path | None) -> Iterator[Encoder]:
    """The encoder that a resolved config describes, closed in the end."""
    from dragoman.agent.create import Creator
    from dragoman.config import AgentConfig

    agent = AgentConfig.model_validate(dict(config))
    parameters = {"name": agent.name, "language": agent.language, "folder": folder}
    encoder = Creator(parameters, {"encoder": agent.table("encoder")}).shared("encoder")
    try:
        yield encoder
    finally:
        close = getattr(encoder, "close", None)
        if close is not None:
            close()
