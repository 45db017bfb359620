"""Refuse writes that rest on erased data: a turn that began before an erasure stores nothing after it.

A store counts the erasures of each scope. A turn holds the count from before its first read; every write to that scope
within the hold checks, in its own transaction, that the count has not changed. So it does not matter which process
erases, nor which one runs the turn.
"""

from __future__ import annotations

import json
from contextvars import ContextVar, Token
from hashlib import blake2b
from types import TracebackType
from typing import TYPE_CHECKING

from dragoman.core.errors import StoreErasedError

if TYPE_CHECKING:
    from typing import Self

    from dragoman.core.values import Scope


class ErasureHold:
    """The erasure count of a scope at some moment; within the `with` block, writes require that it is still the same.

    An erasure within the block is the holder's own, and moves the hold along.
    """

    __slots__ = ("_tokens", "count", "scope")

    def __init__(self, scope: Scope, count: int) -> None:
        self.scope = scope
        self.count = count
        self._tokens: list[Token[tuple[ErasureHold, ...]]] = []

    def __enter__(self) -> Self:
        self._tokens.append(_HOLDS.set((self, *_HOLDS.get())))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _HOLDS.reset(self._tokens.pop())

    def check(self, count: int) -> None:
        """Raise if the scope was erased since."""
        if count != self.count:
            raise StoreErasedError(
                "What this rests on has been forgotten meanwhile; nothing of it was kept.", remedy="Ask again."
            )


_HOLDS: ContextVar[tuple[ErasureHold, ...]] = ContextVar("holds", default=())


def current_hold(scope: Scope) -> ErasureHold | None:
    """The hold on a scope that this thread is in."""
    return next((hold for hold in _HOLDS.get() if hold.scope == scope), None)


def moved(scope: Scope, count: int) -> None:
    """Move the hold on a scope along with an erasure of its holder."""
    for hold in _HOLDS.get():
        if hold.scope == scope:
            hold.count = count


def scope_digest(scope: Scope) -> bytes:
    """The key under which erasures are counted: it outlives the scope, so it holds no name."""
    return blake2b(json.dumps([scope.tenant, scope.user]).encode(), digest_size=16).digest()
