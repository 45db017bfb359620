"""Storage quotas: bytes, files and passages of tenants and users, and facts about a user."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from time import monotonic

from dragoman.core.errors import ServiceError
from dragoman.core.values import Scope
from dragoman.sources.upload_folders import StorageUsage, UploadUsage, counted, elsewhere, place_id

_GB = 2**30
_STALE, _SOON = 60.0, 1.0
_MOST_USERS = 10_000


@dataclass(frozen=True, slots=True)
class Quota:
    """Storage limits; None means no limit. A tenant's bytes and files include those of its users.

    Passages are counted per owner: shared sources of the tenant, with the files that agent.toml declares, and private
    sources of a user.
    """

    tenant_bytes: int | None = 10 * _GB
    tenant_files: int | None = 100_000
    tenant_passages: int | None = 2_000_000
    user_bytes: int | None = _GB
    user_files: int | None = 10_000
    user_passages: int | None = 200_000
    facts: int | None = 2000
    user_chat_bytes: int | None = 256 * 2**20


QUOTA = Quota()
"""What may be kept unless the operator says otherwise."""


class ChatUsage:
    """Bytes of each user's dialogues: counted by the store once a minute, and estimated in between."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: OrderedDict[Scope, tuple[float, int]] = OrderedDict()

    def check(self, store: object, scope: Scope, more: int, most: int | None) -> None:
        """Raise an error if a turn of so many bytes exceeds the limit; else count it."""
        count: Callable[[Scope], int] | None = getattr(store, "turn_bytes", None)
        if most is None or count is None:
            return
        with self._lock:
            at, usage = self._known.get(scope, (0.0, -1))
        age = monotonic() - at
        if usage < 0 or age > _STALE or (usage + more > most and age > _SOON):  # data may have been deleted meanwhile
            at, usage = monotonic(), count(scope)
        is_full = usage + more > most
        with self._lock:
            self._known[scope] = at, usage if is_full else usage + more
            self._known.move_to_end(scope)
            while len(self._known) > _MOST_USERS:
                self._known.popitem(last=False)
        if is_full:
            raise full("user", "MB of chats", f"{most / 2**20:,.0f}")

    def add(self, scope: Scope, more: int) -> None:
        """Count what else a turn has stored: its reply and its trace."""
        with self._lock:
            if scope in self._known:
                at, usage = self._known[scope]
                self._known[scope] = at, usage + more


class Stock:
    """Storage used by each user of a tenant: recounted once a minute, updated in between.

    Several threads may write at once, so space is claimed before it is used.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[Path, tuple[float, dict[str, UploadUsage]]] = {}

    @contextmanager
    def claiming(self, folder: Path, more: UploadUsage, quota: Quota, *, private: bool) -> Iterator[Claim]:
        """Claim space in a user's (or the shared) folder during a write; released if the write fails."""
        with self._lock:
            amounts = self._amounts(folder.parent)
            usage = amounts.get(folder.name, UploadUsage())
            self._claim(folder, amounts, more, quota, private=private)
            amounts[folder.name] = usage + more
            counted_at = self._known[folder.parent][0]
        claim = Claim(more)
        try:
            yield claim
        except BaseException:
            claim.used = UploadUsage()
            raise
        finally:
            if self._known.get(folder.parent, (None,))[0] == counted_at:
                self.add(folder, claim.used + -more)
            else:  # recounted meanwhile, including part of this write
                self.recount(folder)

    def add(self, folder: Path, more: UploadUsage) -> None:
        """Record a change of a folder's size."""
        with self._lock:
            amounts = self._amounts(folder.parent)
            amounts[folder.name] = amounts.get(folder.name, UploadUsage()) + more

    def _claim(
        self, folder: Path, amounts: Mapping[str, UploadUsage], more: UploadUsage, quota: Quota, *, private: bool
    ) -> None:
        """Raise an error if the quota is exceeded."""
        usage, whole = amounts.get(folder.name, UploadUsage()), sum(amounts.values(), UploadUsage())
        _check("tenant", whole, more, quota.tenant_bytes, quota.tenant_files)
        if private:
            _check("user", usage, more, quota.user_bytes, quota.user_files)

    def recount(self, folder: Path) -> None:
        """Recount the tenant of a folder at the next request."""
        with self._lock:
            self._known.pop(folder.parent, None)

    def check_here(self, folder: Path) -> None:
        """Raise an error if the files of the folder's owner are on another server."""

    def _amounts(self, tenant: Path) -> dict[str, UploadUsage]:
        at, amounts = self._known.get(tenant, (0.0, {}))
        if tenant not in self._known or monotonic() - at > _STALE:
            amounts = self._counted(tenant)
            self._known[tenant] = monotonic(), amounts
        return amounts

    def _counted(self, tenant: Path) -> dict[str, UploadUsage]:
        return {entry.name: counted(Path(entry.path)) for entry in _entries(tenant) if entry.is_dir()}


class SharedStock(Stock):
    """Storage use known to all servers: files in this server's folders and in those of others."""

    def __init__(self, usage: StorageUsage) -> None:
        super().__init__()
        self._usage = usage

    def add(self, folder: Path, more: UploadUsage) -> None:
        super().add(folder, more)
        if more != UploadUsage():
            self._refusal(folder, more, {})

    def _claim(
        self, folder: Path, amounts: Mapping[str, UploadUsage], more: UploadUsage, quota: Quota, *, private: bool
    ) -> None:
        limits = {"tenant_bytes": quota.tenant_bytes, "tenant_files": quota.tenant_files}
        if private:
            limits |= {"user_bytes": quota.user_bytes, "user_files": quota.user_files}
        full_of = self._refusal(folder, more, limits)
        if full_of == "elsewhere":
            raise elsewhere()
        if full_of is not None:
            whose, _, what = full_of.partition("_")
            most = limits[full_of] or 0
            raise _too_many(whose, what, most)

    def check_here(self, folder: Path) -> None:
        tenant = folder.parent
        if self._usage.is_elsewhere(place_id(tenant.parent), tenant.name, folder.name):
            raise elsewhere()

    def recount(self, folder: Path) -> None:
        super().recount(folder)
        with self._lock:
            self._amounts(folder.parent)  # other servers must know at once

    def _counted(self, tenant: Path) -> dict[str, UploadUsage]:
        amounts = super()._counted(tenant)
        usage = {name: (amount.bytes, amount.files) for name, amount in amounts.items()}
        self._usage.count(place_id(tenant.parent), tenant.name, usage)
        return amounts

    def _refusal(self, folder: Path, more: UploadUsage, limits: Mapping[str, int | None]) -> str | None:
        tenant = folder.parent
        return self._usage.claim(place_id(tenant.parent), tenant.name, folder.name, (more.bytes, more.files), limits)


@dataclass(slots=True)
class Claim:
    """Claimed space, and how much of it was used."""

    used: UploadUsage


def full(whose: str, what: str, limit: str) -> ServiceError:
    """The error for an exceeded quota."""
    owner = "This tenant" if whose == "tenant" else "A user"
    return ServiceError(
        f"{owner} may keep {limit} {what} here, and this would be more. Nothing was changed.",
        remedy="Remove what is no longer needed, or ask whoever runs the server for more room.",
        code="quota",
    )


def _check(whose: str, usage: UploadUsage, more: UploadUsage, most_bytes: int | None, most_files: int | None) -> None:
    if most_bytes is not None and more.bytes > 0 and usage.bytes + more.bytes > most_bytes:
        raise _too_many(whose, "bytes", most_bytes)
    if most_files is not None and more.files > 0 and usage.files + more.files > most_files:
        raise _too_many(whose, "files", most_files)


def _too_many(whose: str, what: str, most: int) -> ServiceError:
    if what == "bytes":
        return full(whose, "MB of uploaded files", f"{most / 2**20:,.0f}")
    return full(whose, "uploaded files", f"{most:,}")


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        return list(os.scandir(folder))
    except FileNotFoundError:
        return []
