"""Switches that stop our dependencies from reporting to their makers and from leaving files behind.

The package sets them when it is first imported, before any library that reads them: this covers workers, Ray nodes and
training processes too, which all import the package. A variable that is already set is left alone, so that whoever runs
the process can decide otherwise.
"""

from __future__ import annotations

import os

SWITCHES = {
    "ORT_DISABLE_TELEMETRY": "1",  # onnxruntime: device id in the cache folder, events to Microsoft
    "HF_HUB_DISABLE_TELEMETRY": "1",  # huggingface_hub, which transformers, peft and accelerate load
    "RAY_USAGE_STATS_ENABLED": "0",  # Ray: usage reports of every cluster it starts
    "HAYSTACK_TELEMETRY_ENABLED": "False",  # Haystack: which components a pipeline has
    "ONEDNN_JIT_PROFILE": "0",  # torch: a map of its generated code in the system's temporary folder
}


def disable_telemetry() -> None:
    """Set every switch in the environment of this process, which its children inherit."""
    for name, value in SWITCHES.items():
        os.environ.setdefault(name, value)


def switches() -> dict[str, str]:
    """The switches as this process has them, for children that do not inherit its environment."""
    return {name: os.environ.get(name, value) for name, value in SWITCHES.items()}
