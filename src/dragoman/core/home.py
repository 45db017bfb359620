"""Where Dragoman keeps what is not part of an agent: weights, and the state of the shipped agents."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """`$DRAGOMAN_HOME`, or `~/.dragoman` where it is not set; nothing is created."""
    chosen = os.environ.get("DRAGOMAN_HOME", "").strip()
    return Path(chosen).expanduser() if chosen else Path.home() / ".dragoman"
