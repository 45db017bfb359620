"""Callers: the user behind a credential, and their limits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dragoman.core.errors import AccessError
from dragoman.core.values import SHARED_USER

if TYPE_CHECKING:
    from dragoman.server.access.keys import Key

LOCAL_USER = "me"
_MOST = 200


@dataclass(frozen=True, slots=True)
class Limits:
    """Usage limits of a key; None means no limit."""

    turns_per_minute: int | None = None
    tokens_per_day: int | None = None


NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Caller:
    """The tenant and user of a request. Without keys the tenant is empty, which means each agent's own."""

    key: str
    tenant: str
    user: str
    admin: bool = False
    limits: Limits = NO_LIMITS

    @property
    def whose(self) -> str:
        """The owner of a request's share of server capacity: the key, or without keys the user."""
        return self.key or f"user:{self.user}"


LOCAL = Caller("", "", LOCAL_USER, admin=True)
"""The local user of a server without keys."""


def caller_of(key: Key, *, limits: Limits = NO_LIMITS) -> Caller:
    """The caller of a key; the key's own limits override the server's."""
    own = Limits(
        limits.turns_per_minute if key.turns_per_minute is None else key.turns_per_minute,
        limits.tokens_per_day if key.tokens_per_day is None else key.tokens_per_day,
    )
    return Caller(key.id, key.tenant, key.user or f"key:{key.id}", key.admin, own)


def acting_for(caller: Caller, user: str) -> Caller:
    """The caller as another user of the same tenant; only admins may do that."""
    if user == caller.user:
        return caller
    if not caller.admin:
        raise AccessError(
            "This key cannot act for another user.", remedy="Leave out X-Dragoman-User, or use an admin key."
        )
    check_user(user)
    return replace(caller, user=user)


def check_user(user: str) -> None:
    """Raise an error for an invalid user id."""
    if user == SHARED_USER or not user.strip() or len(user) > _MOST or not user.isprintable():
        raise AccessError(
            f"A user id has 1 to {_MOST} printable characters.", remedy="Give another one.", code="bad-request"
        )
