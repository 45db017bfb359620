"""Peers in an environment of their own, so that what they need meets nothing of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def install(folder: Path, packages: Sequence[str]) -> Path:
    """The interpreter of an environment with some packages; made where it is not there."""
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        print(f"Installing {', '.join(packages)} into an environment of their own ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-qq", *packages], check=True)
    return python
