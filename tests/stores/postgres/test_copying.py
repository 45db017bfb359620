"""From SQLite to a server and back, over the same code and with the same digests; and backups of a server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from dragoman.core.errors import InputError
from dragoman.core.values import Passage
from dragoman.stores import SqliteStore
from dragoman.stores.in_memory import words
from dragoman.stores.locate import opened
from dragoman.stores.transfer.backup import back_up, restore, restore_file, verify_backup
from dragoman.stores.transfer.checking import problems
from dragoman.stores.transfer.copying import copy_store, unfinished
from dragoman.stores.transfer.portable import summary
from dragoman.testing.stores import ALL, ANA, BEN

from ..transfer.test_copying import SHARED, fill, same

pytestmark = pytest.mark.slow


@pytest.fixture
def source(tmp_path):
    store = SqliteStore(path=tmp_path / "source.db", analyse=words)
    fill(store)
    yield store
    store.close()


def test_there_and_back_again(source, make_store, tmp_path):
    server, back = make_store(index_above=1), SqliteStore(path=tmp_path / "back.db", analyse=words)
    there = copy_store(source, server, identity=source.identity())
    server.settle()
    home = copy_store(server, back, identity=server.identity())
    assert there.summary == home.summary == summary(source) == summary(server) == summary(back)
    assert same(source, server) and same(source, back)
    assert not list(problems(server)) and not list(problems(back))
    back.close()


def test_a_server_with_rows_is_let_alone(source, make_store):
    server = make_store()
    server.put(BEN, ALL)
    before = summary(server)
    with pytest.raises(InputError, match="is not empty"):
        copy_store(source, server, identity="s")
    assert summary(server) == before


CHILD = """
import sys
from dragoman.stores.transfer import copying
from dragoman.stores.locate import opened
copying._BATCH = 7
with opened(sys.argv[1], present=True) as left, opened(sys.argv[2]) as right:
    receive = right.receive
    def told(*arguments):
        receive(*arguments)
        print("batch", flush=True)
    right.receive = told
    copying.copy_store(left, right, identity=left.identity())
"""


@pytest.mark.trust
def test_a_killed_copy_goes_on_and_nothing_is_there_twice(source, make_store, schema, tmp_path):
    source.put(SHARED, [Passage(f"p{i}", "MORE", f"row {i}") for i in range(300)])
    server = make_store()
    server.open()
    killed = 0
    for _ in range(4):
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(tmp_path / "source.db"), schema.url()], stdout=subprocess.PIPE
        )
        for _ in range(6):
            child.stdout.readline()
        os.kill(child.pid, signal.SIGKILL)
        child.stdout.close()
        child.wait()
        killed += unfinished(server) is not None
    assert killed >= 3
    copied = copy_store(source, server, identity=source.identity())
    assert copied.resumed and copied.summary == summary(source)
    assert same(source, server)


@pytest.mark.trust
def test_a_backup_of_a_server_holds_one_moment(make_store, schema, tmp_path):
    server, stop = make_store(), threading.Event()
    fill(server)

    def write():
        i = 0
        while not stop.is_set():
            server.put(ANA, [Passage(f"a{i}", "PAIRS", "one")])
            server.put(BEN, [Passage(f"b{i}", "PAIRS", "two")])
            i += 1

    thread = threading.Thread(target=write)
    thread.start()
    time.sleep(0.3)
    try:
        manifest = back_up(server, tmp_path / "backup")
    finally:
        stop.set()
        thread.join()
    assert verify_backup(tmp_path / "backup") == manifest
    assert restore_file(tmp_path / "backup", tmp_path / "new.db") is None
    restored = SqliteStore(path=tmp_path / "new.db", analyse=words)
    assert restore(tmp_path / "backup", restored) == manifest.content
    # BEN's row is written after ANA's: at any moment there are as many of them, or one less.
    assert restored.count(ANA, "PAIRS") - restored.count(BEN, "PAIRS") in (0, 1)
    assert restored.count(ANA, "PAIRS") < server.count(ANA, "PAIRS")
    restored.close()


def test_a_backup_of_a_file_is_restored_into_a_server(source, make_store, tmp_path):
    manifest = back_up(source, tmp_path / "backup")
    server = make_store()
    assert restore(tmp_path / "backup", server) == manifest.content == summary(source)
    assert same(source, server)


def test_a_place_on_the_command_line_may_be_a_server(source, make_store, schema, monkeypatch):
    make_store()
    monkeypatch.setenv("PLACE", schema.url())
    with opened("env:PLACE") as store:
        copy_store(source, store, identity="s")
        assert summary(store) == summary(source) and "postgresql://" in store.where
