"""The network to the database breaks after any number of packets of a turn: the turn is kept whole, or not at all."""

from __future__ import annotations

import contextlib
import select
import shutil
import socket
import tempfile
import threading
from pathlib import Path

import pytest

import dragoman
from dragoman.core.errors import DragomanError

pytestmark = [pytest.mark.slow, pytest.mark.trust]


class Line:
    """A wire to the server's socket: it can be cut at once, or after so many pieces have gone through."""

    def __init__(self, host):
        self._folder = Path(tempfile.mkdtemp(prefix="dragoman-line-"))
        (real,) = Path(host).glob(".s.PGSQL.*[0-9]")
        self._real = str(real)
        self.url = f"postgresql://postgres@/postgres?host={self._folder}&port={real.name.rpartition('.')[2]}"
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self._folder / real.name))
        self._listening.listen()
        self._left = None
        self._open = []
        self._closing = False
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_after(self, pieces):
        self._left = pieces

    def mend(self):
        """Whole again; how many pieces might still have gone through."""
        left, self._left = self._left, None
        return left

    def close(self):
        self._closing = True
        self._listening.close()
        self._cut()
        shutil.rmtree(self._folder)

    def _cut(self):
        for end in self._open:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def _accept(self):
        while not self._closing:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            if self._left == 0:
                client.close()
                continue
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._real)
            self._open += [client, server]
            threading.Thread(target=self._carry, args=(client, server), daemon=True).start()

    def _carry(self, client, server):
        other = {client: server, server: client}
        try:
            while True:
                for end in select.select([client, server], [], [])[0]:
                    piece = end.recv(1 << 16)
                    if not piece:
                        return
                    if self._left is not None:
                        if self._left == 0:
                            return
                        self._left -= 1
                    other[end].sendall(piece)
        except OSError:
            pass
        finally:
            if self._left == 0:
                self._cut()
            client.close()
            server.close()


@pytest.fixture
def line(schema):
    wire = Line(schema.host)
    yield wire
    wire.close()


def test_a_turn_is_kept_whole_or_not_at_all_wherever_the_line_breaks(line, empty, folder, monkeypatch):
    monkeypatch.setenv("TRUST_STORE", line.url)
    where = {"store.kind": "store.postgres.v1", "store.url": "env:TRUST_STORE", "store.wait_seconds": 0.4}
    answered, broken = [], []
    with dragoman.load(folder, overrides=where) as assistant:
        for dialogue in ("e", "d"):
            assistant.ask("I live in Bern.", user="ana", dialogue=dialogue)
        line.cut_after(10_000)
        assistant.ask("What does a day ticket cost?", user="ana", dialogue="e")
        whole = 10_000 - line.mend()
        for pieces in sorted({*range(0, whole + 24, 12), *range(whole - 5, whole)}):
            line.cut_after(pieces)
            text = f"What does a day ticket cost on day {pieces}?"
            try:
                assistant.ask(text, user="ana", dialogue="d")
                answered.append(text)
            except DragomanError as error:
                assert error.remedy
                broken.append(text)
            line.mend()
        turns = assistant.history(user="ana", dialogue="d")
        said = [turn.text for turn in turns[2::2]]
        assert [turn.speaker for turn in turns] == ["user", "agent"] * (len(turns) // 2), "no half of a turn"
        assert set(answered) <= set(said) and len(said) == len(set(said)), "what was answered is kept, once"
        assert set(said) - set(answered) <= set(broken)
        assert len(broken) > 5 and answered, "it broke in the middle of turns, and not in all"
        assert [fact.text for fact in assistant.recall(user="ana")] == ["I live in Bern."]
        assert "6 francs" in assistant.ask("What does a day ticket cost?", user="ana", dialogue="e").text
