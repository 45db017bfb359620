"""The program's clock, and times as text.

Every part that needs the current time calls `now`, so that a test or a replay sets one clock for all of them. A moment
is stored as text in ISO 8601, in UTC and to the second ("2026-05-03T12:30:00Z"): the texts sort like the moments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from typing import TypeAlias

from dragoman.core.errors import InputError

Clock: TypeAlias = Callable[[], datetime]


def _system() -> datetime:
    return datetime.now(UTC)


_clock: Clock = _system


def now() -> datetime:
    """The current moment, in UTC."""
    moment = _clock()
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


@contextmanager
def use_clock(clock: Clock | datetime | str) -> Iterator[None]:
    """Set the clock of the whole process, all its threads included, for the time of a block.

    A datetime, or its text, is a stopped clock; without a time zone it is in UTC.
    """
    global _clock  # noqa: PLW0603 - the one place where the process's clock is kept
    before = _clock
    if callable(clock):
        _clock = clock
    else:
        fixed = datetime.fromisoformat(clock) if isinstance(clock, str) else clock
        _clock = lambda: fixed  # noqa: E731 - a clock that stands still
    try:
        yield
    finally:
        _clock = before


def stamp(moment: datetime | None = None) -> str:
    """Format a time as stored text; by default the current time."""
    at = now() if moment is None else moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")


@lru_cache(maxsize=4096)
def moment_of(text: str) -> datetime | None:
    """Parse a stored text as a time in UTC; a date means its first moment. None if the text is not a time."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


@lru_cache(maxsize=256)
def zone_of(name: str) -> tzinfo:
    """The time zone of an IANA name ("Europe/Zurich"); the machine's where the name is empty."""
    from zoneinfo import ZoneInfo

    if not name:
        return datetime.now().astimezone().tzinfo or UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise InputError(
            f"There is no time zone '{name[:60]}'.",
            remedy="Give a name of the IANA list, such as Europe/Zurich, Asia/Shanghai or UTC.",
        ) from error
