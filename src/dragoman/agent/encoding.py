"""Create an agent's encoder without the agent, and name its vector space."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.core.errors import DragomanError

if TYPE_CHECKING:
    from dragoman.core.protocols import Encoder


@contextmanager
def encoder_of(config: Mapping[str, Any], folder: Path | None) -> Iterator[Encoder]:
    """Context manager for the encoder that a resolved config describes."""
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


def vector_space(encoder: Encoder, table: Mapping[str, Any]) -> str:
    """The name of the space of an encoder's vectors: its own `space`, else its kind and options.

    "" where its weights cannot be read; using the encoder raises the error.
    """
    try:
        if hasattr(encoder, "space"):
            return str(encoder.space)
    except (DragomanError, OSError):
        return ""
    options = json.dumps(dict(table), sort_keys=True, default=str)
    return f"{table['kind']} {sha256(options.encode()).hexdigest()[:16]}"
