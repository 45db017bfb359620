"""SQLite's write-ahead log, switched on while others do the same."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

_PAUSE = 0.005


def use_wal(connection: apsw.Connection, seconds: float) -> None:
    """Write ahead from here on; wait where another process is at it.

    A new file is switched over under a lock that SQLite does not wait for, as it does for every other: two processes
    that wait for each other there would never end. Once it is switched, this takes no lock.
    """
    import apsw

    deadline = time.monotonic() + seconds
    while True:
        try:
            connection.pragma("journal_mode", "WAL")
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE)
        else:
            return
