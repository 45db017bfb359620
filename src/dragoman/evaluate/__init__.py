"""The laboratory: experiments over labelled sets, metrics with their uncertainty, tables and reports."""

from __future__ import annotations

from typing import Any

__all__ = ["experiment", "load_run", "run_experiment"]


def __getattr__(name: str) -> Any:  # loads what it stands on only when it is asked for
    if name in __all__:
        from importlib import import_module

        return getattr(import_module("dragoman.evaluate.study"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
