"""The line of each dialogue over all servers of one store: tickets in a table, and a sign of life for each server.

A turn takes a ticket when it arrives; the turn with the lowest ticket of its line runs, and gives the ticket back in
the transaction that keeps it. A server holds an advisory lock for as long as its session lasts: where it is free, the
server is dead, and whoever waits behind its tickets takes them away. A server that was only taken for dead finds its
ticket gone and keeps nothing, so that no dialogue is ever written to by two turns at once.
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
# The server looks for us too: a machine that lost its power does not close its connections.
_WATCHED = """SELECT set_config('tcp_keepalives_idle', '5', false), set_config('tcp_keepalives_interval', '5', false),
    set_config('tcp_keepalives_count', '3', false)"""


class PostgresDialogueOrder:
    """Tickets of one store; a session of its own says that this process lives. Calls go over a network."""

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
        """Let the others know that this process lives, and say what is wrong where that cannot be."""
        self._present()

    def take(self, line: Sequence[str], whose: Sequence[str]) -> tuple[Receipt, bool]:
        """A ticket at the end of a line, and whether nobody is before it."""
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
        """Which of these tickets are first in their lines; one that is not named was taken away."""
        sql = f"""SELECT line, ticket, NOT EXISTS (SELECT FROM {self._table} AS before
            WHERE before.line = mine.line AND before.ticket < mine.ticket) FROM {self._table} AS mine
            WHERE mine.line = ANY(%(lines)s) AND mine.ticket = ANY(%(tickets)s)"""
        lines, tickets = [place.line for place in places], [place.ticket for place in places]
        found = self._database.once(sql, {"lines": lines, "tickets": tickets})
        return {Receipt(line=line, ticket=ticket): first for line, ticket, first in found}

    def bury(self, places: Collection[Receipt] | None = None) -> int:
        """Take the tickets of dead servers out of the lines of some places, or of all; how many."""
        here = "true" if places is None else "line = ANY(%(lines)s)"
        sql = f"""DELETE FROM {self._table} WHERE {here} AND replica IN (
            SELECT replica FROM (SELECT DISTINCT replica FROM {self._table} WHERE {here}) AS seen
            WHERE pg_try_advisory_xact_lock_shared(%(kind)s, replica))"""
        given = {"kind": self._kind, "lines": [place.line for place in places or ()]}
        ((buried,),) = self._database.once(sql, given)
        return int(buried)

    def leave(self, place: Receipt) -> None:
        """Give a ticket back; where the database does not answer now, as soon as it does."""
        try:
            self._give_back(place)
        except StoreError:
            self._owed.add(place)

    def left(self, place: Receipt) -> None:
        """Note that a ticket went with the turn that was kept."""
        self._held.discard(place)

    def clear(self, whose: Sequence[str], line: Sequence[str] | None = None) -> None:
        """Take all tickets of a user, or of one of their lines, away: turns that run keep nothing."""
        sql = f"DELETE FROM {self._table} WHERE whose = %(whose)s AND coalesce(line = %(line)s::bigint, true)"
        self._database.once(sql, {"whose": _number(*whose), "line": None if line is None else _number(*line)})

    def close(self) -> None:
        """Leave: tickets that are still held are free for others to take away."""
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
                found = session.execute(f"SELECT nextval('\"{self._database.schema}\".replicas')::integer").fetchone()
                assert found is not None
                session.execute("SELECT pg_advisory_lock(%s, %s)", (self._kind, found[0]))
        except BaseException:
            session.close()
            raise
        self._held.clear()
        self._alive = session
        self.bury()
        return int(found[0])

    def _mind(self, closed: Event) -> None:
        """In a thread of its own: notice where the session is lost, begin another, and give back what is owed."""
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
            known = [place.ticket for place in tuple(self._held) if place.line == number]
            sql = f"""DELETE FROM {self._table}
                WHERE line = %(line)s AND replica = %(replica)s AND ticket <> ALL(%(known)s)"""
            self._doubtful.discard(number)
            try:
                self._database.once(sql, {"line": number, "replica": self._replica, "known": known})
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
    """A number for names: two lines that share one would only wait for each other."""
    digest = blake2b(json.dumps(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
