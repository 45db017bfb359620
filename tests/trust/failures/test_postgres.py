"""The database server is killed with -9, under writers or within a turn: what it acknowledged is there, as it was."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import dragoman
from dragoman.core.errors import StoreError
from dragoman.core.values import Draft, Passage, Scope, Turn
from dragoman.stores import PostgresStore
from dragoman.stores.in_memory import words
from dragoman.stores.transfer.checking import problems

from ...stores.conftest import Server

pytestmark = [pytest.mark.slow, pytest.mark.trust]
ANA = Scope("acme", "ana")
WRITER = """
import sys
from pathlib import Path
import numpy as np
from dragoman.core.errors import StoreError
from dragoman.core.values import Passage, Scope, Turn
from dragoman.stores import PostgresStore
from dragoman.stores.in_memory import words

store = PostgresStore(url=sys.argv[1], analyse=words, folder=Path(sys.argv[2]), wait_seconds=2)
ana, first = Scope("acme", "ana"), int(sys.argv[3])
try:
    for i in range(first, first + 100000):
        text = f"row {i} says w{i % 13} " * (1 + i % 30)
        store.put(ana, [Passage(f"p{i}", "NOTES", text)], np.full((1, 4), 1 + i, dtype=np.float32))
        print("put", i, flush=True)
        store.append(ana, f"d{i % 3}", [Turn("user", text), Turn("agent", str(i))], {"turn": i})
        print("said", i, flush=True)
        if i % 7 == 3:
            store.remove(ana, [f"p{i - 2}"])
            print("removed", i - 2, flush=True)
except StoreError as error:
    print("lost", 0 if error.remedy else 1, flush=True)
"""


def text_of(i):
    return f"row {i} says w{i % 13} " * (1 + i % 30)


@pytest.fixture
def own_server():
    """A server of this test alone, as strict about the disk as by default."""
    started = Server(Path(tempfile.mkdtemp(prefix="dragoman-pg-")))
    yield started
    started.stop()


def test_nothing_acknowledged_is_lost_however_often_the_server_is_killed(own_server, tmp_path):
    chance, put, removed, said, unheard = random.Random(17), set(), set(), set(), set()
    for round_ in range(4):
        command = [sys.executable, "-c", WRITER, own_server.url(), str(tmp_path / "state"), str(round_ * 1000)]
        with (tmp_path / "errors").open("w") as errors:
            writer = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        heard = [writer.stdout.readline().split() for _ in range(chance.randint(5, 60))]
        own_server.kill()
        heard += [line.split() for line in writer.stdout]  # not `communicate`: it drops what was read ahead
        writer.stdout.close()
        writer.wait(600)
        assert heard.pop() == ["lost", "0"], (heard[-3:], (tmp_path / "errors").read_text())
        for verb, number in heard:
            {"put": put, "said": said, "removed": removed}[verb].add(int(number))
        last = int(heard[-1][1])
        unheard |= {last - 2, last, last + 1, last + 3}  # what was under way may have happened or not
        own_server.restart()
        store = PostgresStore(url=own_server.url(), analyse=words, folder=tmp_path / "state")
        rows = list(store.passages(ANA, "NOTES"))
        present = {int(row.id[1:]) for row in rows}
        assert all(row == Passage(f"p{(i := int(row.id[1:]))}", "NOTES", text_of(i)) for row in rows)
        assert (put - removed) - present <= unheard, "an acknowledged row is lost"
        assert not present & removed, "a removed row is back"
        assert present - put <= unheard
        kept = {}
        for dialogue in store.dialogues(ANA):
            turns = store.dialogue(ANA, dialogue)
            numbers = [int(turn.text) for turn in turns[1::2]]
            assert list(turns) == [
                turn for i in numbers for turn in (Turn("user", text_of(i)), Turn("agent", str(i)))
            ], "a turn is kept whole and as it was"
            assert numbers == sorted(set(numbers)) and all(f"d{i % 3}" == dialogue for i in numbers)
            assert [trace for trace in store.traces(ANA, dialogue) if trace] == [{"turn": i} for i in numbers]
            kept |= dict.fromkeys(numbers, dialogue)
        assert said <= kept.keys() and kept.keys() - said <= unheard
        assert not list(problems(store))
        store.close()
    assert len(said) > 20


def test_a_database_that_is_lost_within_a_turn_keeps_none_of_it_and_comes_back(own_server, folder, monkeypatch):
    monkeypatch.setenv("TRUST_STORE", own_server.url())
    where = {"store.kind": "store.postgres.v1", "store.url": "env:TRUST_STORE", "store.wait_seconds": 2}
    with dragoman.load(folder, overrides=where) as assistant:
        assistant.ask("I live in Bern.", user="ana", dialogue="d")
        before = assistant.history(user="ana", dialogue="d")
        reader = assistant.agent.reader

        class Losing:
            """Answers, and the database is gone before the answer can be kept."""

            def read(self, tasks):
                own_server.kill()
                return [Draft("Six francs.", 1.0, "said") for _ in tasks]

            def stream(self, task):
                (draft,) = self.read([task])
                yield from (draft.text, draft)

        for lost in (
            lambda: assistant.ask("What does a day ticket cost?", user="ana", dialogue="d"),
            lambda: list(assistant.stream("What does a day ticket cost?", user="ana", dialogue="d")),
        ):
            assistant.agent.reader = Losing()
            with pytest.raises(StoreError) as raised:
                lost()
            assert raised.value.remedy
            with pytest.raises(StoreError):
                assistant.recall(user="ana")
            own_server.restart()
            assistant.agent.reader = reader
            assert assistant.history(user="ana", dialogue="d") == before
        assistant.ask("What does a day ticket cost?", user="ana", dialogue="d")
        assert "6 francs" in assistant.ask("What does a day ticket cost?", user="ana", dialogue="another").text
        assert [fact.text for fact in assistant.recall(user="ana")] == ["I live in Bern."]
        assert len(assistant.history(user="ana", dialogue="d")) == len(before) + 2
