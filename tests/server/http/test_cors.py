"""Front ends on another origin: those that were named, and no others; no cookie is a credential."""

from __future__ import annotations

import pytest

from dragoman.core.errors import ConfigError
from dragoman.server.access.keys import create
from dragoman.server.http.cors import origin_of

pytestmark = pytest.mark.trust

CHAT = "https://chat.example.org"
HEADERS = {"origin": CHAT, "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"}
ASKS = {
    **HEADERS,
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,x-stainless-os",
}


@pytest.fixture
def shared(make_house, serve):
    service = make_house(keys=True)
    started = serve(service, origins=[f"{CHAT}/", "http://localhost:3000"])
    started.key = create(service.ledger, "a", user="ana")[1]
    return started


def allowed(response):
    assert "access-control-allow-credentials" not in response.headers
    return response.headers.get("access-control-allow-origin")


def test_a_named_origin_may_ask_and_read_answers_and_errors(shared):
    asked = shared.client().options("/v1/chat/completions", headers=ASKS)
    assert asked.status_code == 204 and allowed(asked) == CHAT
    assert "POST" in asked.headers["access-control-allow-methods"]
    assert "x-stainless-os" in asked.headers["access-control-allow-headers"]
    client = shared.client(shared.key, **HEADERS)
    body = {"model": "robin", "messages": [{"role": "user", "content": "Hello"}]}
    for stream in (False, True):
        answered = client.post("/v1/chat/completions", json={**body, "stream": stream})
        assert answered.status_code == 200 and allowed(answered) == CHAT
        assert "origin" in answered.headers["vary"].lower()
    for wrong in (client.get("/v1/nothing"), shared.client(**HEADERS).get("/v1/models")):
        assert wrong.status_code in (401, 404) and allowed(wrong) == CHAT
    too_large = client.post("/v1/turns", content=b"x" * (2**20 + 1))
    assert too_large.status_code == 413 and allowed(too_large) == CHAT


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "https://chat.example.org.evil.example", "http://chat.example.org", "null", f"{CHAT}:444"],
)
def test_no_other_origin_is_told_that_it_may(shared, origin):
    asked = shared.client().options("/v1/models", headers={**ASKS, "origin": origin})
    assert asked.status_code == 405 and allowed(asked) is None
    assert allowed(shared.client(shared.key).get("/v1/models", headers={"origin": origin})) is None


def test_by_default_there_is_none(keyed):
    assert allowed(keyed.client().options("/v1/models", headers=ASKS)) is None
    assert allowed(keyed.of("ana").get("/v1/models", headers=HEADERS)) is None


def test_a_cookie_is_no_credential(shared):
    for cookie in (f"dragoman_page={shared.key}", f"authorization=Bearer {shared.key}"):
        answered = shared.client(**HEADERS).get("/v1/models", headers={"cookie": cookie})
        assert (answered.status_code, answered.json()["code"]) == (401, "unauthorized")


def test_without_keys_a_named_origin_is_answered_and_names_that_point_here_are_not(make_house, serve):
    started = serve(make_house(), origins=["http://localhost:3000"])
    mine = {"origin": "http://localhost:3000", "sec-fetch-site": "same-site", "sec-fetch-mode": "cors"}
    assert allowed(started.client().get("/v1/memory", headers=mine)) == "http://localhost:3000"
    assert started.client().get("/v1/memory", headers={**mine, "host": "evil.example"}).status_code == 403
    assert started.client().get("/v1/memory", headers=HEADERS).status_code == 403
    assert started.client().get("/page/", headers=mine).status_code == 403


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Chat.Example.org/", "https://chat.example.org"),
        ("https://chat.example.org:443", "https://chat.example.org"),
        ("http://localhost:3000", "http://localhost:3000"),
        ("http://[::1]:3000", "http://[::1]:3000"),
    ],
)
def test_origins_are_written_as_browsers_write_them(url, origin):
    assert origin_of(url) == origin


@pytest.mark.parametrize(
    "url",
    ["*", "null", "", "chat.example.org", "https://*.example.org", "ftp://a", "https://a/b", "https://a:x", "http://["],
)
def test_what_is_no_origin_is_refused(url):
    with pytest.raises(ConfigError, match="no origin"):
        origin_of(url)
