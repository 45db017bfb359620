"""Where Dragoman keeps weights and the state of shipped agents."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """`$DRAGOMAN_HOME`, or `~/.dragoman`; it is not made here."""
    return Path(os.environ.get("DRAGOMAN_HOME") or Path.home() / ".dragoman").expanduser()
