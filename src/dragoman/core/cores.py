"""The number of cores that this process may use."""

from __future__ import annotations

import os

VARIABLE = "DRAGOMAN_CORES"


def cores() -> int:
    """`$DRAGOMAN_CORES` if set, which divides a machine among processes; else all cores of the machine."""
    setting = os.environ.get(VARIABLE, "").strip()
    return int(setting) if setting.isdigit() and int(setting) else os.cpu_count() or 1
