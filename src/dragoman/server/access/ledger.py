"""Protocol of usage ledgers: keys, turns per minute, tokens per day."""

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
    """Usage of a key on one day (UTC)."""

    turns: int = 0
    tokens: int = 0


@runtime_checkable
class UsageLedger(KeyStore, Protocol):
    """Keys and usage counters, shared by every process that opens the same ledger.

    `is_near` is true if calls take microseconds and may run on the event loop; a ledger over a network is called from a
    thread.
    """

    is_near: bool

    def listed(self) -> Sequence[Key]:
        """All keys, oldest first."""
        ...

    def revoke(self, id: str, now: float) -> bool:
        """Revoke a key; returns whether there was a valid one."""
        ...

    def admit(self, id: str, limits: Limits, now: float) -> None:
        """Count a starting turn, or raise LimitError with the seconds to wait."""
        ...

    def spend(self, id: str, tokens: int, now: float) -> None:
        """Count the tokens of a finished turn."""
        ...

    def spent(self, id: str, now: float) -> Spent: ...

    def close(self) -> None: ...


def too_many_turns(limit: int, seconds: float) -> LimitError:
    """The error for too many turns in a minute."""
    return LimitError(
        f"This key may take {limit} turns a minute.",
        remedy=f"Try again in {math.ceil(seconds)} s.",
        seconds=seconds,
        code="too-many-turns",
    )


def too_many_tokens(limit: int, now: float) -> LimitError:
    """The error for too many tokens in a day."""
    return LimitError(
        f"This key may use {limit} tokens a day, and has.",
        remedy="Try again after midnight UTC.",
        seconds=DAY - now % DAY,
        code="too-many-tokens",
    )
