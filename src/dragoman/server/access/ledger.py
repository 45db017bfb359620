"""The contract of what counts: keys, turns a minute, tokens a day."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from dragoman.core.errors import LimitError
from dragoman.server.access.keys import Key, KeyStore

if TYPE_CHECKING:
    from dragoman.server.access.caller import Limits

DAY = 86_400


@dataclass(frozen=True, slots=True)
class Spent:
    """What a key used on one day (UTC)."""

    turns: int = 0
    tokens: int = 0


@runtime_checkable
class UsageLedger(KeyStore, Protocol):
    """Keys and counters, shared by every process that opens the same ledger.

    `is_near` says that a call takes microseconds, so that it may run on the event loop; one that goes over a network
    says no and is called from a thread.
    """

    is_near: bool

    def listed(self) -> Sequence[Key]:
        """All keys, oldest first."""
        ...

    def revoke(self, id: str, now: float) -> bool:
        """Make a key invalid from now on; whether there was one to revoke."""
        ...

    def admit(self, id: str, limits: Limits, now: float) -> None:
        """Count a turn that begins, or raise LimitError with the seconds until one may begin."""
        ...

    def spend(self, id: str, tokens: int, now: float) -> None:
        """Count the tokens of a turn that ended."""
        ...

    def spent(self, id: str, now: float) -> Spent: ...

    def close(self) -> None: ...


def too_many_turns(limit: int, seconds: float) -> LimitError:
    """The refusal of a turn whose minute is used up."""
    return LimitError(
        f"This key may take {limit} turns a minute.",
        remedy=f"Try again in {math.ceil(seconds)} s.",
        seconds=seconds,
        code="too-many-turns",
    )


def too_many_tokens(limit: int, now: float) -> LimitError:
    """The refusal of a turn whose day is used up."""
    return LimitError(
        f"This key may use {limit} tokens a day, and has.",
        remedy="Try again after midnight UTC.",
        seconds=DAY - now % DAY,
        code="too-many-tokens",
    )
