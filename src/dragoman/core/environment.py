"""Settings that come from environment variables: the home folder, the number of cores, and telemetry switches.

Telemetry is switched off when the package is first imported, before any library that reads these variables: this covers
workers, Ray nodes and training processes too, which all import the package. Variables that are already set stay as they
are, so that the user can decide otherwise.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

CORES_VARIABLE = "DRAGOMAN_CORES"
SWITCHES = {
    "ORT_DISABLE_TELEMETRY": "1",  # onnxruntime: device id in the cache folder, events to Microsoft
    "HF_HUB_DISABLE_TELEMETRY": "1",  # huggingface_hub, which transformers, peft and accelerate load
    "RAY_USAGE_STATS_ENABLED": "0",  # Ray: usage reports of every cluster it starts
    "HAYSTACK_TELEMETRY_ENABLED": "False",  # Haystack: which components a pipeline has
    "ONEDNN_JIT_PROFILE": "0",  # torch: a map of its generated code in the system's temporary folder
}


def home() -> Path:
    """The folder of weights and of the shipped agents: `$DRAGOMAN_HOME`, else `~/.dragoman`. Creates nothing."""
    from pathlib import Path  # takes half of the time of `import dragoman`, which needs only the switches

    folder = os.environ.get("DRAGOMAN_HOME", "").strip()
    return Path(folder).expanduser() if folder else Path.home() / ".dragoman"


def cores() -> int:
    """Number of cores that this process may use: `$DRAGOMAN_CORES`, by which processes share a machine, else all."""
    setting = os.environ.get(CORES_VARIABLE, "").strip()
    return int(setting) if setting.isdigit() and int(setting) else os.cpu_count() or 1


def disable_telemetry() -> None:
    """Set every switch in the environment of this process, which its children inherit."""
    for name, value in SWITCHES.items():
        os.environ.setdefault(name, value)


def switches() -> dict[str, str]:
    """Return the switches of this process, for children that do not inherit its environment."""
    return {name: os.environ.get(name, value) for name, value in SWITCHES.items()}
