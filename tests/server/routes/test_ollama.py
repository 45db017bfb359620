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
    assert reply["done_reason"] == "length" and len(reply["message"]["content"]) <= 12
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


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"format": {"type": "array"}}, "format"),
        ({"options": {"temperature": 9}}, "options.temperature"),
        ({"options": {"stop": [""] * 9}}, "options.stop"),
    ],
)
def test_what_is_refused_has_the_name_that_the_client_gave_it(client, given, name):
    response = client.post("/api/chat", json={"model": "robin", "messages": ASKED, **given})
    assert response.status_code == 400 and name in response.json()["error"]
    assert "response_format" not in response.json()["error"]


def test_an_unknown_model_is_told_as_ollama_tells_it(client):
    response = client.post("/api/chat", json={"model": "llama9", "messages": ASKED})
    assert response.status_code == 404 and "llama9" in response.json()["error"]


def test_replies_have_the_durations_and_counts_that_clients_show(client):
    body = {"model": "robin", "messages": ASKED, "stream": False}
    reply = client.post("/api/chat", json=body).json()
    names = ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration")
    total, load, before, writing = (reply[name] for name in names)
    assert all(isinstance(reply[name], int) for name in names) and load == 0
    assert before > 0 and writing > 0 and before + writing <= total
    assert reply["prompt_eval_count"] > 0 and reply["eval_count"] > 0
    last = client.post("/api/chat", json={**body, "stream": True}).text.splitlines()[-1]
    assert set(json.loads(last)) == set(reply)


@pytest.mark.parametrize("inside", [False, True])
def test_a_turn_is_controlled_at_the_top_or_in_the_options(client, inside):
    def ask(text, **control):
        given = {"options": {"dragoman": control}} if inside else {"dragoman": control}
        messages = [{"role": "user", "content": text}]
        response = client.post("/api/chat", json={"model": "robin", "messages": messages, "stream": False, **given})
        assert response.status_code == 200, response.text
        return response.json()

    assert ask(ASKED[0]["content"], retrieve="never")["dragoman"]["sources"] == []
    rows = ask(ASKED[0]["content"], sources=["NOTES"])["dragoman"]["sources"]
    assert {row["source"] for row in rows} <= {"NOTES"}
    ask("I live in Bern.", memory="read")
    ask("My dog is called Rex.", keep=False)
    assert client.get("/v1/memory").json()["data"] == []
    assert len(client.get("/v1/dialogues").json()["data"]) == 3
    bad = {"model": "robin", "messages": ASKED, "dragoman": {"memory": "write"}}
    assert client.post("/api/chat", json=bad).status_code == 400


def test_what_has_no_meaning_is_named(client):
    body = {"model": "robin", "messages": ASKED, "stream": False, "think": True, "keep_alive": "5m"}
    reply = client.post("/api/chat", json={**body, "options": {"top_k": 40, "num_ctx": 4096}}).json()
    assert reply["dragoman"]["ignored"] == ["options.num_ctx", "options.top_k", "think"]


def test_a_prompt_is_one_message(client):
    body = {"model": "robin", "prompt": ASKED[0]["content"], "system": "Be brief."}
    whole = client.post("/api/generate", json={**body, "stream": False}).json()
    assert "6 francs" in whole["response"] and "message" not in whole and whole["eval_duration"] > 0
    lines = [json.loads(line) for line in client.post("/api/generate", json=body).text.splitlines()]
    assert "".join(line["response"] for line in lines) == whole["response"] and lines[-1]["done"]
    refused = client.post("/api/generate", json={**body, "suffix": "x"})
    assert refused.status_code == 400 and "suffix" in refused.json()["error"]


@pytest.mark.parametrize(("path", "field"), [("/api/chat", "message"), ("/api/generate", "response")])
def test_a_request_without_words_asks_whether_the_model_is_there(client, path, field):
    loaded = client.post(path, json={"model": "robin:latest"}).json()
    assert loaded["done"] and loaded["done_reason"] == "load" and field in loaded
    assert client.post(path, json={"model": "robin", "keep_alive": 0}).json()["done_reason"] == "unload"
    assert client.post(path, json={"model": "llama9"}).status_code == 404


def test_agents_have_digests_and_are_loaded(client):
    (listed,) = client.get("/api/tags").json()["models"]
    (running,) = client.get("/api/ps").json()["models"]
    assert len(listed["digest"]) == 64 and running["digest"] == listed["digest"]


def test_texts_become_vectors(client):
    reply = client.post("/api/embed", json={"model": "robin:latest", "input": ["a boat", "a museum"]}).json()
    assert len(reply["embeddings"]) == 2 and reply["prompt_eval_count"] > 0
    size = len(reply["embeddings"][0])
    assert sum(number**2 for number in reply["embeddings"][0]) == pytest.approx(1, abs=1e-5)
    refused = client.post("/api/embed", json={"model": "robin", "input": "a boat", "dimensions": size + 1})
    assert refused.status_code == 400 and str(size) in refused.json()["error"]
