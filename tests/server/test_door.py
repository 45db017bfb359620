"""Bad input: a clear answer with a stable code, and the server lives."""

from __future__ import annotations

import json
import socket

import httpx
import pytest

from dragoman.server import serving
from dragoman.server.door import Measure
from dragoman.server.problems import CODES

JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("content", "headers", "status", "code"),
    [
        (b"{", JSON, 400, "bad-json"),
        (b"", JSON, 422, "invalid"),
        (b"null", JSON, 422, "invalid"),
        (b'"text"', JSON, 422, "invalid"),
        (b'{"text": 7}', JSON, 422, "invalid"),
        (b'{"text": "x", "colour": 1}', JSON, 422, "invalid"),
        (b'{"text": "\xff\xfe"}', JSON, 400, "bad-request"),
        (rb'{"text": "Hello \ud800"}', JSON, 422, "invalid"),
        (b'{"text": "x"}', {"content-type": "text/plain"}, 422, "invalid"),
        (b'{"text": "x"}', {}, 422, "invalid"),
        (b'{"text": ""}', JSON, 422, "invalid"),
        (b'{"text": "\\u0000"}', JSON, 400, "bad-request"),
        (b'{"text": "x", "dialogue": "a\\u0000b"}', JSON, 400, "bad-request"),
        (b'{"text": "x", "dialogue": "feedback:better"}', JSON, 400, "bad-request"),
        (b'{"text": "x", "agent": "nobody"}', JSON, 404, "unknown-model"),
        (b"[" * 100_000, JSON, 400, "bad-request"),
        (b'{"text": "' + b"x" * 90_000 + b'"}', JSON, 400, "bad-request"),
        (b'{"text": "' + b"x" * 2_000_000 + b'"}', JSON, 413, "too-large"),
    ],
)
def test_bad_bodies_get_a_problem(client, content, headers, status, code):
    response = client.post("/v1/turns", content=content, headers=headers)
    assert (response.status_code, response.json().get("code")) == (status, code)
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert problem["status"] == status and problem["title"] == CODES[code][1]
    assert response.headers["x-content-type-options"] == "nosniff"
    assert client.get("/healthz").json() == {"status": "ok"}


def test_what_was_sent_is_not_repeated_in_a_problem(client):
    response = client.post("/v1/turns", json={"text": ["my secret badger"], "my secret badger": 1})
    assert "my secret badger" not in json.dumps(response.json()["errors"][0]["message"])


@pytest.mark.parametrize(("method", "path", "code"), [("GET", "/v1/nothing", 404), ("PATCH", "/v1/turns", 405)])
def test_unknown_paths_and_methods_are_problems_too(client, method, path, code):
    response = client.request(method, path)
    assert response.status_code == response.json()["status"] == code
    assert response.headers["content-type"] == "application/problem+json"


def test_a_body_that_grows_beyond_its_measure_is_cut_off(make_house, serve):
    started = serve(make_house(), measure=Measure(body_bytes=2**20))

    def endless():
        for _ in range(100_000):
            yield b" " * 65536

    try:
        response = started.client().post("/v1/turns", content=endless(), headers=JSON)
    except httpx.TransportError:
        pass  # closed in the middle of sending
    else:
        assert response.json()["code"] == "too-large"
    assert started.client().get("/healthz").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:9999"},
        {"host": "evil.example"},
        {"host": "127.0.0.1.evil.example"},
    ],
)
def test_without_keys_pages_of_other_sites_are_refused(client, headers):
    response = client.get("/v1/memory", headers=headers)
    assert (response.status_code, response.json()["code"]) == (403, "forbidden")


def test_without_keys_the_own_page_is_answered(client):
    assert client.get("/v1/memory", headers={"origin": "http://localhost"}).status_code == 200


def test_a_sender_that_never_ends_its_headers_is_sent_away(server, monkeypatch):
    monkeypatch.setattr(serving, "_HEADER_SECONDS", 0.2)
    with socket.socket(socket.AF_UNIX) as slow:
        slow.settimeout(5)
        slow.connect(server.path)
        slow.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-slow: ")
        assert slow.recv(100) == b""


def test_hundreds_of_idle_connections_leave_room_for_one_more(server):
    idle = []
    try:
        for _ in range(300):
            one = socket.socket(socket.AF_UNIX)
            one.settimeout(5)
            one.connect(server.path)
            idle.append(one)
        assert server.client().get("/healthz").status_code == 200
    finally:
        for one in idle:
            one.close()
