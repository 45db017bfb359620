"""Ollama's API: its clients see agents as models."""

from __future__ import annotations

import json

import pytest

ASKED = [{"role": "user", "content": "What does a day ticket cost?"}]


def test_agents_are_listed_and_described(client):
    (listed,) = client.get("/api/tags").json()["models"]
    assert listed["name"] == "robin:latest"
    shown = client.post("/api/show", json={"model": "robin:latest"}).json()
    assert shown["model_info"]["general.name"] == "Robin" and shown["capabilities"] == ["completion"]
    assert client.get("/api/version").json()["version"]


def test_a_chat_comes_as_lines_unless_it_is_asked_whole(client):
    response = client.post("/api/chat", json={"model": "robin:latest", "messages": ASKED})
    lines = [json.loads(line) for line in response.text.splitlines()]
    assert response.headers["content-type"] == "application/x-ndjson"
    assert [line["done"] for line in lines] == [False] * (len(lines) - 1) + [True]
    text = "".join(line["message"]["content"] for line in lines)
    assert "6 francs" in text and lines[-1]["done_reason"] == "stop" and lines[-1]["eval_count"] > 0
    whole = client.post("/api/chat", json={"model": "robin", "messages": ASKED, "stream": False}).json()
    assert whole["message"]["content"] == text and whole["dragoman"]["gate"]["retrieve"] is True


def test_options_limit_the_reply(client):
    options = {"num_predict": 3, "temperature": 0.2}
    body = {"model": "robin", "messages": ASKED, "stream": False, "options": options}
    reply = client.post("/api/chat", json=body).json()
    assert reply["done_reason"] == "length" and len(reply["message"]["content"]) < 12
    schema = {"type": "object", "properties": {"price": {"type": "number"}}, "required": ["price"]}
    filled = client.post("/api/chat", json={**body, "options": None, "format": schema}).json()
    assert json.loads(filled["message"]["content"]) == {"price": 6}


@pytest.mark.parametrize(
    "given",
    [
        {"tools": [{"type": "function", "function": {"name": "x"}}]},
        {"format": "json"},
        {"messages": [{**ASKED[0], "images": ["aGVsbG8="]}]},
        {"messages": [*ASKED, {"role": "tool", "content": "x"}, *ASKED]},
    ],
)
def test_what_an_agent_does_not_do_is_refused_in_words(client, given):
    response = client.post("/api/chat", json={"model": "robin", "messages": ASKED, **given})
    assert response.status_code == 400 and "cannot be honoured" in response.json()["error"]


def test_an_unknown_model_is_told_as_ollama_tells_it(client):
    response = client.post("/api/chat", json={"model": "llama9", "messages": ASKED})
    assert response.status_code == 404 and "llama9" in response.json()["error"]
