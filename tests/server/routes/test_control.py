"""Control per turn over HTTP, and private turns of which the server writes nothing."""

from __future__ import annotations

import json
from copy import copy

import pytest

from dragoman.train.thumb_labels import from_thumbs, read_thumbs

from ..conftest import HeldReader

QUESTION = "What does a day ticket cost?"


def turn(server, client, text, **fields):
    response = client.post("/v1/turns", json={"text": text, **fields})
    assert response.status_code == 200, response.text
    name, data = server.events(response.text)[-1]
    assert name == "done", data
    return data


def test_a_turn_searches_as_the_request_says(server, client):
    assert turn(server, client, QUESTION)["sources"]
    done = turn(server, client, QUESTION, retrieve="never")
    assert done["sources"] == [] and done["gate"]["reason"] == "asked not to search"
    assert {row["source"] for row in turn(server, client, QUESTION, sources=["NOTES"])["sources"]} <= {"NOTES"}


def test_memory_is_read_or_left_alone_as_the_request_says(server, client):
    client.post("/v1/memory", json={"text": "I live in Bern."})
    assert "Bern" in turn(server, client, "Where do I live?", memory="read")["text"]
    assert "Bern" not in json.dumps(turn(server, client, "Where do I live?", memory="off"))
    turn(server, client, "My dog is called Rex.", memory="read")
    turn(server, client, "Forget where I live.", memory="off")
    assert [fact["text"] for fact in client.get("/v1/memory").json()["data"]] == ["I live in Bern."]


def test_the_extension_of_chat_completions_controls_the_turn(client):
    body = {"model": "robin", "messages": [{"role": "user", "content": QUESTION}]}
    for control, is_searched in (({"retrieve": "always"}, True), ({"retrieve": "never"}, False)):
        answer = client.post("/v1/chat/completions", json={**body, "dragoman": control}).json()
        assert bool(answer["dragoman"]["sources"]) is is_searched


@pytest.mark.parametrize("fields", [{"retrieve": "maybe"}, {"memory": "write"}, {"keep": "perhaps"}, {"sources": [""]}])
def test_unknown_values_are_refused(client, fields):
    assert client.post("/v1/turns", json={"text": QUESTION, **fields}).status_code == 422
    chat = {"model": "robin", "messages": [{"role": "user", "content": QUESTION}], "dragoman": fields}
    assert client.post("/v1/chat/completions", json=chat).status_code == 400


def test_an_unknown_source_is_refused_with_the_names_of_those_there_are(client):
    response = client.post("/v1/turns", json={"text": QUESTION, "sources": ["CELLAR"]})
    assert response.status_code == 400
    assert "CELLAR" in response.json()["detail"] and "DOCUMENTS" in response.json()["remedy"]


@pytest.mark.trust
def test_private_turns_leave_nothing_in_any_file(server, client):
    header = {"X-Dragoman-Request": "quartz-request"}
    turn(server, client, "I live in Quartzville.", dialogue="quartz-a", keep=False)
    turn(server, client, "Remember that my dog is called Quartzo.", dialogue="quartz-a", keep=False)
    body = {
        "model": "robin",
        "messages": [{"role": "user", "content": "What is quartzite?"}],
        "user": "quartz-user",
        "metadata": {"quartz": "quartz"},
    }
    for private in ({"dragoman": {"keep": False}}, {"store": False}, {"dragoman": {"keep": False}, "stream": True}):
        assert client.post("/v1/chat/completions", json={**body, **private}, headers=header).status_code == 200
    response = {"model": "robin", "input": "What is quartzite?", "store": False}
    assert client.post("/v1/responses", json=response).status_code == 200
    assert client.get("/v1/dialogues").json()["data"] == [] and client.get("/v1/memory").json()["data"] == []
    files = [path for path in server.root.rglob("*") if path.is_file()]
    assert files and not [path for path in files if b"quartz" in path.read_bytes().lower()]
    assert client.post("/v1/feedback", json={"dialogue": "quartz-a", "needed": True}).status_code == 404


def test_private_turns_of_a_dialogue_know_each_other_until_it_is_deleted(server, client):
    turn(server, client, "I am a student.", dialogue="p", keep=False)
    done = turn(server, client, "What does a day ticket cost me as I said?", dialogue="p", keep=False)
    assert done["turn"] == 3
    assert client.delete("/v1/dialogues/p").json() == {"removed": 4}
    assert turn(server, client, QUESTION, dialogue="p", keep=False)["turn"] == 1


def test_whether_a_search_was_needed_becomes_a_gate_label(server, client, tmp_path):
    turn(server, client, QUESTION, dialogue="d")
    turn(server, client, "Thanks!", dialogue="d")
    assert client.post("/v1/feedback", json={"dialogue": "d", "turn": 1, "needed": True}).status_code == 204
    assert client.post("/v1/feedback", json={"dialogue": "d", "turn": 3, "needed": False}).status_code == 204
    assert client.post("/v1/feedback", json={"dialogue": "d", "turn": 1}).status_code == 400
    file = tmp_path / "thumbs.jsonl"
    file.write_text(client.get("/v1/feedback").text, encoding="utf-8")
    labels = {example.context.last: example.gold.retrieve for example in from_thumbs(read_thumbs(file))}
    assert labels == {QUESTION: True, "Thanks!": False}


def test_only_allowed_language_models_can_be_chosen(make_house, serve):
    service = make_house()
    hosted = service.hosted("robin")
    hosted.models["loud"] = hosted.assistant.with_agent(copy(hosted.assistant.agent), model=None)
    hosted.models["loud"].agent.reader = HeldReader()
    started = serve(service)
    client = started.client()
    assert client.get("/v1/agents").json()["data"][0]["models"] == ["loud"]
    assert turn(started, client, "Hello", model="loud")["text"] == "You said: Hello"
    chat = {"model": "robin", "messages": [{"role": "user", "content": "Hello"}]}
    answer = client.post("/v1/chat/completions", json={**chat, "dragoman": {"model": "loud"}}).json()
    assert answer["choices"][0]["message"]["content"] == "You said: Hello"
    refused = client.post("/v1/turns", json={"text": "Hello", "model": "quiet"})
    assert refused.status_code == 404 and refused.json()["remedy"] == "Available: loud."
    assert not turn(started, client, "Hello")["text"].startswith("You said")
