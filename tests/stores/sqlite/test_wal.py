"""A new file is switched to its write-ahead log while others do the same."""

from __future__ import annotations

import apsw
import pytest

from dragoman.stores.sqlite.wal import use_wal

pytestmark = pytest.mark.trust


class Busy:
    """A connection that finds the file locked for the first few times, as SQLite's own waiting does not cover."""

    def __init__(self, times):
        self.times, self.asked = times, 0

    def pragma(self, name, value):
        assert (name, value) == ("journal_mode", "WAL")
        self.asked += 1
        if self.asked <= self.times:
            raise apsw.BusyError("database is locked")


def test_whoever_finds_it_locked_tries_again():
    connection = Busy(3)
    use_wal(connection, 10)
    assert connection.asked == 4


def test_after_the_given_time_it_is_an_error():
    with pytest.raises(apsw.BusyError):
        use_wal(Busy(10**9), 0.02)


def test_a_file_that_another_connection_writes_to_in_the_old_way_is_waited_for(tmp_path):
    path = str(tmp_path / "store.db")
    first, second = apsw.Connection(path), apsw.Connection(path)
    first.execute("BEGIN IMMEDIATE; CREATE TABLE boats (name TEXT)")
    with pytest.raises(apsw.BusyError):
        use_wal(second, 0.02)
    first.execute("COMMIT")
    use_wal(second, 0.02)
    assert second.pragma("journal_mode") == "wal"
    first.close()
    second.close()
