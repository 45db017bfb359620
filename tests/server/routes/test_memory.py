"""Standing wishes and imports over HTTP: listed, deleted, previewed, kept; nobody sees those of others."""

from __future__ import annotations

import json


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
