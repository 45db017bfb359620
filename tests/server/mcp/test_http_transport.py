"""The door of the MCP tools over HTTP: who calls is known before anything is held open."""

from __future__ import annotations

import pytest

HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_only_calls_are_answered_and_no_stream_is_held_open(keyed, method):
    """There is nothing to be told without having asked, so that an open stream would only hold a connection."""
    response = keyed.of("ana").request(method, "/mcp", headers=HEADERS, timeout=60)
    assert (response.status_code, response.json()["code"]) == (405, "method-not-allowed")
    assert response.headers["allow"] == "POST"


def test_without_a_key_nothing_is_told(keyed):
    response = keyed.client().post("/mcp", json=LIST, headers=HEADERS)
    assert (response.status_code, response.json()["code"]) == (401, "unauthorized")


def test_with_a_key_the_tools_are_listed(keyed):
    response = keyed.of("ana").post("/mcp", json=LIST, headers=HEADERS)
    assert response.status_code == 200 and "recall" in response.text
