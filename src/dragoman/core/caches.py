"""Registry of caches that hold users' texts, so that deletion can clear all of them."""

from __future__ import annotations

from threading import Lock
from typing import Protocol
from weakref import WeakSet


class Keeping(Protocol):
    """A cache of texts or of values computed from them."""

    def clear_cache(self) -> None: ...


_keeping: WeakSet[Keeping] = WeakSet()
_lock = Lock()


def keeps_texts(owner: Keeping) -> None:
    """Register a cache of texts, from its constructor; `clear_caches` clears it while it lives."""
    with _lock:
        _keeping.add(owner)


def clear_caches(*others: object) -> None:
    """Clear all registered caches of this process, and `others` that are not registered."""
    with _lock:
        owners = list(_keeping)
    for owner in owners:
        owner.clear_cache()
    for other in others:
        clear = getattr(other, "clear_cache", None)
        if callable(clear) and all(other is not owner for owner in owners):
            clear()
