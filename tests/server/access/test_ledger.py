"""What every ledger must do, in a file and in a database: keys, turns a minute, tokens a day, counted together."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.core.errors import AccessError, LimitError, StoreError
from dragoman.server.access import postgres_ledger as module
from dragoman.server.access.caller import Limits
from dragoman.server.access.keys import create, recognise
from dragoman.server.access.ledger import DAY, Spent, UsageLedger
from dragoman.server.access.postgres_ledger import PostgresLedger, postgres_ledger
from dragoman.server.access.sqlite_ledger import SqliteLedger

pytestmark = pytest.mark.trust
NOON = 1_000 * DAY + DAY // 2


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def opened(request, tmp_path):
    """Opens the same empty ledger again and again, as each server would."""
    made: list[UsageLedger] = []
    if request.param == "postgres":
        database = request.getfixturevalue("database")
        database.run("DELETE FROM dragoman.keys; DELETE FROM dragoman.buckets; DELETE FROM dragoman.spent")

    def again() -> UsageLedger:
        if request.param == "sqlite":
            made.append(SqliteLedger(tmp_path / "l.db"))
        else:
            made.append(PostgresLedger(postgres_ledger(database.url())._database, own_clock=True))
        return made[-1]

    yield again
    for ledger in made:
        ledger.close()


def test_a_key_made_here_is_known_there_and_its_fields_come_back(opened):
    here, there = opened(), opened()
    key, text = create(here, "the shop", tenant="t", user="ana", admin=True, turns_per_minute=5, tokens_per_day=7)
    other, _ = create(there, "another's 雨")
    assert recognise(there, text) == key and list(here.listed()) == list(there.listed()) == [key, other]
    assert here.find("nobody") is None and isinstance(here, UsageLedger)


def test_a_key_revoked_here_ends_there_within_a_second(opened, monkeypatch):
    here, there = opened(), opened()
    key, text = create(here, "the shop")
    recognise(there, text)
    assert here.revoke(key.id, 5.0) and not there.revoke(key.id, 6.0)
    with pytest.raises(AccessError):
        recognise(here, text)
    monkeypatch.setattr(module, "monotonic", lambda: time.monotonic() + 1.0)
    with pytest.raises(AccessError):
        recognise(there, text)
    assert there.find(key.id)[0].revoked == 5.0


def test_turns_a_minute_are_counted_together(opened):
    first, second, limits = opened(), opened(), Limits(turns_per_minute=2)
    first.admit("k", limits, NOON)
    second.admit("k", limits, NOON)
    with pytest.raises(LimitError) as caught:
        first.admit("k", limits, NOON)
    assert caught.value.seconds == pytest.approx(30.0)  # two a minute are one each 30 s
    with pytest.raises(LimitError) as caught:
        second.admit("k", limits, NOON + 10)
    assert caught.value.seconds == pytest.approx(20.0)
    second.admit("k", limits, NOON + 30)
    first.admit("other", limits, NOON)


def test_tokens_a_day_are_counted_together_until_midnight(opened):
    first, second, limits = opened(), opened(), Limits(tokens_per_day=10)
    first.admit("k", limits, NOON)
    first.spend("k", 6, NOON)
    second.admit("k", limits, NOON)
    second.spend("k", 6, NOON)
    with pytest.raises(LimitError) as caught:
        first.admit("k", limits, NOON)
    assert caught.value.code == "too-many-tokens" and caught.value.seconds == DAY / 2
    assert second.spent("k", NOON) == Spent(2, 12) and second.spent("k", NOON + DAY) == Spent()
    second.admit("k", limits, NOON + DAY / 2)


def test_a_turn_that_tokens_refuse_takes_nothing_from_the_minute(opened):
    ledger = opened()
    ledger.spend("k", 10, NOON)
    for _ in range(3):
        with pytest.raises(LimitError, match="tokens a day"):
            ledger.admit("k", Limits(turns_per_minute=1, tokens_per_day=10), NOON)
    ledger.admit("k", Limits(turns_per_minute=1), NOON)


def test_a_clock_set_back_gives_no_turn_away_and_locks_nobody_out(opened):
    ledger, limits = opened(), Limits(turns_per_minute=6)
    for _ in range(6):
        ledger.admit("k", limits, NOON)
    for _ in range(3):
        with pytest.raises(LimitError) as caught:
            ledger.admit("k", limits, NOON - 3600)
        assert caught.value.seconds <= 10.0
    ledger.admit("k", limits, NOON - 3600 + 10)


def test_a_limit_of_nothing_lets_nothing_through(opened):
    with pytest.raises(LimitError):
        opened().admit("k", Limits(turns_per_minute=0), NOON)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 1), st.floats(0, 30)), max_size=30), st.integers(1, 20), st.integers())
def test_both_kinds_of_ledger_admit_the_same_turns(database, tmp_path_factory, moves, limit, number):
    """A file and a database, the latter opened by two servers: whatever comes, the same is let in."""
    file = SqliteLedger(tmp_path_factory.mktemp("bucket") / "l.db")
    servers = [PostgresLedger(postgres_ledger(database.url())._database, own_clock=True) for _ in range(2)]
    now, limits, key = 1_000_000.0, Limits(turns_per_minute=limit), f"k{number}-{time.monotonic_ns()}"
    for who, pause in moves:
        now += pause
        told = []
        for ledger in (file, servers[who]):
            try:
                ledger.admit(key, limits, now)
                told.append(0.0)
            except LimitError as error:
                told.append(error.seconds)
        assert told[0] == pytest.approx(told[1], abs=1e-3)
    for ledger in (file, *servers):
        ledger.close()


def test_many_servers_at_once_let_no_turn_too_many_through(opened):
    servers, admitted = [opened() for _ in range(3)], []

    def ask(ledger):
        for _ in range(20):
            try:
                ledger.admit("k", Limits(turns_per_minute=10), NOON)
                admitted.append(1)
            except LimitError:
                continue
            ledger.spend("k", 3, NOON)

    threads = [threading.Thread(target=ask, args=(ledger,)) for ledger in servers for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(admitted) == 10 and servers[0].spent("k", NOON) == Spent(10, 30)


def test_the_clock_of_the_database_counts_where_servers_differ(database):
    ledger, limits = postgres_ledger(database.url()), Limits(turns_per_minute=2)
    key = f"k{time.monotonic_ns()}"
    for wrong in (0.0, 4e9):
        ledger.admit(key, limits, wrong)
    with pytest.raises(LimitError):
        ledger.admit(key, limits, 8e9)
    ledger.spend(key, 3, 0.0)
    assert ledger.spent(key, 4e9) == Spent(1, 3)
    ledger.close()


def test_keys_that_are_made_up_do_not_fill_the_memory(database, monkeypatch):
    monkeypatch.setattr(module, "_MOST_KNOWN", 5)
    ledger = postgres_ledger(database.url())
    assert not any(ledger.find(f"made-up-{i}") for i in range(20))
    assert len(ledger._known) <= 5
    ledger.close()


def test_a_database_that_does_not_answer_is_an_error_with_a_remedy(tmp_path):
    ledger = postgres_ledger(f"postgresql://ana:hunter2@/d?host={tmp_path}")
    with pytest.raises(StoreError) as raised:
        ledger.find("k")
    assert raised.value.remedy and "hunter2" not in f"{raised.value} {ledger!r}"


def test_looking_up_a_key_waits_for_nobody_who_writes(tmp_path):
    """It is done on the event loop, which must not wait for a disk or for another process."""
    import apsw

    ledger = SqliteLedger(tmp_path / "l.db", busy_seconds=60.0)
    key, text = create(ledger, "ana's")
    other = apsw.Connection(str(tmp_path / "l.db"))
    other.execute("BEGIN IMMEDIATE")
    spending = threading.Thread(target=ledger.spend, args=(key.id, 5, NOON))
    spending.start()
    time.sleep(0.3)  # it waits for the other process, as a worker of a server may
    assert recognise(ledger, text).id == key.id and ledger.spent(key.id, NOON) == Spent()
    waits = spending.is_alive()
    other.execute("ROLLBACK")
    other.close()
    spending.join(30)
    assert waits  # as it still does when the key has been looked up
    assert ledger.spent(key.id, NOON).tokens == 5
    ledger.close()
