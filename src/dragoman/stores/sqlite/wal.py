"""Switch on SQLite's write-ahead log, safely for several processes at once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

_PAUSE = 0.005


def use_wal(connection: apsw.Connection, seconds: float) -> None:
    """Use the write-ahead log; retry while another process switches it on.

    SQLite's busy timeout does not cover the lock for switching a new file, since two processes could wait for each
    other forever. For a file that uses the log already, this takes no lock.
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
