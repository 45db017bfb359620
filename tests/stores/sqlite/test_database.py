"""The one place that enforces the scope, and what SQLite's errors become."""

from __future__ import annotations

import os
import sys
import threading

import apsw
import pytest

from dragoman.core.errors import InputError, StoreCorruptError, StoreError, StoreFullError, StoreLockedError
from dragoman.core.values import Passage, Scope, Turn
from dragoman.stores import SqliteStore
from dragoman.stores.in_memory import words
from dragoman.stores.sqlite.database import check_scoped

pytestmark = pytest.mark.trust

ANA = Scope("acme", "ana")
ROW = Passage("a", "NOTES", "The ferry leaves at nine.")


def open_store(path, **options):
    return SqliteStore(path=path, analyse=words, **{"busy_seconds": 0.1, **options})


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT text FROM passages",
        "SELECT text FROM passages WHERE tenant = :tenant",
        "SELECT text FROM passages WHERE user = :user",
        "SELECT text FROM passages WHERE tenant = :tenant OR user = :user",
        "DELETE FROM turns WHERE seq = :seq",
        "UPDATE kept SET value = :value WHERE key = :key",
        "INSERT INTO kept (tenant, user, key, value) VALUES (:other, :user, :key, :value)",
        "SELECT v.seq FROM vectors AS v JOIN passages AS p USING (seq) WHERE v.tenant = :tenant AND v.user = :user",
        "SELECT 1",
    ],
)
def test_a_statement_that_could_cross_scopes_is_refused(sql):
    with pytest.raises(StoreError, match="not held to a scope"):
        check_scoped(sql)


def test_every_statement_of_the_store_goes_through_the_check(tmp_path):
    store = open_store(tmp_path / "store.db")
    store.open()
    with store._database.reading(ANA) as rows, pytest.raises(StoreError, match="not held to a scope"):
        rows.rows("SELECT text FROM passages")
    with pytest.raises(StoreError), store._database.writing(ANA) as rows:
        rows.many("DELETE FROM passages WHERE seq = :seq", [{"seq": 1}])
    store.close()


def test_the_scope_cannot_be_overridden_by_a_binding(tmp_path):
    store = open_store(tmp_path / "store.db")
    store.keep(Scope("acme", "ben"), "key", "bens")
    with store._database.reading(ANA) as rows:
        sql = "SELECT value FROM kept WHERE tenant = :tenant AND user = :user AND key = :key"
        assert rows.rows(sql, key="key", user="ben") == []
    store.close()


def test_nothing_touches_the_disk_before_the_first_use(tmp_path):
    open_store(tmp_path / "deep" / "store.db").close()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_named_with_a_remedy(tmp_path):
    path = tmp_path / "store.db"
    path.write_bytes(b"this is not a database, whatever its name says" * 100)
    with pytest.raises(StoreCorruptError, match=r"store\.db") as caught:
        open_store(path).open()
    assert "move it" in caught.value.remedy and caught.value.fields["path"] == str(path)


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "store.db"
    store = open_store(path)
    store.put(ANA, [Passage(f"a{i}", "NOTES", f"text {i} " * 500) for i in range(100)])
    store.close()
    raw = bytearray(path.read_bytes())
    raw[16384:] = os.urandom(len(raw) - 16384)
    path.write_bytes(raw)
    with pytest.raises(StoreCorruptError):
        list(open_store(path).passages(ANA, "NOTES"))
    assert not open_store(path).verify().is_sound


def test_a_store_held_by_another_process_is_named(tmp_path):
    path = tmp_path / "store.db"
    store = open_store(path)
    store.put(ANA, [ROW])
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreLockedError, match="Another process holds"):
        store.keep(ANA, "key", "value")
    assert list(store.get(ANA, ["a"])) == [ROW], "reading goes on"
    other.execute("ROLLBACK")
    store.keep(ANA, "key", "value")
    other.close()
    store.close()


def test_a_full_disk_is_named_and_nothing_acknowledged_is_lost(tmp_path):
    store = open_store(tmp_path / "store.db")
    store.put(ANA, [ROW])
    writer = store._database.connections()[1]
    writer.pragma("max_page_count", writer.pragma("page_count") + 2)
    with pytest.raises(StoreFullError, match="full"):
        store.put(ANA, [Passage("big", "NOTES", "word " * 100_000)])
    assert [passage.id for passage in store.passages(ANA, "NOTES")] == ["a"]
    writer.pragma("max_page_count", 1_000_000)
    assert store.put(ANA, [Passage("big", "NOTES", "word " * 100_000)]) == 1
    store.close()


def test_a_store_that_cannot_be_written_is_named(tmp_path):
    store = open_store(tmp_path / "store.db")
    store.put(ANA, [ROW])
    store._database.connections()[1].pragma("query_only", True)
    with pytest.raises(StoreError, match="cannot be opened or written"):
        store.keep(ANA, "key", "value")
    store.close()


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be made"):
        open_store(tmp_path / "file" / "store.db").open()


def test_a_folder_in_place_of_the_file_is_named(tmp_path):
    with pytest.raises(StoreError, match="cannot be opened"):
        open_store(tmp_path).open()


@pytest.mark.parametrize(
    "act",
    [
        lambda store: store.get(ANA, ["\ud800"]),
        lambda store: store.keep(ANA, "k", "\ud800"),
        lambda store: store.append(ANA, "d", [Turn("user", "\udfff")]),
        lambda store: store.count(Scope("acme", "\ud800"), "NOTES"),
        lambda store: store.kept(ANA, "\ud800"),
    ],
)
def test_a_lone_surrogate_is_an_input_error_or_finds_nothing(tmp_path, act):
    store = open_store(tmp_path / "store.db")
    try:
        assert act(store) == [None]
    except InputError as error:
        assert "surrogate" in str(error)
    store.put(ANA, [ROW])
    store.close()


def test_threads_share_one_store(tmp_path):
    store = open_store(tmp_path / "store.db", busy_seconds=10)
    failures = []

    def work(n):
        try:
            scope = Scope("acme", f"user{n % 3}")
            for i in range(15):
                store.put(scope, [Passage(f"{n}-{i}", "NOTES", f"text {i}")])
                assert store.get(scope, [f"{n}-{i}"])[0] is not None
        except Exception as error:  # noqa: BLE001 - carried to the main thread
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sum(store.count(Scope("acme", f"user{n}"), "NOTES") for n in range(3)) == 90
    store.close()


def test_an_interrupted_write_leaves_nothing(tmp_path):
    def analyse(text):
        if "interrupt" in text:
            raise KeyboardInterrupt
        return words(text)

    store = SqliteStore(path=tmp_path / "store.db", analyse=analyse)
    with pytest.raises(KeyboardInterrupt):
        store.put(ANA, [ROW, Passage("b", "NOTES", "interrupt")])
    with pytest.raises(KeyboardInterrupt), store._database.writing(ANA) as rows:
        rows.tick()
        raise KeyboardInterrupt
    assert store.count(ANA, "NOTES") == 0
    assert store.put(ANA, [ROW]) == 1
    store.close()


@pytest.mark.parametrize("again", [False, True])
def test_a_write_that_was_broken_off_between_two_frames_ends_quietly_after_the_store(tmp_path, monkeypatch, again):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    store = open_store(tmp_path / "store.db")
    store.keep(ANA, "key", "kept")
    left = store._database.writing(ANA)
    sql = "UPDATE kept SET value = 'lost' WHERE tenant = :tenant AND user = :user AND key = :key"
    assert left.__enter__().run(sql, key="key") == 1
    store.close()
    if again:
        store.open()
    del left  # the frame that Ctrl-C left behind
    assert told == []
    assert store.kept(ANA, "key") == "kept"
    store.keep(ANA, "key", "new")
    assert store.kept(ANA, "key") == "new"
    store.close()
