"""API keys: shown once, stored as a digest, compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass
from typing import Protocol

from dragoman.core.errors import AccessError, InputError

PREFIX = "dk"
_NOBODY = hashlib.sha256(b"").digest()
_MOST = 200


@dataclass(frozen=True, slots=True)
class Key:
    """A key without its secret."""

    id: str
    name: str
    tenant: str
    user: str = ""
    admin: bool = False
    turns_per_minute: int | None = None
    tokens_per_day: int | None = None
    created: float = 0.0
    revoked: float | None = None


class KeyStore(Protocol):
    """Store of keys and their digests; every ledger is one."""

    def add(self, key: Key, digest: bytes) -> None: ...

    def find(self, id: str) -> tuple[Key, bytes] | None:
        """A key and its digest, revoked or not."""
        ...


def create(
    ledger: KeyStore,
    name: str,
    *,
    tenant: str = "local",
    user: str = "",
    admin: bool = False,
    turns_per_minute: int | None = None,
    tokens_per_day: int | None = None,
) -> tuple[Key, str]:
    """Create a key; returns it with its text, which is not stored."""
    for what, value, least in (("name", name, 1), ("tenant", tenant, 1), ("user", user, 0)):
        if not least <= len(value.strip()) <= _MOST or not value.isprintable():
            raise InputError(f"A key's {what} is {value!r}.", remedy=f"Give at most {_MOST} printable characters.")
    id_ = secrets.token_hex(4)
    text = f"{PREFIX}_{id_}_{secrets.token_urlsafe(32)}"
    key = Key(id_, name, tenant, user, admin, turns_per_minute, tokens_per_day, time.time())
    ledger.add(key, digest(text))
    return key, text


def digest(text: str) -> bytes:
    """Digest of a key. A plain hash is safe: the secret has 256 random bits, too many to guess."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def recognise(ledger: KeyStore, text: str) -> Key:
    """Authenticate the text of a key. Unknown, wrong and revoked keys fail with the same message and timing."""
    parts = text.split("_", 2)
    entry = ledger.find(parts[1]) if len(parts) == 3 and parts[0] == PREFIX else None
    key, kept = entry or (None, _NOBODY)
    matches = hmac.compare_digest(kept, digest(text))
    if key is None or not matches or key.revoked is not None:
        raise invalid_key()
    return key


def invalid_key() -> AccessError:
    """The error for a key that is unknown, wrong or revoked."""
    return AccessError(
        "This API key is not valid.",
        remedy="`dragoman keys create` makes one; send it as Authorization: Bearer KEY.",
        code="unauthorized",
    )
