"""Responses that grow with what a user keeps are read and encoded little by little, and not on the event loop."""

from __future__ import annotations

import gc
import io
import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.values import Turn
from dragoman.server.http import uvicorn_server, views
from dragoman.server.http.views import dumps, json_pieces, text_pieces

pytestmark = pytest.mark.trust

AT_ONCE = 64 * 1024
"""Characters of JSON that may be encoded at once, where no single string is longer."""
TURNS = 4_000
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_pieces_of_json_are_the_whole(value):
    assert b"".join(json_pieces(value)) == dumps(value)


def test_an_iterator_becomes_a_list_and_a_long_list_many_pieces():
    rows = [{"id": number, "headings": ["a", "b"], "text": "boat " * 20} for number in range(3_000)]
    pieces = list(json_pieces({"rows": (row for row in rows), "more": False}))
    assert json.loads(b"".join(pieces)) == {"rows": rows, "more": False}
    assert len(pieces) > 4 and max(map(len, pieces)) < 2 * AT_ONCE


def test_a_text_in_pieces_is_the_whole_and_takes_broken_characters():
    text = "嗯a\ud800é" * 50_000
    pieces = text_pieces(text)
    assert b"".join(pieces) == text.encode("utf-8", "replace") and len(pieces) > 2


@pytest.fixture
def encoded(monkeypatch):
    """The sizes of what is encoded at once, by whether it is on the event loop."""
    sizes = {True: [0], False: [0]}

    class Noted(json.JSONEncoder):
        def encode(self, value):
            text = super().encode(value)
            sizes[threading.current_thread() is loop[0]].append(len(text))
            return text

    loop = [None]
    plain = views._ENCODER
    noted = Noted(ensure_ascii=plain.ensure_ascii, separators=(",", ":"), allow_nan=plain.allow_nan)
    monkeypatch.setattr(views, "_ENCODER", noted)
    return sizes, loop


def test_nothing_that_a_user_keeps_is_encoded_on_the_event_loop_or_as_a_whole(server, client, encoded):
    sizes, loop = encoded
    loop[0] = server.thread
    assistant = server.service.hosted("").assistant
    scope = assistant.scope(client.headers["x-dragoman-user"])
    turns = [Turn("agent" if place % 2 else "user", f"{place} " + "boat " * 10) for place in range(TURNS)]
    assistant.store.append(scope, "long", turns)
    notes = "".join(
        f"# Boat {number}\n\nThe boat {number} leaves at nine. {'It is slow. ' * 40}\n\n" for number in range(400)
    )
    sent = client.post("/v1/sources/NOTES/files", files={"files": ("boats.md", io.BytesIO(notes.encode()))})
    assert sent.json()["added"] > 100
    for number in range(50):
        client.post("/v1/memory", json={"text": f"I like boat{number}."})
    (store,) = (row for row in client.get("/v1/vector_stores").json()["data"] if row["name"] == "NOTES")
    (file,) = client.get(f"/v1/vector_stores/{store['id']}/files").json()["data"]
    paths = (
        *("/v1/memory", "/v1/memory/export", "/v1/dialogues", "/v1/dialogues/long", "/v1/feedback", "/v1/files"),
        *(f"/v1/dialogues/long/export?format={form}" for form in ("json", "markdown", "html")),
        *("/v1/sources/NOTES/files", f"/v1/vector_stores/{store['id']}/files/{file['id']}/content"),
    )
    bodies = {path: client.get(path) for path in paths}
    assert {response.status_code for response in bodies.values()} == {200}
    long = {path for path, response in bodies.items() if len(response.content) > 2 * AT_ONCE}
    assert len(long) >= 6, long
    assert len(bodies["/v1/dialogues/long"].json()["turns"]) == TURNS
    said = {"model": "", "input": ["boat " * 100] * 200}
    assert len(client.post("/v1/embeddings", json={**said, "model": "robin"}).content) > 2 * AT_ONCE
    assert len(client.post("/api/embed", json={**said, "model": "robin"}).content) > 2 * AT_ONCE
    assert max(sizes[True]) < AT_ONCE / 2, "on the event loop"
    assert max(sizes[False]) < AT_ONCE, "at once in a thread"


def test_a_turn_reads_no_more_of_a_long_dialogue_than_it_needs(make_house, monkeypatch):
    assistant = make_house().hosted("").assistant
    turns = [Turn("agent" if place % 2 else "user", f"Turn {place}") for place in range(500)]
    assistant.store.append(assistant.scope("ana"), "long", turns)
    monkeypatch.setattr(type(assistant.store), "dialogue", lambda *_: pytest.fail("the whole dialogue is read"))
    monkeypatch.setattr(type(assistant.store), "traces", lambda *_: pytest.fail("all traces are read"))
    assert assistant.ask("When does the museum open?", user="ana", dialogue="long").text
    stored, count = assistant.store.last_turns(assistant.scope("ana"), "long", 3)
    assert count == 502 and [turn.text for turn in stored][:2] == ["Turn 499", "When does the museum open?"]


def test_full_collections_wait_for_a_moment_with_few_objects(monkeypatch):
    """A collection looks at every object while no thread runs; those of a long response are gone soon."""
    done, few, many = [], range(1_000), range(1_000_000)
    monkeypatch.setattr(gc, "collect", lambda: done.append("collected"))
    monkeypatch.setattr(gc, "get_objects", lambda generation: few)
    assert uvicorn_server.collect_garbage(patient=True) and len(done) == 1
    monkeypatch.setattr(gc, "get_objects", lambda generation: many)
    assert not uvicorn_server.collect_garbage(patient=True) and len(done) == 1
    assert uvicorn_server.collect_garbage(patient=False) and len(done) == 2
