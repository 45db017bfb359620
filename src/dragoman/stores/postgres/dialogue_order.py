"""The turn queue of each dialogue, shared by all servers of one store: tickets in a table, and a lock per live server.

A turn takes a ticket when it arrives. The turn with the lowest ticket of its queue runs, and returns the ticket in the
transaction that stores the turn. A server holds an advisory lock while its session lasts: if the lock is free, the
server is dead, and a turn that waits behind its tickets removes them. A server that was wrongly taken for dead finds
its ticket gone and stores nothing, so that two turns never write to one dialogue at the same time.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Sequence
from contextlib import suppress
from hashlib import blake2b
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from dragoman.core.errors import StoreError
from dragoman.core.values import Receipt
from dragoman.stores.postgres.address import require_psycopg

if TYPE_CHECKING:
    from dragoman.stores.postgres.database import PostgresDatabase
    from dragoman.stores.postgres.schema import Connection

_log = logging.getLogger("dragoman.stores")
_PING_SECONDS = 1.0
_KIND = "dragoman replica"
# The server checks its clients too: a machine without power does not close its connections.
_WATCHED = """SELECT set_config('tcp_keepalives_idle', '5', false), set_config('tcp_keepalives_interval', '5', false),
    set_config('tcp_keepalives_count', '3', false)"""


class PostgresDialogueOrder:
    """Tickets of one store; a separate session shows that this process is alive. Every call is a network call."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._table = f'"{database.schema}".line'
        self._kind = _number(_KIND, database.schema) >> 32
        self._lock = Lock()
        self._alive: Connection | None = None
        self._replica = 0
        self._closed = Event()
        self._minding: Thread | None = None
        self._held: set[Receipt] = set()
        self._owed: set[Receipt] = set()
        self._doubtful: set[int] = set()

    @property
    def is_lost(self) -> bool:
        """Whether the other servers take this one for dead, though it was there before."""
        return self._minding is not None and self._alive is None

    def open(self) -> None:
        """Register this process as alive; raises if the server cannot be reached."""
        self._present()

    def take(self, line: Sequence[str], whose: Sequence[str]) -> tuple[Receipt, bool]:
        """A ticket at the end of a queue, and whether it is the first."""
        replica, number = self._present(), _number(*line)
        sql = f'SELECT got, ahead FROM "{self._database.schema}".take_place(%(line)s, %(whose)s, %(replica)s)'
        try:
            ((ticket, ahead),) = self._database.once(
                sql, {"line": number, "whose": _number(*whose), "replica": replica}
            )
        except StoreError:
            self._doubtful.add(number)  # it may be there all the same, and would hold up everybody
            raise
        place = Receipt(line=number, ticket=int(ticket))
        self._held.add(place)
        return place, not ahead

    def called(self, places: Collection[Receipt]) -> dict[Receipt, bool]:
        """Whether each of these tickets is first in its queue; a ticket that was removed is left out."""
        sql = f"""SELECT line, ticket, NOT EXISTS (SELECT FROM {self._table} AS before
            WHERE before.line = mine.line AND before.ticket < mine.ticket) FROM {self._table} AS mine
            WHERE mine.line = ANY(%(lines)s) AND mine.ticket = ANY(%(tickets)s)"""
        lines, tickets = [place.line for place in places], [place.ticket for place in places]
        rows = self._database.once(sql, {"lines": lines, "tickets": tickets})
        return {Receipt(line=line, ticket=ticket): first for line, ticket, first in rows}

    def bury(self, places: Collection[Receipt] | None = None) -> int:
        """Remove the tickets of dead servers from some queues, or from all; return how many."""
        here = "true" if places is None else "line = ANY(%(lines)s)"
        sql = f"""DELETE FROM {self._table} WHERE {here} AND replica IN (
            SELECT replica FROM (SELECT DISTINCT replica FROM {self._table} WHERE {here}) AS seen
            WHERE pg_try_advisory_xact_lock_shared(%(kind)s, replica))"""
        values = {"kind": self._kind, "lines": [place.line for place in places or ()]}
        ((buried,),) = self._database.once(sql, values)
        return int(buried)

    def leave(self, place: Receipt) -> None:
        """Return a ticket; if the database does not answer, return it as soon as it does."""
        try:
            self._give_back(place)
        except StoreError:
            self._owed.add(place)

    def left(self, place: Receipt) -> None:
        """Note that the transaction that stored the turn returned its ticket."""
        self._held.discard(place)

    def clear(
        self, whose: Sequence[str], line: Sequence[str] | None = None, *, apart: Sequence[str] | None = None
    ) -> None:
        """Remove all tickets of a user but those of the queue `apart`, or of one queue: running turns store nothing."""
        sql = f"""DELETE FROM {self._table} WHERE whose = %(whose)s AND coalesce(line = %(line)s::bigint, true)
            AND coalesce(line <> %(apart)s::bigint, true)"""
        lines = {"line": None if line is None else _number(*line), "apart": None if apart is None else _number(*apart)}
        self._database.once(sql, {"whose": _number(*whose), **lines})

    def close(self) -> None:
        """Close the session; other servers may then remove tickets that are still held."""
        with self._lock:
            self._closed.set()
            self._closed, self._minding = Event(), None
            self._drop()

    def _present(self) -> int:
        """The number of this process among those that live; a lost session begins anew under another one.

        Another one, since tickets that could not be given back meanwhile must not look alive again.
        """
        if self._alive is not None:
            return self._replica
        with self._lock:
            if self._alive is None:
                self._replica = self._begin()
                if self._minding is None:
                    self._minding = Thread(target=self._mind, args=(self._closed,), name="dragoman-life", daemon=True)
                    self._minding.start()
            return self._replica

    def _begin(self) -> int:
        session = self._database.session()
        try:
            with self._database.explained():
                session.execute(_WATCHED)
                number = session.execute(f"SELECT nextval('\"{self._database.schema}\".replicas')::integer").fetchone()
                assert number is not None
                session.execute("SELECT pg_advisory_lock(%s, %s)", (self._kind, number[0]))
        except BaseException:
            session.close()
            raise
        self._held.clear()
        self._alive = session
        self.bury()
        return int(number[0])

    def _mind(self, closed: Event) -> None:
        """Background thread: reopen a lost session, and return tickets that could not be returned."""
        psycopg = require_psycopg()
        while not closed.wait(_PING_SECONDS):
            session = self._alive
            try:
                if session is None:
                    self.open()
                else:
                    session.execute("SELECT 1")
                self._settle()
            except psycopg.Error:
                _log.warning("the database lost sight of this server")
                with self._lock:
                    if not closed.is_set():
                        self._drop()
            except StoreError:
                continue  # it does not answer yet

    def _settle(self) -> None:
        for place in tuple(self._owed):
            self._give_back(place)
            self._owed.discard(place)
        for number in tuple(self._doubtful):
            own_tickets = [place.ticket for place in tuple(self._held) if place.line == number]
            sql = f"""DELETE FROM {self._table}
                WHERE line = %(line)s AND replica = %(replica)s AND ticket <> ALL(%(known)s)"""
            self._doubtful.discard(number)
            try:
                self._database.once(sql, {"line": number, "replica": self._replica, "known": own_tickets})
            except StoreError:
                self._doubtful.add(number)
                raise

    def _give_back(self, place: Receipt) -> None:
        self._held.discard(place)
        sql = f"DELETE FROM {self._table} WHERE line = %(line)s AND ticket = %(ticket)s"
        self._database.once(sql, {"line": place.line, "ticket": place.ticket})

    def _drop(self) -> None:
        session, self._alive = self._alive, None
        if session is not None:
            with suppress(require_psycopg().Error):
                session.close()


def _number(*parts: str) -> int:
    """A lock number for names; two queues with the same number would only wait for each other."""
    digest = blake2b(json.dumps(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
