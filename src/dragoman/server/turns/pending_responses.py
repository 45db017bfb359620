"""Responses that asked for calls of tools: held in memory until their results come, and written to no file."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeAlias

Owner: TypeAlias = tuple[str, str, str]
"""Agent, tenant and user."""
IDLE_SECONDS = 3600.0
MOST_RESPONSES = 1000


@dataclass(frozen=True, slots=True)
class PendingResponse:
    """The messages up to the calls; with a dialogue that holds those before them, and the place of the reply in it."""

    messages: tuple[dict[str, Any], ...]
    dialogue: str = ""
    place: int = 0


class PendingResponses:
    """Pending responses by owner and id; the oldest go after an hour, or where there are too many. Thread-safe."""

    def __init__(self, *, most: int = MOST_RESPONSES, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self._held: OrderedDict[tuple[Owner, str], tuple[float, PendingResponse]] = OrderedDict()
        self._lock = Lock()

    def put(self, owner: Owner, id: str, response: PendingResponse) -> None:
        with self._lock:
            self._held[owner, id] = (self._clock(), response)
            self._held.move_to_end((owner, id))
            self._purge()

    def get(self, owner: Owner, id: str) -> PendingResponse | None:
        with self._lock:
            self._purge()
            held = self._held.get((owner, id))
            return None if held is None else held[1]

    def clear(self, owner: Owner) -> None:
        """Drop everything of an owner."""
        with self._lock:
            for key in [key for key in self._held if key[0] == owner]:
                del self._held[key]

    def _purge(self) -> None:
        oldest = self._clock() - IDLE_SECONDS
        while self._held and (len(self._held) > self._most or next(iter(self._held.values()))[0] <= oldest):
            self._held.popitem(last=False)
