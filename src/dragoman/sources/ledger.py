"""What has been ingested: one entry a file, kept in the store beside its passages."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dragoman.core.codec import decode, encode
from dragoman.core.errors import InputError
from dragoman.core.values import Scope, SourceName

if TYPE_CHECKING:
    from dragoman.core.protocols import Store

RULES = 1
"""The version of the readers and of the cutting: raise it, and every file is read anew."""

_PENDING = "pending"
_GONE = ""
_RECENT = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Entry:
    """A file as it was when its passages went in; `modified` is 0 where the clock was too coarse to trust."""

    digest: str
    size: int
    modified: int
    passages: int
    failed: tuple[tuple[str, str], ...] = ()
    rules: int = RULES

    def matches(self, status: os.stat_result) -> bool:
        """Whether the file need not even be opened."""
        return self.modified != 0 and (self.size, self.modified) == (status.st_size, status.st_mtime_ns)


class Ledger:
    """The entries of one source in one scope."""

    def __init__(self, store: Store, scope: Scope, source: SourceName) -> None:
        self._store = store
        self._scope = scope
        self._source = source

    def entry(self, origin: str) -> Entry | None:
        """The entry of a file that is whole in the store, by the rules of today."""
        kept = self._store.kept(self._scope, self._key(origin))
        if kept in (None, _GONE, _PENDING):
            return None
        try:
            entry = decode(Entry, json.loads(kept or ""))
        except (ValueError, InputError):
            return None
        return entry if entry.rules == RULES else None

    def knows(self, origin: str) -> bool:
        """Whether the passages of an origin came from a file, wholly or in part."""
        return self._store.kept(self._scope, self._key(origin)) not in (None, _GONE)

    def begin(self, origin: str) -> None:
        """Say that a file is about to change, so that no interruption leaves half of it taken for whole."""
        self._store.keep(self._scope, self._key(origin), _PENDING)

    def finish(self, origin: str, entry: Entry) -> None:
        """Say that all passages of a file are in."""
        self._store.keep(self._scope, self._key(origin), json.dumps(encode(entry), ensure_ascii=False))

    def drop(self, origin: str) -> None:
        """Say that nothing of a file is left."""
        self._store.keep(self._scope, self._key(origin), _GONE)

    def _key(self, origin: str) -> str:
        return f"file:{self._source}:{origin}"


def trusted_time(status: os.stat_result) -> int:
    """A file's time of change, or 0 where another change could still get the same time."""
    return status.st_mtime_ns if abs(time.time_ns() - status.st_mtime_ns) > _RECENT else 0
