"""Private dialogues: turns that are held in the memory of this process for a while and written to no file."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock

from dragoman.core.values import Scope, Turn

IDLE_SECONDS = 3600.0
MOST_DIALOGUES = 1000
MOST_TURNS = 64


@dataclass(slots=True)
class _Held:
    used: float
    turns: list[Turn] = field(default_factory=list)


class PrivateDialogues:
    """Turns by user and dialogue, so that a private dialogue can go on.

    Drops a dialogue that was not used for `seconds`, and beyond `most` dialogues the least recently used one. Of a long
    dialogue only the newest turns are held.
    """

    def __init__(
        self,
        *,
        seconds: float = IDLE_SECONDS,
        most: int = MOST_DIALOGUES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds, self._most, self._clock = seconds, most, clock
        self._held: OrderedDict[tuple[Scope, str], _Held] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        with self._lock:
            self._purge()
            return len(self._held)

    def turns(self, scope: Scope, dialogue: str) -> tuple[Turn, ...]:
        """The turns of a dialogue, oldest first."""
        with self._lock:
            self._purge()
            dialogue_state = self._held.get((scope, dialogue))
            return () if dialogue_state is None else tuple(dialogue_state.turns)

    def add(self, scope: Scope, dialogue: str, turns: Sequence[Turn]) -> None:
        """Add turns to a dialogue."""
        with self._lock:
            dialogue_state = self._held.setdefault((scope, dialogue), _Held(0.0))
            dialogue_state.used = self._clock()
            dialogue_state.turns = [*dialogue_state.turns, *turns][-MOST_TURNS:]
            self._held.move_to_end((scope, dialogue))
            self._purge()
            while len(self._held) > self._most:
                self._held.popitem(last=False)

    def drop(self, scope: Scope, dialogue: str | None = None) -> int:
        """Drop a dialogue, or all of a user; returns the number of turns."""
        with self._lock:
            gone = [key for key in self._held if key[0] == scope and dialogue in (None, key[1])]
            return sum(len(self._held.pop(key).turns) for key in gone)

    def _purge(self) -> None:
        oldest = self._clock() - self._seconds
        while self._held and next(iter(self._held.values())).used <= oldest:  # in the order of their last use
            self._held.popitem(last=False)
