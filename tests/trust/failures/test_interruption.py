"""Stopped at any moment, by Ctrl-C or by kill -9, or beside another process: what was acknowledged is there."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import apsw
import pytest

import dragoman
from dragoman.core.errors import StoreError
from dragoman.stores.sqlite import database, migrations
from dragoman.stores.sqlite.migrations import MIGRATIONS, migrate

pytestmark = pytest.mark.trust

COMMAND = [sys.executable, "-m", "dragoman"]
TALKING = """
import sys, dragoman
with dragoman.load(sys.argv[1]) as assistant:
    for i in range(int(sys.argv[2]), 100000):
        assistant.ask(f"I like Pal{i}.", user="ana", dialogue="d")
        print(i, flush=True)
"""


def started(*arguments, program=COMMAND):
    return subprocess.Popen([*program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.fixture
def library(tmp_path):
    """Files whose reading takes a while."""
    place = tmp_path / "library"
    place.mkdir()
    for i in range(150):
        parts = "\n".join(f"## Part {j}\n\nThe boat {i} of class {j} has {i * j} seats.\n" for j in range(10))
        (place / f"boats-{i}.md").write_text(parts)
    return place


def sound(folder):
    assert apsw.Connection(str(folder / ".dragoman" / "dragoman.db")).execute("PRAGMA integrity_check").get == "ok"


@pytest.fixture(autouse=True)
def _python_handles_ctrl_c():
    """Ctrl-C raises KeyboardInterrupt here, whatever handler an earlier test of this process left."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
def test_ctrl_c_while_files_are_read_is_clean_and_the_next_run_does_the_rest(folder, library):
    chance = random.Random(5)
    codes = set()
    for _ in range(8):
        process = started("ingest", str(library), "--agent", str(folder))
        time.sleep(chance.uniform(0.2, 1.2))
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300)
        if process.returncode == -signal.SIGINT and not errors:
            continue  # it came before the interpreter was there to meet it
        codes.add(process.returncode)
        assert process.returncode in (0, 130) and b"Traceback" not in errors, errors.decode()
        assert process.returncode == 0 or b"Stopped." in errors
    assert 130 in codes
    done = started("ingest", str(library), "--agent", str(folder))
    assert done.wait(300) == 0
    done.communicate()
    sound(folder)
    with dragoman.load(folder) as assistant:
        shared = assistant.scope().shared
        origins = [row.origin for row in assistant.store.passages(shared, "DOCUMENTS") if "boats" in row.origin]
        assert len(origins) == 1500 and len(set(origins)) == 150


@pytest.mark.slow
def test_kill_while_somebody_talks_loses_no_answered_turn(folder):
    chance, answered = random.Random(3), set()
    for round_ in range(6):
        process = started(str(folder), str(round_ * 1000), program=[sys.executable, "-c", TALKING])
        first = process.stdout.readline()
        time.sleep(chance.uniform(0, 0.5))
        process.kill()
        lines = [first, *process.stdout.read().splitlines(True)]
        process.communicate()
        answered |= {int(line) for line in lines if line.endswith(b"\n")}
        sound(folder)
        with dragoman.load(folder) as assistant:
            turns = assistant.history(user="ana", dialogue="d")
            said = {int(turn.text.split("Pal")[1].rstrip(".")) for turn in turns if turn.speaker == "user"}
            known = {int(fact.meta["value"].removeprefix("Pal")) for fact in assistant.recall(user="ana")}
        assert len(turns) % 2 == 0, "a turn is kept with its reply, or not at all"
        assert answered <= said and answered <= known
        assert len(said - answered) <= round_ + 1
    assert len(answered) > 6


@pytest.mark.slow
def test_processes_that_write_at_once_all_succeed(folder, library):
    writers = [
        started("ingest", str(library), "--agent", str(folder)),
        *(started("remember", f"I like Puss{i}.", "--agent", str(folder)) for i in range(3)),
        *(started("ask", f"I like Rex{i}.", "--agent", str(folder)) for i in range(3)),
    ]
    for writer in writers:
        _, errors = writer.communicate(timeout=600)
        assert (writer.returncode, errors) == (0, b"")
    sound(folder)
    with dragoman.load(folder) as assistant:
        values = {fact.meta["value"] for fact in assistant.recall()}
        assert values == {f"{name}{i}" for name in ("Puss", "Rex") for i in range(3)}
        assert len(assistant.dialogues()) == 3


@pytest.mark.parametrize("version", range(len(MIGRATIONS)))
def test_ctrl_c_within_a_migration_leaves_the_version_before_it(tmp_path, version, monkeypatch):
    path = str(tmp_path / "store.db")
    connection = apsw.Connection(path)
    migrate(connection, path, MIGRATIONS[:version])
    step = migrations._step

    def interrupted(*arguments):
        step(*arguments)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(migrations, "_step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        migrate(connection, path)
    connection.close()
    monkeypatch.undo()
    again = apsw.Connection(path)
    assert again.pragma("user_version") == version
    migrate(again, path)
    assert again.pragma("user_version") == len(MIGRATIONS)


def test_ctrl_c_within_a_write_leaves_the_rows_before_it(folder, monkeypatch):
    with dragoman.load(folder) as assistant:
        assistant.remember("I live in Bern.")
        tick = database.Scoped.tick

        def interrupted(self):
            tick(self)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(database.Scoped, "tick", interrupted)
            with pytest.raises(KeyboardInterrupt):
                assistant.remember("My dog is called Rufus.")
        assert [fact.text for fact in assistant.recall()] == ["I live in Bern."]
        assistant.remember("My dog is called Rufus.")
        assert len(assistant.recall()) == 2


def test_a_turn_that_fails_half_way_can_be_asked_again(folder, monkeypatch):
    with dragoman.load(folder) as assistant:
        append = assistant.store.append

        def failing(*arguments):
            raise StoreError("The store is gone.", remedy="Bring it back.")

        monkeypatch.setattr(assistant.store, "append", failing)
        with pytest.raises(StoreError):
            assistant.ask("I live in Bern.", dialogue="d")
        monkeypatch.setattr(assistant.store, "append", append)
        assistant.ask("I live in Bern.", dialogue="d")
        assert len(assistant.history(dialogue="d")) == 2
        assert [fact.text for fact in assistant.recall()] == ["I live in Bern."]
