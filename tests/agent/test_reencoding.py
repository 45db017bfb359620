"""A change of encoder: stored vectors are replaced, never mixed, and an interrupted run is resumed."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest

import dragoman
from dragoman.agent import build, reencoding
from dragoman.core.values import Query, Scope
from dragoman.models.scripted import ScriptedEncoder

SHARED = Scope("local").shared
ANA = Scope("local", "ana")
DOCUMENTS = 40


@pytest.fixture
def folder(tmp_path) -> Path:
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(DOCUMENTS):
        (notes / f"{number}.md").write_text(f"# Room {number}\n\nThe lamp of room {number} is number {number * 7}.\n")
    (tmp_path / "agent.toml").write_text(
        """name = "Rooms"
[models.language]
kind = "model.scripted.v1"
[models.encoder]
kind = "encoder.hashing.v1"
dimensions = 64
[[sources]]
name = "NOTES"
about = "world"
path = "notes"
[[sources]]
name = "USER"
about = "user"
private = true
"""
    )
    return tmp_path


def stored(assistant, scope: Scope, source: str, width: int) -> int:
    """The number of vectors that a search by vectors can reach."""
    vector = [1.0] + [0.0] * (width - 1)
    return len(assistant.store.nearest([Query(scope, source, 1000, vector=vector)])[0])


def test_a_changed_encoder_encodes_documents_and_facts_again(folder):
    with dragoman.load(folder) as assistant:
        assistant.remember("I am a vegetarian.", user="ana")
        assert stored(assistant, SHARED, "NOTES", 64) == DOCUMENTS
    with dragoman.load(folder, overrides=["models.encoder.dimensions=48"]) as changed:
        assert changed.reencoding is not None and not changed.reencoding.is_running
        assert stored(changed, SHARED, "NOTES", 64) == 0
        assert stored(changed, SHARED, "NOTES", 48) == DOCUMENTS
        assert stored(changed, ANA, "USER", 48) == 0  # until Ana's next turn
        assert "lamp" in changed.ask("What about the lamp of room 7?", user="ana").text
        assert stored(changed, ANA, "USER", 48) == 1
        assert changed.reencoding.message == f"The encoder has changed: {DOCUMENTS + 1} passages were encoded again."


def test_the_same_width_is_no_reason_to_keep_vectors(folder, monkeypatch):
    with dragoman.load(folder) as assistant:
        before = assistant.store.nearest([Query(SHARED, "NOTES", 3, vector=_vector(assistant, "lamp of room 3"))])[0]
    monkeypatch.setattr(ScriptedEncoder, "space", property(lambda self: "another"))
    monkeypatch.setattr(ScriptedEncoder, "encode", _turned(ScriptedEncoder.encode))
    with dragoman.load(folder) as changed:
        after = changed.store.nearest([Query(SHARED, "NOTES", 3, vector=_vector(changed, "lamp of room 3"))])[0]
        assert [hit.passage.id for hit in after] == [hit.passage.id for hit in before]
        assert after[0].score == pytest.approx(before[0].score, abs=1e-5)


def test_a_stopped_run_goes_on_where_it_stopped(folder, monkeypatch):
    with dragoman.load(folder):
        pass
    pages = []

    def stops(self, scope, source, page, vectors):
        pages.append(len(page))
        if len(pages) == 2:
            raise OSError("the disk is gone")
        return original(self, scope, source, page, vectors)

    from dragoman.stores.encoder_change import EncoderChange

    original = EncoderChange.write
    monkeypatch.setattr(EncoderChange, "write", stops)
    with dragoman.load(folder, overrides=["models.encoder.dimensions=48"]) as first:
        assert stored(first, SHARED, "NOTES", 48) == pages[0] < DOCUMENTS
        assert "lamp" in first.ask("Which number is the lamp of room 39?").text, "found by its words"
    monkeypatch.setattr(EncoderChange, "write", original)
    with dragoman.load(folder, overrides=["models.encoder.dimensions=48"]) as second:
        assert second.reencoding.total == DOCUMENTS - pages[0]
        assert stored(second, SHARED, "NOTES", 48) == DOCUMENTS


def test_a_process_with_the_old_encoder_neither_mixes_nor_reads_the_new_vectors(folder):
    with dragoman.load(folder) as old, dragoman.load(folder, overrides=["models.encoder.dimensions=48"]) as new:
        assert stored(old, SHARED, "NOTES", 64) == 0
        (folder / "notes" / "late.md").write_text("# Late\n\nThe late lamp is green.\n")
        old.ingest([folder / "notes" / "late.md"], source="NOTES")
        assert stored(new, SHARED, "NOTES", 48) == DOCUMENTS
        assert len(new.store.lexical([Query(SHARED, "NOTES", 5, ("green",))])[0]) == 1, "found by its words"
    with dragoman.load(folder, overrides=["models.encoder.dimensions=48"]) as again:
        assert stored(again, SHARED, "NOTES", 48) == DOCUMENTS + 1


def test_a_long_run_goes_on_in_the_background(folder, monkeypatch, caplog):
    with dragoman.load(folder):
        pass
    gate, seen = threading.Event(), []
    encode = ScriptedEncoder.encode
    monkeypatch.setattr(build, "_PATIENCE", 0.0)
    monkeypatch.setattr(ScriptedEncoder, "encode", lambda self, texts: gate.wait(30.0) and encode(self, texts))
    with dragoman.load(folder, overrides=["models.encoder.dimensions=48"]) as changed:
        assert f"{DOCUMENTS} passages of NOTES are still to be encoded" in caplog.text
        assert stored(changed, SHARED, "NOTES", 48) == stored(changed, SHARED, "NOTES", 64) == 0
        (notice,) = changed.reencoding.notices(["NOTES", "USER"])
        assert notice.startswith(f"Passages of NOTES are being encoded again, {DOCUMENTS} are left")
        gate.set()
        assert changed.reencoding.wait(30.0, lambda done, total, name: seen.append((done, total)))
        assert seen[-1] == (DOCUMENTS, DOCUMENTS) and changed.reencoding.notices(["NOTES"]) == ()
        assert stored(changed, SHARED, "NOTES", 48) == DOCUMENTS


def test_a_reply_meanwhile_says_so_in_its_trace(folder, monkeypatch):
    with dragoman.load(folder) as assistant:
        assistant.agent.notices = lambda names: (f"wait for {names[-1]}",)
        reply = assistant.ask("What about the lamp of room 7?")
    warnings = [warning for note in reply.trace.of("retriever") for warning in note.value.warnings]
    assert "wait for NOTES" in warnings


def test_an_unchanged_encoder_does_nothing(folder):
    with dragoman.load(folder):
        pass
    with dragoman.load(folder) as again:
        assert again.reencoding is not None and again.reencoding.total == 0


def _vector(assistant, text: str) -> list[float]:
    return assistant.encoder.encode([text])[0].tolist()


def _turned(encode):
    """The same vectors in another order of axes: equal cosines among themselves, other ones with the old."""
    return lambda self, texts: np.roll(encode(self, texts), 5, axis=1)


def test_two_processes_encode_no_passage_twice(folder, monkeypatch):
    with dragoman.load(folder):
        pass
    gate, encoded = threading.Event(), []
    encode = ScriptedEncoder.encode

    def counted(self, texts):
        encoded.extend(texts)
        gate.wait(30.0)
        return encode(self, texts)

    monkeypatch.setattr(build, "_PATIENCE", 0.0)
    monkeypatch.setattr(reencoding, "_OTHERS", 0.05)
    monkeypatch.setattr(ScriptedEncoder, "encode", counted)
    changed = ["models.encoder.dimensions=48"]
    with dragoman.load(folder, overrides=changed) as first, dragoman.load(folder, overrides=changed) as second:
        gate.set()
        assert first.reencoding.wait(30.0) and second.reencoding.wait(30.0)
        assert stored(second, SHARED, "NOTES", 48) == DOCUMENTS
        assert second.reencoding.done == second.reencoding.total == DOCUMENTS
    assert len([text for text in encoded if "lamp of room" in text]) == DOCUMENTS


def test_the_claim_of_a_dead_process_ends(folder, monkeypatch):
    with dragoman.load(folder) as assistant:
        dead = assistant.store.use_encoder("another")
        dead.clear(SHARED, "NOTES")
        assert dead.claim(SHARED, "NOTES") == "ours"
        heir = assistant.store.use_encoder("another")
        assert heir.claim(SHARED, "NOTES") == "theirs"
        later = time.time() + 61.0
        monkeypatch.setattr("time.time", lambda: later)
        assert heir.claim(SHARED, "NOTES") == "ours"
        page = next(dead.pages(SHARED, "NOTES", 4))
        assert not dead.write(SHARED, "NOTES", page, np.ones((4, 8), dtype=np.float32)), "it has lost its claim"
        heir.release(SHARED, "NOTES")
        assert dead.claim(SHARED, "NOTES") == "ours"
