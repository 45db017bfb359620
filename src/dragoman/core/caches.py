"""Registry of caches that hold users' texts, so that deletion can clear all of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Protocol, TypeVar
from weakref import WeakSet

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

Result = TypeVar("Result")


class Keeping(Protocol):
    """A cache of texts or of values computed from them."""

    def clear_cache(self) -> None: ...


_keeping: WeakSet[Keeping] = WeakSet()
_functions: list[_lru_cache_wrapper[object]] = []
_lock = Lock()


def text_cache(maxsize: int) -> Callable[[Callable[..., Result]], _lru_cache_wrapper[Result]]:
    """`lru_cache` for a function of a user's or a document's text: `clear_caches` empties it."""

    def decorate(function: Callable[..., Result]) -> _lru_cache_wrapper[Result]:
        cached = lru_cache(maxsize=maxsize)(function)
        _functions.append(cached)
        return cached

    return decorate


def keeps_texts(owner: Keeping) -> None:
    """Register a cache of texts, from its constructor; `clear_caches` clears it while it lives."""
    with _lock:
        _keeping.add(owner)


def clear_caches(*others: object) -> None:
    """Clear all registered caches of this process, and `others` that are not registered."""
    for function in _functions:
        function.cache_clear()
    with _lock:
        owners = list(_keeping)
    for owner in owners:
        owner.clear_cache()
    for other in others:
        clear = getattr(other, "clear_cache", None)
        if callable(clear) and all(other is not owner for owner in owners):
            clear()
