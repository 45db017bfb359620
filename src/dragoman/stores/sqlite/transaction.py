"""A transaction of SQLite that is whole or not there, whatever ends it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw


@contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """Hold the right to write while the block runs; when it ends the rows are on the disk, when it raises none is.

    Ctrl-C may fall between any two steps: after `BEGIN` and before the block, after `COMMIT`, or between our frames,
    when this generator ends only with them and its connection may be closed already.
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
