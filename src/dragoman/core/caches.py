"""What this process keeps of what users said, so that forgetting reaches all of it."""

from __future__ import annotations

from threading import Lock
from typing import Protocol
from weakref import WeakSet


class Keeping(Protocol):
    """Something that remembers texts, or what it made of them, to be quicker the next time."""

    def clear_cache(self) -> None: ...


_keeping: WeakSet[Keeping] = WeakSet()
_lock = Lock()


def keeps_texts(owner: Keeping) -> None:
    """Say so in the constructor of whatever keeps texts: `clear_caches` then reaches it for as long as it lives."""
    with _lock:
        _keeping.add(owner)


def clear_caches(*others: object) -> None:
    """Let everything in this process go of the texts that it keeps, and `others` that never said that they keep any."""
    with _lock:
        owners = list(_keeping)
    for owner in owners:
        owner.clear_cache()
    for other in others:
        clear = getattr(other, "clear_cache", None)
        if callable(clear) and all(other is not owner for owner in owners):
            clear()
