"""/v1/turns: a turn as it happens."""

from __future__ import annotations

import pytest


def test_a_turn_comes_as_events_in_the_order_of_the_loop(client, server):
    response = client.post("/v1/turns", json={"text": "What does a day ticket cost?", "dialogue": "d"})
    assert response.status_code == 200 and response.headers["content-type"].startswith("text/event-stream")
    events = server.events(response.text)
    names = [name for name, _ in events]
    assert names[:2] == ["gate", "plan"] and names[-1] == "done"
    assert "evidence" in names and names.index("evidence") < names.index("text")
    text = "".join(data["text"] for name, data in events if name == "text")
    done = events[-1][1]
    assert "6 francs" in text and done["text"] == text
    assert done["sources"][0]["source"] == "DOCUMENTS" and done["dialogue"] == "d" and done["turn"] == 1
    assert done["trace"][0]["role"] == "gate"


@pytest.mark.trust
@pytest.mark.parametrize("path", ["/v1/turns", "/v1/chat/completions", "/v1/responses", "/api/chat", "/v1/embeddings"])
def test_a_number_of_thousands_of_digits_is_refused_in_words(client, path):
    """Python reads none of more than 4,300."""
    body = f'{{"model": "robin", "text": "Hello", "input": "Hello", "seed": {"9" * 5000}}}'
    response = client.post(path, content=body, headers={"content-type": "application/json"})
    assert response.status_code in (400, 422), response.text
