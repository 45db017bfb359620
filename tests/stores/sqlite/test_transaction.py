"""Whatever ends a transaction, and at whatever step, it is whole or not there."""

from __future__ import annotations

import apsw
import pytest

from dragoman.stores.sqlite.transaction import transaction

pytestmark = pytest.mark.trust


class Interrupted:
    """A connection at which Ctrl-C falls right after a statement was carried out."""

    def __init__(self, connection, after):
        self.connection, self.after = connection, after

    def execute(self, sql):
        self.connection.execute(sql)
        if sql.startswith(self.after):
            raise KeyboardInterrupt

    @property
    def in_transaction(self):
        return self.connection.in_transaction


@pytest.fixture
def connection():
    opened = apsw.Connection(":memory:")
    opened.execute("CREATE TABLE boats (name TEXT)")
    yield opened
    opened.close()


@pytest.mark.parametrize(("after", "rows"), [("BEGIN", 0), ("INSERT", 0), ("COMMIT", 1)])
def test_an_interrupt_after_any_step_stays_an_interrupt_and_leaves_no_transaction(connection, after, rows):
    interrupted = Interrupted(connection, after)
    with pytest.raises(KeyboardInterrupt), transaction(interrupted):
        interrupted.execute("INSERT INTO boats VALUES ('Puffin')")
    assert not connection.in_transaction
    assert connection.execute("SELECT count(*) FROM boats").get == rows


def test_an_error_in_the_block_undoes_it(connection):
    with pytest.raises(ValueError, match="no"), transaction(connection):
        connection.execute("INSERT INTO boats VALUES ('Puffin')")
        raise ValueError("no")
    assert connection.execute("SELECT count(*) FROM boats").get == 0


def test_a_connection_that_was_closed_meanwhile_needs_no_undoing(connection):
    with pytest.raises(KeyboardInterrupt), transaction(connection):
        connection.close()
        raise KeyboardInterrupt
