"""Deleted facts that can still be restored: in process memory alone, for a minute, one deletion a user."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock, Timer

from dragoman.core.values import Passage, Scope

UNDO_SECONDS = 60.0
_MOST_USERS = 1000


@dataclass(frozen=True, slots=True)
class Deletion:
    """Facts deleted together; `replaced` are older ones, each with the id of the fact that replaced it.

    `mentions` are turns that hold a rare word of these facts, and that the user may delete as well.
    """

    facts: tuple[Passage, ...]
    replaced: tuple[tuple[Passage, str], ...] = ()
    mentions: tuple[str, ...] = ()


class RecentDeletions:
    """The last deletion of each user, until it expires. It is never written to disk.

    A timer drops it even in an idle process.
    """

    def __init__(
        self,
        *,
        seconds: float = UNDO_SECONDS,
        most: int = _MOST_USERS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds, self._most, self._clock = seconds, most, clock
        self._held: OrderedDict[Scope, tuple[float, Deletion]] = OrderedDict()
        self._lock = Lock()
        self._timer: Timer | None = None

    def __len__(self) -> int:
        with self._lock:
            self._purge()
            return len(self._held)

    def hold(self, scope: Scope, deletion: Deletion) -> None:
        """Keep a user's deletion instead of an earlier one; with too many users, drop the oldest."""
        with self._lock:
            self._purge()
            self._held.pop(scope, None)
            self._held[scope] = (self._clock() + self._seconds, deletion)
            while len(self._held) > self._most:
                self._held.popitem(last=False)
            self._start_timer()

    def take(self, scope: Scope) -> Deletion | None:
        """A user's last deletion, if it has not expired; it can be taken once."""
        with self._lock:
            self._purge()
            _, deletion = self._held.pop(scope, (0.0, None))
            return deletion

    def mentions(self, scope: Scope, *, take: bool = False) -> tuple[str, ...]:
        """Return the turns that mention what a user deleted last; `take` drops them, but keeps the facts for `undo`."""
        with self._lock:
            self._purge()
            until, deletion = self._held.get(scope, (0.0, None))
            if deletion is None:
                return ()
            if take:
                self._held[scope] = (until, replace(deletion, mentions=()))
            return deletion.mentions

    def show(self, scope: Scope, mentions: tuple[str, ...]) -> None:
        """Hold turns that mention what a user wants deleted although no fact says it; the facts for `undo` stay."""
        with self._lock:
            self._purge()
            until, deletion = self._held.get(scope, (0.0, None))
            if deletion is not None:
                self._held[scope] = (until, replace(deletion, mentions=mentions))
                return
        if mentions:
            self.hold(scope, Deletion((), mentions=mentions))

    def drop(self, scope: Scope) -> None:
        """Forget a user's last deletion, so that it cannot be undone."""
        with self._lock:
            self._held.pop(scope, None)

    def _purge(self) -> None:
        now = self._clock()
        while self._held and next(iter(self._held.values()))[0] <= now:  # in the order in which they expire
            self._held.popitem(last=False)

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = Timer(self._seconds + 0.1, self._expire)
            self._timer.daemon = True
            self._timer.start()

    def _expire(self) -> None:
        with self._lock:
            self._timer = None
            self._purge()
            if self._held:
                self._start_timer()
