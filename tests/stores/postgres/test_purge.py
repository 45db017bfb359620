"""After forgetting and a purge no file of the server holds a byte of it: every file of its folder is read."""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from dragoman.core.errors import StoreError
from dragoman.core.values import Passage, Query, Scope, Turn
from dragoman.stores import PostgresStore, SqliteStore
from dragoman.stores.in_memory import words
from dragoman.stores.purging import Purged
from dragoman.stores.vectors import pack

from ..conftest import Server

pytestmark = [pytest.mark.slow, pytest.mark.trust]
ANA, BEN, SHARED = Scope("acme", "ana-zq81"), Scope("acme", "ben"), Scope("acme", "")
SECRET = "quillfeather"
NEEDLES = (SECRET.encode(), "渡轮秘密".encode(), ANA.user.encode())


@pytest.fixture
def own_server():
    """A server of this test alone, whose files nobody else writes."""
    started = Server(Path(tempfile.mkdtemp(prefix="dragoman-pg-")))
    yield started
    started.stop()


def holding(folder, needles):
    """The files under a folder that hold a needle; one that the server removed meanwhile holds none."""
    found = []
    for path in folder.rglob("*"):
        try:
            raw = path.read_bytes() if path.is_file() else b""
        except FileNotFoundError:
            continue
        found += [(str(path.relative_to(folder)), needle) for needle in needles if needle in raw]
    return found


def secret(i):
    return Passage(
        f"{SECRET}-{i}", "NOTES", f"The {SECRET} said 渡轮秘密 {i}.", title=SECRET, meta={"said": SECRET}, origin=SECRET
    )


def test_forgotten_then_purged_is_in_no_file_of_the_server(own_server, tmp_path):
    store = PostgresStore(url=own_server.url(), analyse=words, folder=tmp_path, index_above=20)
    vectors = np.random.default_rng(7).normal(size=(100, 32)).astype(np.float32)
    store.put(BEN, [Passage(f"b{i}", "NOTES", f"Nothing to see, row {i}.") for i in range(40)], vectors[:40])
    store.put(SHARED, [Passage(f"s{i}", "DOCS", f"shared {i}") for i in range(30)] + [secret(99)], vectors[60:91])
    store.refresh_index(SHARED, "DOCS")
    store.put(ANA, [secret(i) for i in range(20)], vectors[40:60])
    store.append(ANA, SECRET, [Turn("user", f"I am {SECRET}"), Turn("agent", "hi")], {"trace": [SECRET]})
    store.keep(ANA, SECRET, SECRET)
    own_server.run("ANALYZE")
    own_server.run("SELECT pg_switch_wal()")
    own_server.run("CHECKPOINT")  # the segment is recycled, and keeps what it held
    gone = [part for row in (*vectors[40:60], vectors[90]) for part in [pack(row[None], 1)[0][:64]]]
    before = {path.partition("/")[0] for path, _ in holding(own_server.folder / "data", [*NEEDLES, *gone])}
    assert {"base", "pg_wal"} <= before, "the scan finds what is there"
    store.forget(ANA)
    store.remove(SHARED, [secret(99).id])
    assert holding(own_server.folder / "data", NEEDLES), "PostgreSQL only marks rows as deleted"
    assert store.purge().left == ()
    assert holding(own_server.folder / "data", [*NEEDLES, *gone]) == []
    assert holding(tmp_path, NEEDLES) == []
    assert store.count(BEN, "NOTES") == 40 and store.count(SHARED, "DOCS") == 30
    assert store.nearest([Query(SHARED, "DOCS", 1, vector=tuple(vectors[63].tolist()))])[0][0].passage.id == "s3"
    assert own_server.run("SHOW wal_recycle") == [("on",)]
    store.close()


def base_files(server):
    return {path: path.stat().st_size for path in (server.folder / "data" / "base").rglob("[0-9]*") if path.is_file()}


def test_what_a_server_killed_while_it_purged_left_behind_is_named_and_nothing_is_lost(own_server, tmp_path):
    """PostgreSQL does not remove the half-written copy of a table when it recovers: only somebody with a shell can."""
    store = PostgresStore(url=own_server.url(), analyse=words, folder=tmp_path)
    kept = [Passage(f"b{i}", "NOTES", f"Row {i}. " + "plain words " * 400) for i in range(400)]
    text = "".join(map(chr, np.random.default_rng(3).integers(0x4E00, 0x9000, 3000)))  # it cannot be compressed
    for start in range(0, 6000, 1000):
        store.put(ANA, [Passage(f"a{i}", "NOTES", f"{SECRET} {i} {text}") for i in range(start, start + 1000)])
    store.put(BEN, kept)
    own_server.run("CHECKPOINT")
    before = base_files(own_server)
    purging = threading.Thread(target=lambda: suppressed(store.purge))
    purging.start()
    deadline = time.monotonic() + 60
    while not any(size > 4 << 20 for path, size in base_files(own_server).items() if path not in before):
        assert time.monotonic() < deadline and purging.is_alive(), "no table is being rewritten"
        time.sleep(0.002)
    own_server.kill()
    purging.join(60)
    own_server.restart()
    assert [row.text for row in store.passages(BEN, "NOTES")] == [row.text for row in kept]
    store.forget(ANA)
    left = store.purge().left
    held = {path for path, needle in holding(own_server.folder / "data", NEEDLES)}
    assert held, "the copy holds what was forgotten"
    assert len(left) == 1 and held <= set(left[0].partition(": ")[2].split(", "))
    assert own_server.run("SHOW wal_recycle") == [("on",)]
    for path in left[0].partition(": ")[2].split(", "):
        (own_server.folder / "data" / path).unlink()
    assert store.purge().left == ()
    store.close()


def suppressed(function):
    with contextlib.suppress(StoreError):
        function()


def test_what_an_ordinary_owner_cannot_reach_is_named(own_server, tmp_path):
    own_server.run("CREATE EXTENSION vector")
    own_server.run("CREATE ROLE owner LOGIN")
    own_server.run("GRANT CREATE ON DATABASE postgres TO owner")
    store = PostgresStore(url=own_server.url(user="owner"), analyse=words, folder=tmp_path)
    store.put(ANA, [secret(0)])
    store.forget(ANA)
    own_server.run("CHECKPOINT")
    left = store.purge().left
    assert len(left) == 3 and "pg_statistic" in left[0] and "write-ahead log" in left[1] and "crash" in left[2]
    own_server.run("CHECKPOINT")
    assert not [path for path, _ in holding(own_server.folder / "data", NEEDLES) if path.startswith("base")]
    store.close()


def test_purging_a_file_is_soon_done(tmp_path):
    store = SqliteStore(path=tmp_path / "store.db", analyse=words)
    store.put(ANA, [secret(0)])
    store.forget(ANA)
    assert store.purge() == Purged(0)
    assert holding(tmp_path, NEEDLES) == []
    store.close()


def test_a_graph_is_built_without_keeping_writers_waiting(make_store, schema):
    """A transaction that is open keeps the build waiting, and the build keeps no writer waiting meanwhile."""
    store, writer = make_store(index_above=10), make_store(index_above=10)
    vectors = np.random.default_rng(3).normal(size=(40, 11)).astype(np.float32)
    rows = [Passage(f"p{i}", "NOTES", f"row {i}") for i in range(40)]
    store.put(SHARED, rows[:30], vectors[:30])
    import psycopg

    with psycopg.connect(schema.url()) as holding_on:
        holding_on.execute("SELECT count(*) FROM dragoman.vectors")  # a snapshot that the build has to wait for
        holding_on.execute("DELETE FROM dragoman.kept WHERE false")
        holding_on.execute("LOCK TABLE dragoman.vectors IN ROW EXCLUSIVE MODE")
        building = threading.Thread(target=store.refresh_index, args=(SHARED, "NOTES"))
        building.start()
        waiting = (
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX CONCURRENTLY%' AND state = 'active'"
        )
        deadline = time.monotonic() + 20
        while schema.run(waiting) == [(0,)] and time.monotonic() < deadline:
            time.sleep(0.02)
        assert building.is_alive()
        writer.put(SHARED, rows[30:35], vectors[30:35])
        assert len(writer.nearest([Query(SHARED, "NOTES", 50, vector=(1.0,) * 11)])[0]) == 35, "exactly, meanwhile"
        assert building.is_alive() and writer._search._graphs == {}
    building.join(30)
    assert store._search._graphs == {11: True}
    writer.put(SHARED, rows[35:], vectors[35:])
    assert len(writer.nearest([Query(SHARED, "NOTES", 50, vector=(1.0,) * 11)])[0]) == 40
    assert writer._search._graphs == {11: True}


def test_a_graph_whose_build_was_broken_off_is_made_anew(make_store, schema):
    store = make_store(index_above=10)
    vectors = np.random.default_rng(3).normal(size=(30, 12)).astype(np.float32)
    store.put(SHARED, [Passage(f"p{i}", "NOTES", f"row {i}") for i in range(30)], vectors)
    store.refresh_index(SHARED, "NOTES")
    name = "dragoman.vectors_03_near_12"
    schema.run(f"UPDATE pg_index SET indisvalid = false WHERE indexrelid = '{name}'::regclass")
    again = make_store(index_above=10)
    again.refresh_index(SHARED, "NOTES")
    assert schema.run(f"SELECT indisvalid FROM pg_index WHERE indexrelid = '{name}'::regclass") == [(True,)]
