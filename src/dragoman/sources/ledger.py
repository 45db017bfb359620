"""What has been ingested: one entry a file, kept in the store beside its passages."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from dragoman.core.codec import decode, encode
from dragoman.core.errors import InputError
from dragoman.core.values import Scope, SourceName

if TYPE_CHECKING:
    from dragoman.core.protocols import Store

Way: TypeAlias = Literal["ingested", "uploaded"]
"""How files come to a source: read where they lie, or sent to a server. Both name them from a folder of their own, so
that one name may be a file of each; neither removes or replaces what came the other way."""
RULES = 2
"""The version of the readers and of the cutting: raise it, and every file is read anew."""

_PENDING = "pending "
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
    way: Way | None = None
    """How the file came; None in entries of before that was noted."""

    def matches(self, status: os.stat_result) -> bool:
        """Whether the file need not even be opened."""
        return self.modified != 0 and (self.size, self.modified) == (status.st_size, status.st_mtime_ns)


_UNSURE = Entry("", 0, 0, 0, rules=0)
"""Stands for a file that is in the store in part, or whose entry cannot be read."""


class IngestLedger:
    """The entries of one source in one scope, for files that come one way."""

    def __init__(self, store: Store, scope: Scope, source: SourceName, way: Way) -> None:
        self._store = store
        self._scope = scope
        self._source = source
        self._way = way

    def entry(self, origin: str) -> Entry | None:
        """The entry of a file that is whole in the store, by the rules of today.

        Where a file of that name came another way, there is no place for this one.
        """
        entry = self._kept(origin)
        if entry is not None and not self._is_ours(entry):
            raise InputError(
                f"There is another '{origin}', which was {'' if entry.way == 'uploaded' else 'not '}uploaded.",
                remedy="Give one of them another name.",
            )
        return entry if entry is not None and entry.rules == RULES else None

    def knows(self, origin: str) -> bool:
        """Whether the passages of an origin came from a file, wholly or in part, and our way."""
        entry = self._kept(origin)
        return entry is not None and self._is_ours(entry)

    def begin(self, origin: str) -> None:
        """Say that a file is about to change, so that no interruption leaves half of it taken for whole."""
        self._store.keep(self._scope, self._key(origin), _PENDING + self._way)

    def finish(self, origin: str, entry: Entry) -> None:
        """Say that all passages of a file are in."""
        written = json.dumps(encode(replace(entry, way=self._way)), ensure_ascii=False)
        self._store.keep(self._scope, self._key(origin), written)

    def drop(self, origin: str) -> None:
        """Say that nothing of a file is left."""
        self._store.keep(self._scope, self._key(origin), _GONE)

    def _kept(self, origin: str) -> Entry | None:
        """What is noted of a file; None where nothing of it is in the store."""
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


def trusted_time(status: os.stat_result) -> int:
    """A file's time of change, or 0 where another change could still get the same time."""
    return status.st_mtime_ns if abs(time.time_ns() - status.st_mtime_ns) > _RECENT else 0
