"""SQLite transactions that are atomic under any interruption."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw


@contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """Hold the write lock while the block runs; commit to disk when it ends, roll back when it raises.

    Ctrl-C may arrive between any two steps: after `BEGIN` and before the block, after `COMMIT`, or outside of this
    generator, which then ends late, when its connection may be closed already.
    """
    import apsw

    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(apsw.ConnectionClosedError):
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        raise
