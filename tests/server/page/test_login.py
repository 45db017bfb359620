"""Strangers get a plain form, whatever they send and however often: no page is built, no socket opened for them."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from dragoman.core.errors import AccessError
from dragoman.server.page.login import COOKIE, LoginMiddleware, login_page
from dragoman.server.page.session import Keys

pytestmark = pytest.mark.trust
HOST = {"host": "house.example"}


class Service:
    """Knows one key, until it is revoked."""

    ledger = object()
    valid = frozenset({"dk_right"})

    async def caller(self, key):
        if key not in self.valid:
            raise AccessError("A valid key is needed.", code="unauthorized")
        return SimpleNamespace(whose=key)


class Site:
    """The sign-in before an application that notes who gets through."""

    def __init__(self):
        self.service, self.keys, self.through = Service(), Keys(), []
        self._middleware = LoginMiddleware(self._app, service=self.service, keys=self.keys, path="/page")

    async def _app(self, scope, receive, send):
        self.through.append(scope["path"])
        await send({"type": "http.response.start", "status": 200, "headers": []})

    def ask(self, path, *, method="GET", kind="http", body=b"", **headers):
        messages = []

        async def send(message):
            messages.append(message)

        async def receive():
            return {"type": "http.request", "body": body, "more_body": False}

        raw = [(name.encode(), value.encode()) for name, value in (HOST | headers).items()]
        scope = {"type": kind, "method": method, "path": path, "headers": raw, "scheme": "http"}
        asyncio.run(self._middleware(scope, receive, send))
        return messages

    def enter(self, key, **headers):
        return self.ask("/page/enter", method="POST", body=f"key={key}".encode(), **headers)


@pytest.fixture
def site():
    return Site()


def cookie_of(messages):
    return dict(messages[0]["headers"])[b"set-cookie"].decode().partition(";")[0]


def test_a_stranger_gets_the_form_and_nothing_behind_it(site):
    for _ in range(300):
        start, body = site.ask("/page/", cookie=f"{COOKIE}=guessed")
        assert start["status"] == 200 and b"<form" in body["body"] and b"<script" not in body["body"]
    headers = dict(start["headers"])
    assert b"default-src 'none'" in headers[b"content-security-policy"] and headers[b"x-frame-options"] == b"DENY"
    assert site.ask("/page/_nicegui_ws/socket.io/", kind="websocket") == [{"type": "websocket.close", "code": 1008}]
    for path in ("/page/_nicegui/client/1/upload/2", "/page/_nicegui/static/x.js", "/page/leave", "/page/nowhere"):
        assert site.ask(path)[0]["status"] == 401
    assert site.through == [] and len(site.keys._of) == 0


def test_a_key_lets_a_browser_in_until_it_is_revoked(site):
    refused = site.enter("dk_wrong")
    assert b"set-cookie" not in dict(refused[0]["headers"]) and b"This key is not valid." in refused[1]["body"]
    entered = site.enter("dk_right")
    assert entered[0]["status"] == 303 and b"dk_right" not in dict(entered[0]["headers"])[b"set-cookie"]
    cookie = cookie_of(entered)
    for path in ("/page/", "/page/_nicegui/static/x.js"):
        site.ask(path, cookie=cookie)
    site.ask("/page/_nicegui_ws/socket.io/", kind="websocket", cookie=cookie)
    assert len(site.through) == 3
    site.service.valid = frozenset()
    assert b"<form" in site.ask("/page/", cookie=cookie)[1]["body"] and len(site.through) == 3


def test_signing_in_again_ends_the_token_before(site):
    first = cookie_of(site.enter("dk_right"))
    second = cookie_of(site.enter("dk_right", cookie=first))
    assert first != second
    assert b"<form" in site.ask("/page/", cookie=first)[1]["body"]
    assert site.ask("/page/", cookie=second)[0]["status"] == 200 and site.through == ["/page/"]


def test_another_site_cannot_sign_a_browser_in(site):
    assert site.enter("dk_right", origin="https://evil.example")[0]["status"] == 403
    assert site.enter("dk_right", origin="null", **{"sec-fetch-site": "cross-site"})[0]["status"] == 403
    assert site.enter("dk_right", origin="null", **{"sec-fetch-site": "same-origin"})[0]["status"] == 303
    assert site.enter("dk_right", origin="https://house.example")[0]["status"] == 303


@pytest.mark.parametrize("body", [b"", b"key=" + b"x" * 100_000, b"\xff\xfe=%zz", b"key=a&key=b"])
def test_any_form_is_answered(site, body):
    assert b"This key is not valid." in site.ask("/page/enter", method="POST", body=body)[1]["body"]


def test_what_is_not_of_the_page_goes_by(site):
    for path in ("/v1/turns", "/healthz", "/pages", "/"):
        site.ask(path)
    assert site.through == ["/v1/turns", "/healthz", "/pages", "/"]


def test_the_form_speaks_the_browsers_language_and_escapes_what_went_wrong():
    assert "请用密钥登录" in login_page("zh", action="/page/enter").decode()
    assert b"<b>" not in login_page("en", action="/page/enter", wrong="<b>no</b>")
