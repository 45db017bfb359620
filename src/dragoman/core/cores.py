"""How many cores this process may use: all of the machine's, unless it shares them with others of its kind."""

from __future__ import annotations

import os

VARIABLE = "DRAGOMAN_CORES"


def cores() -> int:
    """What `$DRAGOMAN_CORES` says, else the cores of the machine."""
    said = os.environ.get(VARIABLE, "").strip()
    return int(said) if said.isdigit() and int(said) else os.cpu_count() or 1
