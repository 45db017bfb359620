"""Group commit: turns that several threads add at the same time share one transaction and one disk sync."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING

from dragoman.core.cancelling import check_cancelled
from dragoman.core.errors import DragomanError, StoreError
from dragoman.stores.erasure_hold import current_hold

if TYPE_CHECKING:
    from dragoman.core.values import Scope
    from dragoman.stores.rows import Cell
    from dragoman.stores.sqlite.database import Database

APPEND = """INSERT INTO turns (tenant, user, dialogue, speaker, text, trace, request, said_at)
    VALUES (:tenant, :user, :dialogue, :speaker, :text, :trace, :request, :said_at)"""


class _QueuedWrite:
    """The turns of one call, and its outcome."""

    __slots__ = ("error", "hold", "is_done", "rows", "scope")

    def __init__(self, scope: Scope, rows: Sequence[Mapping[str, Cell]]) -> None:
        self.scope = scope
        self.rows = rows
        self.hold = current_hold(scope)
        self.is_done = False
        self.error: DragomanError | None = None


class Appending:
    """The first thread writes for all waiting ones; each call returns when its own turns are on the disk."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: list[_QueuedWrite] = []
        self._list, self._writing = Lock(), Lock()

    def add(self, scope: Scope, rows: Sequence[Mapping[str, Cell]]) -> None:
        """Add turns, all or none."""
        check_cancelled()  # here, since another thread may write them
        entry = _QueuedWrite(scope, rows)
        with self._list:
            self._waiting.append(entry)
        with self._writing:
            if not entry.is_done:
                with self._list:
                    entries, self._waiting = self._waiting, []
                self._write(entries)
        if entry.error is not None:
            raise entry.error

    def _write(self, entries: Sequence[_QueuedWrite]) -> None:
        try:
            self._commit(entries)
        except DragomanError as error:
            if (
                len(entries) > 1
            ):  # one entry is at fault, or the disk: retry each alone, so that each call gets its own error
                for entry in entries:
                    self._write([entry])
                return
            entries[0].error = error
        except BaseException:
            for entry in entries:  # the waiting threads must not mistake a missing error for success
                entry.error = entry.error or StoreError("The turns were not kept: their writing was interrupted.")
                entry.is_done = True
            raise
        for entry in entries:
            entry.is_done = True

    def _commit(self, entries: Sequence[_QueuedWrite]) -> None:
        with self._database.writing(entries[0].scope, checked=False) as rows:
            for entry in entries:
                scoped = rows.of(entry.scope)
                if entry.hold is not None:  # its own, whichever thread writes
                    entry.hold.check(scoped.erasures())
                scoped.many(APPEND, entry.rows)
