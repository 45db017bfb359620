"""Responses that asked for calls of tools: held in memory until their results come, and written to no file."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeAlias

Owner: TypeAlias = tuple[str, str, str]
"""Agent, tenant and user."""
IDLE_SECONDS = 3600.0
MOST_RESPONSES = 1000
MOST_OF_OWNER = 100
MOST_CHARACTERS = 16 * 2**20
"""Of all messages that are held for one owner; four times as many for all owners together."""


@dataclass(frozen=True, slots=True)
class PendingResponse:
    """The messages up to the calls; with a dialogue that holds those before them, and the place of the reply in it."""

    messages: tuple[dict[str, Any], ...]
    dialogue: str = ""
    place: int = 0


class PendingResponses:
    """Pending responses by owner and id; the oldest go after an hour, or where there are too many. Thread-safe.

    An owner who has too many loses their own oldest, not another's.
    """

    def __init__(self, *, most: int = MOST_RESPONSES, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self._held: OrderedDict[tuple[Owner, str], _Held] = OrderedDict()
        self._lock = Lock()

    def put(self, owner: Owner, id: str, response: PendingResponse) -> None:
        size = sum(len(repr(message)) for message in response.messages)
        with self._lock:
            self._held.pop((owner, id), None)
            self._held[owner, id] = _Held(self._clock(), size, response)
            self._purge(owner)

    def get(self, owner: Owner, id: str) -> PendingResponse | None:
        with self._lock:
            self._purge(owner)
            entry = self._held.get((owner, id))
            return None if entry is None else entry.response

    def clear(self, owner: Owner) -> None:
        """Drop everything of an owner."""
        with self._lock:
            for key in [key for key in self._held if key[0] == owner]:
                del self._held[key]

    def _purge(self, owner: Owner) -> None:
        own = [key for key in self._held if key[0] == owner]
        for key in _beyond(own, self._held, MOST_OF_OWNER, MOST_CHARACTERS):
            del self._held[key]
        for key in _beyond(list(self._held), self._held, self._most, 4 * MOST_CHARACTERS):
            del self._held[key]
        oldest = self._clock() - IDLE_SECONDS
        while self._held and next(iter(self._held.values())).at <= oldest:
            self._held.popitem(last=False)


@dataclass(frozen=True, slots=True)
class _Held:
    """A response with its time of arrival and the number of characters of its messages."""

    at: float
    size: int
    response: PendingResponse


def _beyond(
    keys: list[tuple[Owner, str]], held: Mapping[tuple[Owner, str], _Held], most: int, characters: int
) -> list[tuple[Owner, str]]:
    """Return the oldest keys to drop so that the rest keep the limits; the newest always stays."""
    count = size = 0
    for key in reversed(keys):
        size += held[key].size
        if count and (count >= most or size > characters):
            break
        count += 1
    return keys[: len(keys) - count]
