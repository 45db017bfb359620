"""Turns added by many threads at once: none lost, none doubled, and one wait for the disk for those that wait."""

from __future__ import annotations

import threading
import time

import pytest

from dragoman.core.errors import StoreError
from dragoman.core.values import Scope, Turn
from dragoman.stores.in_memory import words
from dragoman.stores.sqlite.store import SqliteStore

pytestmark = pytest.mark.trust

ANA, BEN = Scope("t", "ana"), Scope("t", "ben")
SAID = [Turn("user", "Hello"), Turn("agent", "Hi")]


@pytest.fixture
def store(tmp_path):
    made = SqliteStore(path=tmp_path / "s.db", analyse=words)
    made.open()
    yield made
    made.close()


def start(calls):
    threads = [threading.Thread(target=call, daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    return threads


def gathered(store, calls):
    """Run calls that all wait while somebody holds the pen; the number of transactions they needed."""
    commits, real = [], store._appending._commit

    def counted(entries):
        commits.append(len(entries))
        real(entries)

    store._appending._commit = counted
    with store._appending._writing:
        threads = start(calls)
        deadline = time.monotonic() + 5
        while len(store._appending._waiting) < len(threads) and time.monotonic() < deadline:
            time.sleep(0.002)
    for thread in threads:
        thread.join(60)
    return commits


def test_those_who_wait_share_a_transaction_each_in_their_own_scope(store):
    calls = [lambda i=i: store.append((ANA, BEN)[i % 2], f"d{i}", SAID, {"i": i}) for i in range(6)]
    assert gathered(store, calls) == [6]
    assert sorted(store.dialogues(ANA)) == ["d0", "d2", "d4"] and sorted(store.dialogues(BEN)) == ["d1", "d3", "d5"]
    assert store.trace(ANA, "d4") == {"i": 4} and store.dialogue(BEN, "d4") == []


def test_one_that_fails_takes_no_other_along(store):
    real, failed = store._appending._commit, []

    def breaks(entries):
        if any(entry.rows[0]["dialogue"] == "bad" for entry in entries):
            raise StoreError("This one cannot be written.")
        real(entries)

    store._appending._commit = breaks

    def bad():
        try:
            store.append(ANA, "bad", SAID)
        except StoreError as error:
            failed.append(error.message)

    gathered(store, [lambda: store.append(ANA, "a", SAID), bad, lambda: store.append(ANA, "b", SAID)])
    assert failed == ["This one cannot be written."]
    assert sorted(store.dialogues(ANA)) == ["a", "b"]


def test_nobody_takes_an_interrupted_writing_for_done(store):
    def interrupted(entries):
        raise KeyboardInterrupt

    told = []

    def call():
        try:
            store.append(ANA, "a", SAID)
        except BaseException as error:  # noqa: BLE001 - the kind is what is looked at
            told.append(type(error))

    store._appending._commit = interrupted
    gathered(store, [call, call, call])
    assert sorted(told, key=str) == sorted([KeyboardInterrupt, StoreError, StoreError], key=str)


def test_many_writers_lose_and_double_nothing(store):
    def writer(name):
        for i in range(25):
            store.append(ANA, name, [Turn("user", str(i)), Turn("agent", str(i))], [i])

    for thread in start([lambda name=f"w{n}": writer(name) for n in range(8)]):
        thread.join(60)
    for n in range(8):
        turns = store.dialogue(ANA, f"w{n}")
        assert [turn.text for turn in turns if turn.speaker == "user"] == [str(i) for i in range(25)]
        assert [trace for trace in store.traces(ANA, f"w{n}") if trace] == [[i] for i in range(25)]
