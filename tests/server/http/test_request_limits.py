"""Bad input: a clear answer with a stable code, and the server lives."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import time

import httpx
import pytest
from starlette.responses import Response

from dragoman.server.http import uvicorn_server
from dragoman.server.http.problems import CODES
from dragoman.server.http.request_limits import BodyLimits, RequestLimits

pytestmark = pytest.mark.trust

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
        (b"[" * 19_000, JSON, 400, "bad-request"),
        (b"[" * 100_000, JSON, 413, "too-large"),
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


@pytest.mark.parametrize(("content", "headers"), [(b'{"text": "x"}', {}), (b'"text"', JSON), (b"[1]", JSON)])
def test_a_body_that_is_no_object_is_told_in_plain_words(client, content, headers):
    detail = client.post("/v1/turns", content=content, headers=headers).json()["detail"]
    assert detail == "The body must be a JSON object, under `content-type: application/json`."


def test_what_was_sent_is_not_repeated_in_a_problem(client):
    response = client.post("/v1/turns", json={"text": ["my secret badger"], "my secret badger": 1})
    assert "my secret badger" not in json.dumps(response.json()["errors"][0]["message"])


@pytest.mark.parametrize(("method", "path", "code"), [("GET", "/v1/nothing", 404), ("PATCH", "/v1/turns", 405)])
def test_unknown_paths_and_methods_are_problems_too(client, method, path, code):
    response = client.request(method, path)
    assert response.status_code == response.json()["status"] == code
    assert response.headers["content-type"] == "application/problem+json"


HTML = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.mark.parametrize("path", ["/page/nowhere", "/nowhere", "/page/<script>alert(1)</script>"])
def test_an_address_that_leads_nowhere_is_a_page_to_a_browser(client, path):
    shown = client.get(path, headers=HTML)
    assert shown.status_code == 404 and shown.headers["content-type"].startswith("text/html")
    assert "There is no page at this address" in shown.text and 'href="/"' in shown.text
    assert "nowhere" not in shown.text and "script" not in shown.text
    assert "default-src 'none'" in shown.headers["content-security-policy"]
    assert "此地址没有页面" in client.get(path, headers={**HTML, "accept-language": "zh-CN,zh"}).text
    assert client.get(path).json()["code"] == client.post(path, headers=HTML).json()["code"] == "not-found"


@pytest.mark.parametrize("path", ["/v1/nothing", "/v1/models/nobody", "/v1/dialogues/none"])
def test_the_api_answers_with_problems_whoever_asks(client, path):
    assert client.get(path, headers=HTML).headers["content-type"] == "application/problem+json"


def test_a_body_that_grows_beyond_its_measure_is_cut_off(make_house, serve):
    started = serve(make_house(), measure=BodyLimits(body_bytes=2**20))

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
    monkeypatch.setattr(uvicorn_server, "_HEADER_SECONDS", 0.2)
    with socket.socket(socket.AF_UNIX) as slow:
        slow.settimeout(5)
        slow.connect(server.path)
        slow.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-slow: ")
        assert slow.recv(100) == b""


def test_a_client_that_takes_nothing_of_its_answer_is_left(make_house, serve, monkeypatch):
    monkeypatch.setattr(uvicorn_server, "_STALLED_SECONDS", 0.1)
    started = serve(make_house())
    size = 16 * 2**20
    started.app.add_api_route("/large", lambda: Response(b"x" * size))
    assert len(started.client().get("/large").content) == size
    with socket.socket(socket.AF_UNIX) as idle:
        idle.settimeout(5)
        idle.connect(started.path)
        idle.sendall(b"GET /large HTTP/1.1\r\nhost: localhost\r\n\r\n")
        time.sleep(0.6)
        taken = 0
        with contextlib.suppress(ConnectionResetError):
            while piece := idle.recv(2**20):
                taken += len(piece)
    assert taken < size
    assert started.client().get("/healthz").status_code == 200


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


@pytest.mark.parametrize("line", [b"host: [::1", b"host: a[b]c", b"host: localhost\r\norigin: http://["])
def test_a_host_or_origin_that_cannot_be_read_is_foreign(server, line):
    head, body = exchange(server, b"GET /v1/memory HTTP/1.1\r\nconnection: close\r\n" + line + b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 403") and json.loads(body)["code"] == "forbidden"


def test_without_keys_any_address_of_this_machine_is_a_name_for_it(client):
    assert client.get("/v1/memory", headers={"host": "127.0.0.2:8000"}).status_code == 200


@pytest.mark.parametrize(("site", "mode", "status"), [("cross-site", "no-cors", 403), ("same-site", "no-cors", 403)])
def test_without_keys_what_other_pages_embed_is_refused(client, site, mode, status):
    """A picture or a script of another page sends no Origin; browsers say with these headers whose it is."""
    headers = {"sec-fetch-site": site, "sec-fetch-mode": mode}
    assert client.get("/v1/memory", headers=headers).status_code == status


@pytest.mark.parametrize(("site", "mode"), [("cross-site", "navigate"), ("same-origin", "cors"), ("none", "navigate")])
def test_without_keys_a_link_to_the_page_and_the_page_itself_are_answered(client, site, mode):
    headers = {"sec-fetch-site": site, "sec-fetch-mode": mode}
    assert client.get("/healthz", headers=headers).status_code == 200


def test_headers_without_end_are_cut_off(server):
    """uvicorn itself would keep as many megabytes of them as come in the time that headers have."""
    with socket.socket(socket.AF_UNIX) as sender:
        sender.settimeout(5)
        sender.connect(server.path)
        sender.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n")
        answered = b""
        with contextlib.suppress(OSError):
            for _ in range(64):
                sender.sendall(b"x-more: " + b"a" * 65536 + b"\r\n")
            sender.sendall(b"\r\n")
        with contextlib.suppress(OSError):
            answered = sender.recv(4096)
    assert b" 200 " not in answered
    if answered:
        assert answered.startswith(b"HTTP/1.1 413") and b'"too-large"' in answered


def test_long_headers_that_end_and_long_bodies_are_not_taken_for_endless_ones(client):
    assert client.get("/healthz", headers={"x-long": "a" * 30_000}).status_code == 200
    assert client.post("/v1/turns", json={"text": "x", "dialogue": "y" * 500_000}).status_code == 422


def test_what_is_not_http_is_answered_with_a_problem(server):
    head, body = exchange(server, b"\x16\x03\x01 hello\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400") and b"application/problem+json" in head
    assert json.loads(body)["code"] == "bad-request"


@pytest.mark.parametrize("path", ["/v1/turns", "/v1/memory", "/healthz", "/v1/sources/NOTES/search", "/page/x"])
def test_only_uploads_may_be_as_large_as_uploads(server, path):
    form = {"content-type": "multipart/form-data; boundary=X"}
    response = server.client().post(path, content=b"x" * (2**20 + 1), headers=form)
    assert (response.status_code, response.json()["code"]) == (413, "too-large")


def test_who_uploads_is_asked_before_anything_is_read(keyed):
    """The body of a stranger is never waited for: this one does not come at all."""
    head = b"POST /v1/sources/NOTES/files HTTP/1.1\r\nhost: x\r\ncontent-length: 60000000\r\n"
    form = b"content-type: multipart/form-data; boundary=X\r\n\r\n"
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.settimeout(5)
        stranger.connect(keyed.path)
        stranger.sendall(head + form)
        assert stranger.recv(4096).startswith(b"HTTP/1.1 401")


def exchange(server, sent):
    """What a server answers to some bytes: head and body."""
    with socket.socket(socket.AF_UNIX) as plain:
        plain.settimeout(5)
        plain.connect(server.path)
        plain.sendall(sent)
        answered = b""
        while piece := plain.recv(4096):
            answered += piece
    head, _, body = answered.partition(b"\r\n\r\n")
    return head, body


@pytest.mark.parametrize(("parts", "status"), [(201, 422), (302, 400)])
def test_a_form_of_very_many_parts_is_refused_before_they_are_looked_up(client, parts, status):
    files = [("files", (f"{place}.md", b"x")) for place in range(parts)]
    refused = client.post("/v1/sources/NOTES/files", files=files)
    assert refused.status_code == status and refused.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_no_cookie_but_the_pages_own_reaches_what_parses_cookies(kind):
    """Python before 3.11.10 parses one of 60 kB for twenty seconds, on the event loop and for anybody."""
    seen = []

    async def app(scope, receive, send):
        seen.append([value for name, value in scope["headers"] if name == b"cookie"])

    costly = b'a="' + b"\\\\" * 30_000 + b'"'
    headers = [
        (b"cookie", b"dragoman_entry=abc; other=1; " + costly),
        (b"host", b"localhost"),
        (b"cookie", b'dragoman_words="' + b"\\1" * 1_000 + b'"; dragoman_look=dark; dragoman_x=' + b"y" * 9_000),
    ]
    scope = {"type": kind, "method": "GET", "path": "/page/", "headers": headers}
    asyncio.run(RequestLimits(app)(scope, None, None))
    asyncio.run(RequestLimits(app)({**scope, "headers": [(b"host", b"localhost"), (b"cookie", costly)]}, None, None))
    assert seen == [[b"dragoman_entry=abc; dragoman_look=dark"], []]
