"""The home folder: weights, and the state of the shipped agents."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """`$DRAGOMAN_HOME`, by default `~/.dragoman`; creates nothing."""
    chosen = os.environ.get("DRAGOMAN_HOME", "").strip()
    return Path(chosen).expanduser() if chosen else Path.home() / ".dragoman"
