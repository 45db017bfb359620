"""A disk that is really full, or really read-only: small file systems in memory, mounted for one test (needs root)."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import psutil
import pytest

import dragoman
from dragoman.core.errors import StoreError, StoreFullError
from dragoman.core.values import Passage, Scope, Turn
from dragoman.stores import PostgresStore
from dragoman.stores.in_memory import words
from dragoman.stores.transfer.checking import problems

from ...stores.conftest import Server

pytestmark = [pytest.mark.slow, pytest.mark.trust]
ANA = Scope("acme", "ana")
MEGABYTE = 1 << 20


class Disk:
    """A mounted file system of so many megabytes."""

    def __init__(self, megabytes):
        self.path = Path(tempfile.mkdtemp(prefix="dragoman-disk-"))
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0755", "tmpfs", str(self.path)],
            check=True,
            capture_output=True,
        )
        self._ballast = self.path / "ballast"

    def fill(self, *, leave):
        """Use up all but so many bytes."""
        free = os.statvfs(self.path).f_bavail * os.statvfs(self.path).f_frsize
        with self._ballast.open("wb") as file:
            for _ in range((free - leave) // 4096):
                file.write(bytes(4096))

    def free(self):
        self._ballast.unlink()

    def read_only(self, on):
        subprocess.run(["mount", "-o", f"remount,{'ro' if on else 'rw'}", str(self.path)], check=True)

    def remove(self):
        subprocess.run(["umount", "-l", str(self.path)], check=True)
        self.path.rmdir()


@pytest.fixture
def disk():
    """Makes disks; skipped where file systems may not be mounted."""
    made = []

    def make(megabytes):
        try:
            made.append(Disk(megabytes))
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"file systems may not be mounted here: {error}")
        return made[-1]

    yield make
    for one in made:
        one.remove()


def test_sqlite_on_a_full_disk_keeps_every_answered_turn_and_goes_on_with_space(folder, disk):
    small = disk(6)
    with dragoman.load(folder, state=small.path / "state") as assistant:
        assistant.remember("My bicycle is called Comet.")
        small.fill(leave=200_000)
        answered = []
        with pytest.raises(StoreFullError) as raised:
            for i in range(1000):
                assistant.ask(f"Do you know the boat number {i}? " * 40, dialogue="d")
                answered.append(i)
        assert raised.value.remedy and answered
        said = [turn.text for turn in assistant.history(dialogue="d") if turn.speaker == "user"]
        assert said == [(f"Do you know the boat number {i}? " * 40).strip() for i in answered], "readable while full"
        with pytest.raises(StoreFullError):
            assistant.remember("x" * 30_000)
        small.free()
        assistant.ask("Is there space again?", dialogue="d")
    with dragoman.load(folder, state=small.path / "state") as assistant:
        assert [fact.text for fact in assistant.recall()] == ["My bicycle is called Comet."]
        assert len(assistant.history(dialogue="d")) == 2 * len(answered) + 2
        assert assistant.store.verify().is_sound


def test_sqlite_on_a_disk_that_became_read_only_says_so_and_loses_nothing(command, refused, folder, disk):
    small = disk(6)
    shutil.move(folder / "agent.toml", small.path / "agent.toml")
    shutil.move(folder / "documents", small.path / "documents")
    here = ("--agent", str(small.path))
    assert command("remember", "My bicycle is called Comet.", *here, agent=False).code == 0
    small.read_only(True)
    for words_ in (("remember", "I like tea."), ("ask", "What does a day ticket cost?")):
        assert "cannot be" in refused(*words_, *here, agent=False)
    small.read_only(False)
    assert command("remember", "I like tea.", *here, agent=False).code == 0
    told = command("recall", *here, agent=False).out
    assert "Comet" in told and "tea" in told


def fill_up(store):
    """Write until the disk is full; what was acknowledged, and the error."""
    acknowledged = []
    with pytest.raises(StoreError) as raised:
        for i in range(20_000):
            text = f"row {i} " * 400
            store.put(ANA, [Passage(f"p{i}", "NOTES", text)])
            store.append(ANA, "d", [Turn("user", text), Turn("agent", str(i))], [i])
            acknowledged.append(i)
    assert raised.value.remedy and acknowledged
    return acknowledged, raised.value


def check(store, acknowledged):
    """Everything acknowledged is there as it was; at most the one write that failed besides."""
    rows = {int(row.id[1:]): row.text for row in store.passages(ANA, "NOTES")}
    assert rows.keys() - {len(acknowledged)} == set(acknowledged)
    assert all(text == f"row {i} " * 400 for i, text in rows.items())
    turns = store.dialogue(ANA, "d")
    numbers = [int(turn.text) for turn in turns[1::2]]
    assert numbers[: len(acknowledged)] == acknowledged and len(numbers) <= len(acknowledged) + 1
    assert [turn.text for turn in turns[::2]] == [f"row {i} " * 400 for i in numbers]
    assert not list(problems(store))


@pytest.fixture
def serving():
    """Starts servers in folders."""
    started = []

    def start(folder):
        started.append(Server(folder))
        return started[-1]

    yield start
    for server in started:
        with contextlib.suppress(AssertionError):
            server.stop()


def test_postgres_whose_tables_find_no_space_says_so_and_goes_on_with_space(serving, disk, tmp_path):
    server, small = serving(Path(tempfile.mkdtemp(prefix="dragoman-pg-"))), disk(24)
    place = small.path / "tables"
    place.mkdir()
    owner = (server.folder / "data").stat()
    os.chown(place, owner.st_uid, owner.st_gid)
    server.run(f"CREATE TABLESPACE small LOCATION '{place}'")
    server.run("CREATE DATABASE small TABLESPACE small")
    store = PostgresStore(url=server.url(database="small"), analyse=words, folder=tmp_path)
    store.open()
    small.fill(leave=MEGABYTE)
    acknowledged, error = fill_up(store)
    assert isinstance(error, StoreFullError)
    check(store, acknowledged)
    small.free()
    store.put(ANA, [Passage("after", "AFTER", "space again")])
    store.remove(ANA, [f"p{len(acknowledged)}"])
    check(store, acknowledged)
    store.close()


def test_postgres_whose_log_finds_no_space_keeps_what_it_acknowledged(serving, disk, tmp_path):
    small = disk(200)
    (small.path / "pg").mkdir()
    server = serving(small.path / "pg")
    store = PostgresStore(url=server.url(), analyse=words, folder=tmp_path, wait_seconds=2)
    store.open()
    small.fill(leave=2 * MEGABYTE)
    acknowledged, _ = fill_up(store)
    store.close()
    small.free()
    if not psutil.pid_exists(server.pid) or psutil.Process(server.pid).status() == psutil.STATUS_ZOMBIE:
        server.restart()  # it gave up, as it must where its log cannot grow
    store = PostgresStore(url=server.url(), analyse=words, folder=tmp_path)
    check(store, acknowledged)
    store.put(ANA, [Passage("after", "AFTER", "space again")])
    store.close()
