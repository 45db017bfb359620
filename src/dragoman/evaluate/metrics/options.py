"""Shared checks of metric options."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.core.errors import ConfigError, MissingExtraError, UnknownNameError


def one_of(metric: str, option: str, value: str, choices: Sequence[str]) -> None:
    """Raise an error for an unknown choice."""
    if value not in choices:
        raise UnknownNameError(f"{option} of metric.{metric}:", value, choices)


def at_least(metric: str, option: str, value: float, least: float) -> None:
    """Raise an error for a number that is too small."""
    if not value >= least:
        raise ConfigError(f"metric.{metric}: {option} is {value}.", remedy=f"Give {least} or more.")


def missing(what: str, error: ImportError) -> MissingExtraError:
    """The error for a machine without the evaluation libraries."""
    return MissingExtraError(f"{what} needs {error.name}.", remedy="Run: pip install dragoman[eval]", extra="eval")
