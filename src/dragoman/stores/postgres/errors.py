"""Translate PostgreSQL's errors into store errors with a remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.core.errors import StoreBusyError, StoreCorruptError, StoreError, StoreFullError, StoreLockedError

if TYPE_CHECKING:
    import psycopg

# At connection time libpq gives no code but only words; those of a server that speaks another language fall through.
_REFUSALS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (
        ("password authentication failed", "no password supplied"),
        "The server at {where} refused the password, or the user.",
        "Correct the address (often in an environment variable, see `url`), or use ~/.pgpass.",
    ),
    (
        ("no pg_hba.conf entry",),
        "The server at {where} does not let this user in from here.",
        "Allow it in the server's pg_hba.conf.",
    ),
    (
        ("too many clients", "remaining connection slots", "too many connections"),
        "The server at {where} has no connection left.",
        "Raise its max_connections, lower `store.connections`, or put a pooler in front of it.",
    ),
    (
        ("starting up", "shutting down", "in recovery mode", "not yet accepting"),
        "The server at {where} is starting or stopping.",
        "Try again in a moment.",
    ),
    (
        ('" does not exist',),
        "The server at {where} knows no such database or user.",
        "Make it (`createdb`), or correct the address.",
    ),
)


def refused(error: psycopg.Error, where: str) -> StoreError:
    """Why no connection could be made."""
    text = str(error)
    for signs, message, remedy in _REFUSALS:
        if any(sign in text for sign in signs):
            return StoreError(message.format(where=where), remedy=remedy, where=where)
    return StoreError(
        f"No server answers at {where}.", remedy="Check that it runs, and the address and the network.", where=where
    )


def replica(where: str) -> StoreError:
    """The server takes no writes."""
    return StoreError(
        f"{where} is a read replica, or is set to read-only: nothing can be written there.",
        remedy="Give the address of the primary.",
        where=where,
    )


def lost_place() -> StoreBusyError:
    """A turn's ticket is gone: its user is being forgotten, or this process was taken for dead."""
    return StoreBusyError(
        "This turn lost its place in the line of its dialogue; nothing of it was kept.", remedy="Ask again."
    )


def exhausted(where: str, connections: int, seconds: float) -> StoreBusyError:
    """All connections of the pool are in use."""
    return StoreBusyError(
        f"All {connections} connections to {where} have been in use for {seconds:g} s.",
        remedy="Raise `store.connections`, or do less at the same time.",
        where=where,
    )


def uncertain(where: str) -> StoreError:
    """The answer to a COMMIT never came."""
    return StoreError(
        f"The connection to {where} broke while a write was being committed: it may have been kept or not.",
        remedy="Look whether it is there before repeating it; putting the same passages again does no harm.",
        where=where,
    )


_CODES: tuple[tuple[tuple[str, ...], type[StoreError], str, str], ...] = (
    (
        ("55P03",),
        StoreLockedError,
        "Another process has been writing to this scope at {where} for more than {busy_seconds:g} s.",
        "Try again when it is done.",
    ),
    (("40001", "40P01"), StoreLockedError, "Two writes at {where} were in each other's way.", "Repeat the call."),
    (
        ("57014",),
        StoreError,
        "A statement at {where} was stopped after {statement_seconds:g} s.",
        "Raise `store.statement_seconds`, or look at what the server is busy with.",
    ),
    (
        ("53",),
        StoreFullError,
        "The server at {where} has no disk, memory or connection left; nothing that was acknowledged is lost.",
        "Free some there and repeat the call.",
    ),
    (
        ("42501",),
        StoreError,
        "The user at {where} may not do this: {said}.",
        "Let the owner of the schema open the store once, or grant the rights to this user.",
    ),
    (
        ("XX",),
        StoreCorruptError,
        "The server at {where} reports damage: {said}.",
        "Look at the server's log, and restore from a backup.",
    ),
    (
        ("08", "57P"),
        StoreError,
        "The connection to {where} broke; nothing was written.",
        "Try again when the server is back.",
    ),
)


def explained(error: psycopg.Error, where: str, *, busy_seconds: float, statement_seconds: float) -> StoreError:
    """The store error for a failed statement, without PostgreSQL's DETAIL, which quotes rows."""
    import psycopg

    broken = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    code = error.sqlstate or ("08" if broken else "no code")
    if code == "25006":
        return replica(where)
    words = {
        "where": where,
        "busy_seconds": busy_seconds,
        "statement_seconds": statement_seconds,
        "said": error.diag.message_primary,
    }
    for starts, kind, message, remedy in _CODES:
        if code.startswith(starts):
            return kind(message.format(**words), remedy=remedy, where=where)
    failed = f"The server at {where} failed with {code}: {error.diag.message_primary or type(error).__name__}."
    return StoreError(failed, remedy="Report this as a bug.", where=where)
