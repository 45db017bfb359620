"""Checks of metrics' options that are the same for all of them."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.core.errors import ConfigError, MissingExtraError, UnknownNameError


def one_of(metric: str, option: str, value: str, choices: Sequence[str]) -> None:
    """Refuse a word that an option does not have."""
    if value not in choices:
        raise UnknownNameError(f"{option} of metric.{metric}:", value, choices)


def at_least(metric: str, option: str, value: float, least: float) -> None:
    """Refuse a number that is too small."""
    if not value >= least:
        raise ConfigError(f"metric.{metric}: {option} is {value}.", remedy=f"Give {least} or more.")


def missing(what: str, error: ImportError) -> MissingExtraError:
    """The error for a machine without the evaluation libraries."""
    return MissingExtraError(f"{what} needs {error.name}.", remedy="Run: pip install dragoman[eval]", extra="eval")
