"""Resolve time expressions, English and Chinese, to periods of the calendar."""

from dragoman.decision.times.resolve import Period, find_periods, resolve, without_periods

__all__ = ["Period", "find_periods", "resolve", "without_periods"]
