"""The ingest ledger: one entry per ingested file, stored beside its passages."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from dragoman.core.codec import decode, encode
from dragoman.core.errors import InputError
from dragoman.core.values import Scope, SourceName

if TYPE_CHECKING:
    from dragoman.core.protocols import Store

Way: TypeAlias = Literal["ingested", "uploaded"]
"""How a file arrived: read from a folder, or uploaded to a server. Each way has its own base folder, so that the same
name can occur in both; neither way removes or replaces files of the other."""
RULES = 4
"""Version of the readers and of the chunking; raising it makes every file be read again."""

_PENDING = "pending "
_GONE = ""
_RECENT = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Entry:
    """A file at the time of its ingest; `modified` is 0 if the time stamp was too recent to trust.

    `refused` says why no reader took it; the passages of an earlier version may still be in the store.
    """

    digest: str
    size: int
    modified: int
    passages: int
    failed: tuple[tuple[str, str], ...] = ()
    rules: int = RULES
    way: Way | None = None
    """How the file arrived; None in entries of older versions."""
    refused: str = ""
    readers: str = ""
    """Packages and versions that refused it; others may read it."""

    def matches(self, status: os.stat_result) -> bool:
        """Whether size and time are unchanged, so that the file need not be opened."""
        return self.modified != 0 and (self.size, self.modified) == (status.st_size, status.st_mtime_ns)


_UNSURE = Entry("", 0, 0, 0, rules=0)
"""Entry of a file that is only partly in the store, or whose entry cannot be read."""


class IngestLedger:
    """The entries of one source in one scope, for files that arrive one way."""

    def __init__(self, store: Store, scope: Scope, source: SourceName, way: Way) -> None:
        self._store = store
        self._scope = scope
        self._source = source
        self._way = way

    def entry(self, origin: str) -> Entry | None:
        """The entry of a file that is complete in the store, or was refused, under the current `RULES`.

        Raises if a file of the same name arrived another way.
        """
        entry = self._stored_entry(origin)
        if entry is not None and not self._is_ours(entry):
            if entry.refused:
                return None
            raise InputError(
                f"There is another '{origin}', which was {'' if entry.way == 'uploaded' else 'not '}uploaded.",
                remedy="Give one of them another name.",
            )
        return entry if entry is not None and entry.rules == RULES else None

    def knows(self, origin: str) -> bool:
        """Whether an origin is a file, complete or not, that arrived this way."""
        entry = self._stored_entry(origin)
        return entry is not None and self._is_ours(entry)

    def modified(self, origin: str) -> int:
        """The modification time of a file when it was read, in nanoseconds; 0 where it is not known."""
        entry = self._stored_entry(origin)
        return 0 if entry is None or entry.refused else entry.modified

    def begin(self, origin: str) -> None:
        """Mark a file as pending, so that an interruption does not leave a partial file marked as complete."""
        self._store.keep(self._scope, *self.interruption(origin))

    def finish(self, origin: str, entry: Entry) -> None:
        """Mark a file as complete."""
        self._store.keep(self._scope, *self.completion(origin, entry))

    def completion(self, origin: str, entry: Entry) -> tuple[str, str]:
        """The key and the value that mark a file as complete, to be kept in the transaction that writes it."""
        return self._key(origin), json.dumps(encode(replace(entry, way=self._way)), ensure_ascii=False)

    def interruption(self, origin: str) -> tuple[str, str]:
        """The key and the value that mark a file as pending."""
        return self._key(origin), _PENDING + self._way

    def drop(self, origin: str) -> None:
        """Mark a file as removed."""
        self._store.keep(self._scope, self._key(origin), _GONE)

    def listed(self, sitemap: str) -> tuple[str, ...]:
        """The pages that a sitemap listed when it was last read; empty where it was not."""
        kept = self._store.kept(self._scope, self._listing_key(sitemap))
        return tuple(json.loads(kept)) if kept else ()

    def keep_listed(self, sitemap: str, pages: Sequence[str]) -> None:
        """Remember the pages that a sitemap lists."""
        self._store.keep(self._scope, self._listing_key(sitemap), json.dumps(list(pages)))

    def _stored_entry(self, origin: str) -> Entry | None:
        """The stored entry of a file; None if the store holds nothing of it."""
        kept = self._store.kept(self._scope, self._key(origin))
        if kept is None or kept == _GONE:
            return None
        for way in get_args(Way):
            if kept == _PENDING + way:
                return replace(_UNSURE, way=way)
        try:
            return decode(Entry, json.loads(kept))
        except (ValueError, InputError):
            return _UNSURE

    def _is_ours(self, entry: Entry) -> bool:
        return entry.way in (None, self._way)

    def _key(self, origin: str) -> str:
        return f"file:{self._source}:{origin}"

    def _listing_key(self, sitemap: str) -> str:
        return f"sitemap:{self._source}:{sitemap}"


def trusted_time(status: os.stat_result) -> int:
    """A file's modification time, or 0 if a later change could still get the same time stamp."""
    return status.st_mtime_ns if abs(time.time_ns() - status.st_mtime_ns) > _RECENT else 0
