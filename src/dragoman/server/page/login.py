"""The sign-in form of a server with keys: plain HTML in front of NiceGUI, which strangers do not reach.

A stranger's request builds no page, opens no socket and stores nothing here, however many there are.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from html import escape
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from dragoman.core.errors import DragomanError
from dragoman.server.http.problem_response import PLAIN_STYLE
from dragoman.server.http.problems import ApiProblem, problem_of
from dragoman.server.http.request_limits import App, Receive, Send, is_own, refuse
from dragoman.server.page.session import Keys
from dragoman.server.page.texts import WORDS_COOKIE, Language, language_of, words

if TYPE_CHECKING:
    from dragoman.server.service import Service

COOKIE = "dragoman_entry"
"""Names a signed-in browser; made at sign-in, so that one planted before is useless."""
_MOST_FORM = 4096
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
_PAGE = """<!doctype html><html lang="{tag}"><head><meta charset="utf-8"><title>Dragoman</title>
<link rel="icon" href="data:,"><meta name="viewport" content="width=device-width, initial-scale=1">
{style}<style>
form, label {{ display: flex; flex-direction: column; gap: 14px }} label {{ gap: 4px }} form p {{ margin: 0 }}
input {{ font: inherit; padding: 8px 12px; border: 1px solid var(--soft); border-radius: 9px; background: var(--ground);
color: inherit }} button {{ align-self: flex-start }} .wrong {{ color: var(--danger) }} .wrong:empty {{ display: none }}
</style></head><body><main class="login">
<form method="post" action="{action}"><h1>{title}</h1><p>{about}</p>
<label>{field}<input name="key" type="password" autocomplete="off" autofocus required></label>
<p class="wrong" role="alert">{wrong}</p><button type="submit">{enter}</button></form></main></body></html>"""


class LoginMiddleware:
    """ASGI middleware that lets signed-in browsers through to the page, and shows the sign-in form to others."""

    def __init__(self, app: App, *, service: Service, keys: Keys, path: str) -> None:
        self._app = app
        self._service = service
        self._keys = keys
        self._path = path

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        path = str(scope.get("path", ""))
        if self._service.ledger is None or not (path == self._path or path.startswith(f"{self._path}/")):
            await self._app(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        here = path.rstrip("/") == self._path
        if scope["type"] == "http" and path == f"{self._path}/enter" and scope["method"] == "POST":
            await self._enter(headers, scope, receive, send)
        elif await self._is_signed_in(token_of(headers), checked=here):
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        elif here and scope["method"] in ("GET", "HEAD"):
            await self._show(headers, send)
        else:
            await refuse(ApiProblem("unauthorized", "", f"Sign in at {self._path}/ first."), scope, send)

    async def _is_signed_in(self, token: str, *, checked: bool) -> bool:
        """Whether a browser has a key; with `checked`, whether that key is still valid."""
        key = self._keys.of(token)
        if key is None or not checked:
            return key is not None
        try:
            await self._service.caller(key)
        except DragomanError:
            self._keys.drop(token)
            return False
        return True

    async def _enter(
        self, headers: Mapping[bytes, bytes], scope: MutableMapping[str, Any], receive: Receive, send: Send
    ) -> None:
        """Sign in with the key of a form; the browser gets a new token."""
        if _is_strangers(headers):
            await refuse(ApiProblem("forbidden", "This is another page's request.", "Open the page."), scope, send)
            return
        body = b""
        while len(body) <= _MOST_FORM:
            message = await receive()
            if message["type"] != "http.request":
                return
            body += message.get("body", b"")
            if not message.get("more_body", False):
                break
        key = "".join(parse_qs(body[:_MOST_FORM].decode("utf-8", "replace")).get("key", [])).strip()
        try:
            await self._service.caller(key)
        except DragomanError as error:
            problem = problem_of(error)
            wrong = words(_language(headers))["key.wrong"] if problem.code == "unauthorized" else problem.detail
            await self._show(headers, send, wrong=wrong)
            return
        self._keys.drop(token_of(headers))
        cookie = f"{COOKIE}={self._keys.admit(key)}; Path={self._path}; HttpOnly; SameSite=Lax"
        if scope.get("scheme") == "https" or headers.get(b"x-forwarded-proto") == b"https":
            cookie += "; Secure"
        sent = [(b"location", f"{self._path}/".encode()), (b"set-cookie", cookie.encode()), (b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 303, "headers": sent})
        await send({"type": "http.response.body", "body": b""})

    async def _show(self, headers: Mapping[bytes, bytes], send: Send, *, wrong: str = "") -> None:
        body = login_page(_language(headers), action=f"{self._path}/enter", wrong=wrong)
        sent = [
            (b"content-type", b"text/html; charset=utf-8"),
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
            (b"content-security-policy", _POLICY.encode()),
            (b"x-frame-options", b"DENY"),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": sent})
        await send({"type": "http.response.body", "body": body})


def token_of(headers: Mapping[bytes, bytes]) -> str:
    """The token of a signed-in browser, or an empty text."""
    cookie = _cookies(headers).get(COOKIE)
    return "" if cookie is None else cookie.value


def login_page(language: Language, *, action: str, wrong: str = "") -> bytes:
    """HTML of the sign-in form."""
    labels = {name: escape(words(language)[f"key.{name}"]) for name in ("title", "about", "field", "enter")}
    tag = "zh-CN" if language == "zh" else "en"
    return _PAGE.format(
        tag=tag, action=escape(action, quote=True), wrong=escape(wrong), style=PLAIN_STYLE, **labels
    ).encode()


def _is_strangers(headers: Mapping[bytes, bytes]) -> bool:
    """Whether another site sent a form: it could sign a browser in as somebody else."""
    origin = headers.get(b"origin", b"null")
    if origin == b"null":  # browsers send this for our own form, whose page sends no referrer
        return headers.get(b"sec-fetch-site", b"same-origin") != b"same-origin"
    proxied = {b"host": headers.get(b"x-forwarded-host", b"")}
    return not is_own(headers, origin) and not is_own(proxied, origin)


def _language(headers: Mapping[bytes, bytes]) -> Language:
    language = _cookies(headers).get(WORDS_COOKIE)
    accepted = headers.get(b"accept-language", b"").decode("latin-1")
    return language_of(accepted, None if language is None else language.value)


def _cookies(headers: Mapping[bytes, bytes]) -> SimpleCookie:
    cookies = SimpleCookie()
    try:
        cookies.load(headers.get(b"cookie", b"").decode("latin-1"))
    except CookieError:
        cookies.clear()
    return cookies
