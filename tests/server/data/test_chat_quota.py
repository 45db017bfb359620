"""Dialogues count like uploads: a user may keep so many bytes of them, and can always delete."""

from __future__ import annotations

import time

import pytest

from dragoman.server.access.quota import Quota

from .test_forgetting import told

pytestmark = pytest.mark.trust


def chat(client, pad, number):
    """A turn with a history that the client holds, which is stored with it."""
    messages = [
        {"role": "user", "content": f"{number} {pad}"},
        {"role": "assistant", "content": pad},
        {"role": "user", "content": f"And {number}?"},
    ]
    return client.post("/v1/chat/completions", json={"model": "robin", "messages": messages})


def test_a_user_may_keep_so_many_bytes_of_chats_and_can_still_delete(make_house, serve):
    service = make_house(quota=Quota(user_chat_bytes=300_000))
    started = serve(service)
    client = started.client()
    pad = "x" * 20_000
    statuses = [chat(client, pad, number).status_code for number in range(15)]
    assert statuses[:5] == [200] * 5 and set(statuses) == {200, 409}
    refused = chat(client, pad, 99)
    assert refused.json()["code"] == "quota" and "MB of chats" in refused.json()["detail"]
    store = service.hosted("").assistant.store
    assert store.turn_bytes(service.hosted("").assistant.scope()) <= 320_000
    assert started.client(**{"x-dragoman-user": "ben"}).post("/v1/turns", json={"text": "Hello"}).status_code == 200
    assert "uploaded files" in told(started, "Forget everything about me.")["text"]
    assert told(started, "yes")["memory"]["erased"]["facts"] == 0
    time.sleep(1.1)
    assert chat(client, pad, 100).status_code == 200


def test_the_store_counts_bytes_not_characters(make_house):
    assistant = make_house().hosted("").assistant
    scope = assistant.scope()
    before = assistant.store.turn_bytes(scope)
    from dragoman.core.values import Turn

    assistant.store.append(scope, "d", [Turn("user", "水" * 1000)])
    assert 3000 <= assistant.store.turn_bytes(scope) - before < 4000
