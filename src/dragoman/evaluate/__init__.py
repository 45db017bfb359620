"""The laboratory: experiments over labelled sets, metrics with their uncertainty, tables and reports."""

from __future__ import annotations

from typing import Any

__all__ = ["experiment", "load_run", "run_experiment"]

_PLACES = {"experiment": "api", "load_run": "running.run_record", "run_experiment": "api"}


def __getattr__(name: str) -> Any:  # loads its dependencies on first use
    if name in _PLACES:
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
