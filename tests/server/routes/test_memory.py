"""Standing wishes and imports over HTTP: listed, deleted, previewed, kept; nobody sees those of others."""

from __future__ import annotations

import io
import itertools
import json
import time
import zipfile

import pytest
from tests.effort import assert_linear

from dragoman.server.access.quota import Quota
from dragoman.server.data import user_data


def told(client, text):
    response = client.post("/v1/turns", json={"text": text})
    assert response.status_code == 200, response.text


def test_a_wish_is_listed_and_deleted(client):
    told(client, "Keep it short.")
    (wish,) = client.get("/v1/memory/wishes").json()["data"]
    assert (wish["text"], wish["kind"], wish["said"]) == ("Keep answers short.", "length", "Keep it short.")
    assert client.get("/v1/memory/export").json()["wishes"] == [wish]
    assert client.get("/v1/memory").json()["data"] == []
    assert client.delete(f"/v1/memory/wishes/{wish['id']}").json()["removed"] == 1
    assert client.get("/v1/memory/wishes").json()["data"] == []
    assert client.delete(f"/v1/memory/wishes/{wish['id']}").status_code == 404


def test_an_import_is_shown_before_it_is_kept(client):
    content = json.dumps([{"text": "I live in Bern.", "date": "2023-02-03"}, "Always answer in French."])
    shown = client.post("/v1/memory/import", json={"content": content, "dry_run": True}).json()
    assert [(row["text"], row["fate"]) for row in shown["facts"]] == [("I live in Bern.", "new")]
    assert shown["instructions"] == 1
    assert client.get("/v1/memory").json()["data"] == []
    client.post("/v1/memory/import", json={"content": content})
    (fact,) = client.get("/v1/memory").json()["data"]
    assert (fact["text"], fact["said_at"]) == ("I live in Bern.", "2023-02-03T00:00:00Z")
    again = client.post("/v1/memory/import", json={"content": content}).json()
    assert [row["fate"] for row in again["facts"]] == ["known"]


def test_a_broken_import_is_refused_in_words(client):
    response = client.post("/v1/memory/import", json={"content": '[{"text": "I live'})
    assert response.status_code in (400, 422)
    assert "no JSON" in response.text


def test_a_large_file_is_streamed(client, tmp_path):
    lines = [{"text": f"I like song number {n}.", "date": "2024-03-04"} for n in range(40)]
    filler = [{"text": "x" * 4000} for _ in range(400)]  # 1.6 MB, more than a body of JSON may have
    content = json.dumps([*lines, *filler]).encode()
    assert client.post("/v1/memory/import", json={"content": content.decode()}).status_code == 413
    shown = client.put("/v1/memory/import?dry_run=true", content=content).json()
    assert len([fact for fact in shown["facts"] if fact["fate"] == "new"]) == 40
    assert client.get("/v1/memory").json()["data"] == []

    kept = client.put("/v1/memory/import", content=content, headers={"content-type": "application/json"})
    assert kept.status_code == 200
    assert {row["said_at"][:10] for row in client.get("/v1/memory").json()["data"]} == {"2024-03-04"}


def test_a_zip_is_streamed(client):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("memories.json", json.dumps([{"conversations_memory": "The user lives in Bern."}]))
    assert client.put("/v1/memory/import", content=packed.getvalue()).status_code == 200
    assert client.put("/v1/memory/import", content=b"").status_code in (200, 400)


def test_erasing_everything_gives_a_receipt(client):
    client.post("/v1/memory", json={"text": "I live in Bern."})
    assert client.delete("/v1/memory?everything=true").status_code == 409
    removed = client.delete("/v1/memory?everything=true&confirm=true").json()
    assert removed["removed"] >= 1
    assert [(line["what"], line["count"]) for line in removed["receipt"]] and all(
        len(line["sha256"]) == 64 for line in removed["receipt"]
    )


def test_facts_are_listed_by_time(client):
    content = json.dumps(
        [{"text": "I live in Bern.", "date": "2023-02-03"}, {"text": "I like jazz.", "date": "2025-02-03"}]
    )
    client.post("/v1/memory/import", json={"content": content})

    def texts(**when):
        return [row["text"] for row in client.get("/v1/memory", params=when).json()["data"]]

    assert texts(since="2024-01-01") == ["I like jazz."]
    assert texts(until="2024-01-01") == ["I live in Bern."]
    assert texts(at="2024-01-01") == ["I live in Bern."]
    assert texts(query="music", since="2024-01-01") == ["I like jazz."]
    refused = client.get("/v1/memory", params={"since": "May"})
    assert refused.status_code == 400 and "since is 'May'" in refused.text


def test_a_turn_is_limited_to_a_period(client):
    response = client.post("/v1/turns", json={"text": "When does the ferry leave?", "since": "2999-01-01"})
    (done,) = [json.loads(line[6:]) for line in response.text.splitlines() if '"trace"' in line]
    assert done["plan"]["since"] == "2999-01-01" and done["sources"] == []
    assert client.post("/v1/turns", json={"text": "Hello", "until": "soon"}).status_code == 400


ODD = {
    "half a character": '[{"memory": "I like \\ud800 tea."}]',
    "a number without end": f'[{{"text": "I like tea.", "create_time": {"9" * 5000}}}]',
    "a number beyond floats": f'[{{"text": "I like tea.", "create_time": {"9" * 400}}}]',
    "lists in lists": '{"results":[' * 400 + '{"text":"I like tea."}' + "]}" * 400,
    "a name that is no name": json.dumps(
        [{"id": "a\n\0b", "mapping": {"1": {"message": {"author": {"role": "user"}, "content": {
            "content_type": "text", "parts": ["I like tea. \ud83d"]}}}}}]
    ),
    "rows of anything": json.dumps(
        {"format": "dragoman-memory.v1", "facts": [{"text": "I like tea.", "slot": ["x"], "value": {"a": 1}},
         {"text": "x" * 100_000}, {"text": "I like \ud800.", "slot": "likes", "value": "\0"}, 5]}
    ),
}  # fmt: skip


@pytest.mark.trust
@pytest.mark.parametrize("content", ODD.values(), ids=ODD)
def test_whatever_a_file_spells_is_taken_or_refused_in_words(client, content):
    response = client.post("/v1/memory/import", json={"content": content, "chats": True})
    assert response.status_code in (200, 400), response.text
    for row in client.get("/v1/dialogues").json()["data"]:
        assert client.delete(f"/v1/dialogues/{row['id']}").status_code == 200
    assert all(len(fact["text"]) < 5000 for fact in client.get("/v1/memory").json()["data"])


@pytest.mark.trust
def test_a_file_of_very_many_facts_is_taken_in_time_that_grows_with_its_lines(make_house, serve):
    client = serve(make_house()).client()

    calls = itertools.count()

    def take(count):
        kind = f"z{next(calls)}"
        content = "\n".join(f"- I like {kind}x{i}q." for i in range(count))
        response = client.post("/v1/memory/import", json={"content": content, "dry_run": True})
        assert response.status_code == 200 and len(response.json()["facts"]) == min(count, 2000), response.text

    take(20)
    assert_linear(take, 4000, clock=time.process_time)  # the server runs in threads of this process


@pytest.mark.trust
def test_a_file_that_takes_too_long_is_given_up_in_words(client, monkeypatch):
    monkeypatch.setattr(user_data, "_IMPORT_SECONDS", 0.0)
    response = client.post("/v1/memory/import", json={"content": "- I like tea.\n- I like rum."})
    assert (response.status_code, response.json()["code"]) == (413, "too-large")
    assert client.get("/v1/memory").json()["data"] == []


@pytest.mark.trust
def test_imported_chats_count_like_others(make_house, serve):
    client = serve(make_house(quota=Quota(user_chat_bytes=100_000))).client()

    def import_chat(number):
        content = {"content_type": "text", "parts": ["word " * 6000]}
        chat = [{"id": f"c{number}", "mapping": {"1": {"message": {"author": {"role": "user"}, "content": content}}}}]
        return client.post("/v1/memory/import", json={"content": json.dumps(chat), "chats": True})

    statuses = [import_chat(number).status_code for number in range(6)]
    assert statuses[:2] == [200, 200] and statuses[-1] == 409 and import_chat(9).json()["code"] == "quota"
