"""Erasing everything takes rows and uploads, by every way to ask for it, whoever else is writing meanwhile."""

from __future__ import annotations

import io
import json
import threading
from types import SimpleNamespace

import pytest

import dragoman
from dragoman.core.errors import StoreErasedError
from dragoman.core.values import Draft
from dragoman.server.access.caller import LOCAL
from dragoman.server.data import uploads
from dragoman.server.data.uploads import Upload
from dragoman.server.service import Service

pytestmark = pytest.mark.trust
SECRET = "Zanzibarra"
NOTE = f"# Trip\n\nThe {SECRET} ferry leaves at noon.\n".encode()


def upload(assistant, place, content=NOTE):
    """Upload a note as a server that keeps its uploads in a folder would."""
    hosted = Service({"robin": (assistant, place)}).hosted("")
    seat = hosted.seat(LOCAL)
    return uploads.put(seat, seat.source("NOTES"), [Upload("trip.md", io.BytesIO(content))])


def holding(*folders):
    """The files that hold the secret in any form."""
    needles = {SECRET.encode(), SECRET.lower().encode()}
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if any(needle in path.read_bytes() for needle in needles)]


@pytest.fixture
def places(folder, tmp_path):
    """The folders of an agent, and a folder of `serve --uploads`."""
    return SimpleNamespace(agent=folder, elsewhere=tmp_path / "elsewhere")


@pytest.mark.parametrize("where", ["state", "elsewhere"])
@pytest.mark.parametrize("way", ["command", "call", "turns", "chat"])
def test_everything_goes_by_every_way_wherever_uploads_lie(places, command, state, way, where):
    place = state if where == "state" else places.elsewhere
    with dragoman.load(places.agent) as assistant:
        upload(assistant, place)
        assistant.ask(f"I live in {SECRET}.")
        assert len(holding(state, place)) >= 2
        assert assistant.erasure().files == 1
        if way == "call":
            assert assistant.forget() >= 2
        elif way == "turns":
            assert "1 uploaded file" in assistant.ask("Forget everything about me.").text
            assistant.ask("Yes, delete everything.")
    if way == "command":
        assert command("forget", "--all", "--yes").code == 0
    elif way == "chat":
        from dragoman.cli.terminal.chat_loop import ChatLoop

        with dragoman.load(places.agent) as assistant:
            ChatLoop(assistant, user="me", dialogue="d", next_line=lambda _: "yes")._forget("")
    assert holding(state, places.elsewhere) == []
    with dragoman.load(places.agent) as assistant:
        assert assistant.recall() == () and assistant.erasure().files == 0


class Waiting:
    """A reader that does something else before it quotes what the user said and what was found."""

    def __init__(self, meanwhile):
        self._meanwhile = meanwhile

    def read(self, tasks):
        self._meanwhile()
        return [Draft(f"{task.context.last} {[piece.passage.text for piece in task.evidence]}", 1.0) for task in tasks]

    def stream(self, task):
        yield self.read([task])[0]


def another(folder, **words):
    """The same agent, as in another process."""

    def forget():
        with dragoman.load(folder) as other:
            other.forget(**words)

    def run():
        thread = threading.Thread(target=forget)  # what a turn's own thread erases is the turn's own
        thread.start()
        thread.join()

    return run


@pytest.mark.parametrize("words", [{}, {"what": f"I live in {SECRET}."}], ids=["everything", "a fact"])
@pytest.mark.parametrize("way", ["ask", "stream"])
def test_a_running_turn_writes_nothing_back_that_another_process_erased(folder, state, words, way):
    with dragoman.load(folder) as assistant:
        assistant.remember(f"I live in {SECRET}.")
        assistant.agent.reader = Waiting(another(folder, **words))
        with pytest.raises(StoreErasedError):
            if way == "ask":
                assistant.ask("Where do I live?")
            else:
                list(assistant.stream("Where do I live?"))
        assert assistant.dialogues() == ()
        assistant.agent.reader = Waiting(lambda: None)
        assistant.ask("Hello there.")
        assert len(assistant.history()) == 2, "the next turn is an ordinary one"
    assert holding(state) == []


def test_a_fact_that_a_running_turn_learns_is_not_kept_after_everything_was_erased(folder, state, monkeypatch):
    with dragoman.load(folder) as assistant:
        encode = assistant.encoder.encode
        erased = []

        def erasing(texts):
            if not erased:
                erased.append(True)
                another(folder)()
            return encode(texts)

        monkeypatch.setattr(assistant.encoder, "encode", erasing)
        with pytest.raises(StoreErasedError):
            assistant.ask(f"I live in {SECRET}.")
        assert erased and assistant.recall() == ()
    assert holding(state) == []


def test_an_upload_under_way_leaves_nothing_after_everything_was_erased(folder, state, monkeypatch):
    with dragoman.load(folder) as assistant:
        switch = assistant.store.switch

        def erasing(*given, **options):
            another(folder)()
            return switch(*given, **options)

        with monkeypatch.context() as patched:
            patched.setattr(assistant.store, "switch", erasing)
            with pytest.raises(StoreErasedError):
                upload(assistant, state)
        assert holding(state) == []
        assert upload(assistant, state).files == 1

        def erased_later(*given, **options):
            removed = switch(*given, **options)
            another(folder)()
            return removed

        with monkeypatch.context() as patched:
            patched.setattr(assistant.store, "switch", erased_later)
            with pytest.raises(StoreErasedError):
                upload(assistant, state, NOTE * 2)
        assert holding(state) == []


def test_another_users_turns_go_on_while_somebody_is_erased(folder):
    with dragoman.load(folder) as assistant:
        assistant.remember("I live in Bern.", user="ben")
        assistant.ask("Hello.", user="ana")
        assistant.agent.reader = Waiting(another(folder, user="ana"))
        assert "Bern" in assistant.ask("I live in Bern.", user="ben").text
        assert len(assistant.history(user="ben")) == 2


def test_where_uploads_lie_is_noted_once_and_privately(folder, state, tmp_path):
    with dragoman.load(folder) as assistant:
        for _ in range(2):
            upload(assistant, tmp_path / "elsewhere")
        note = state / "upload-folders.json"
        assert json.loads(note.read_text()) == [str((tmp_path / "elsewhere").resolve())]
        assert note.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("forget", ["Forget that I have a cat called Zorbolin.", "Forget my cat."])
def test_a_name_goes_with_its_fact_from_every_turn_that_mentions_it(folder, state, forget):
    with dragoman.load(folder) as assistant:
        for text in ("I have a cat called Zorbolin.", "What food does Zorbolin need?", "What does a ticket cost?"):
            assistant.ask(text, dialogue="d")
        assistant.ask(forget, dialogue="d")
        said = [turn.text for turn in assistant.history(dialogue="d")]
        assert not [text for text in said if "zorbolin" in text.lower()] and "What does a ticket cost?" in said
    assert not [path for path in state.rglob("*") if path.is_file() and b"orbolin" in path.read_bytes()]


def test_a_name_that_another_fact_has_stays_in_its_turns(folder):
    with dragoman.load(folder) as assistant:
        for text in ("I have a cat called Zorbolin.", "My sister lives in Zorbolin.", "Where is Zorbolin?"):
            assistant.ask(text, dialogue="d")
        assert len(assistant.recall()) == 2
        assistant.ask("Forget that I have a cat called Zorbolin.", dialogue="d")
        assert [fact.text for fact in assistant.recall()] == ["My sister lives in Zorbolin."]
        assert "Where is Zorbolin?" in [turn.text for turn in assistant.history(dialogue="d")]
