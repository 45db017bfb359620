"""/v1/turns: a turn as it happens."""

from __future__ import annotations


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
