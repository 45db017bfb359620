"""CORS: only pages of the configured origins may call the API, with a key; cookies do not count."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from dragoman.core.errors import ConfigError
from dragoman.server.http.request_limits import API_PATHS, TRUSTED, App, Message, Receive, Send

_PORTS = {"http": 80, "https": 443}
_METHODS = b"GET, POST, PUT, DELETE"
_HEADERS = b"authorization, content-type, x-dragoman-user"
_SECONDS = b"600"
_LONGEST = 2000


def origin_of(url: str) -> str:
    """Normalise an origin as browsers write it; raises an error for anything else, such as `*`."""
    try:
        parts = urlsplit(url.strip())
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        parts, host, port = urlsplit(""), "", None
    extra = parts.path.strip("/") or parts.query or parts.fragment or parts.username
    if parts.scheme not in _PORTS or not host or not host.isascii() or "*" in host or extra:
        raise ConfigError(
            f"'{url}' is no origin of a page.",
            remedy="Give scheme, host and port, as in --allow-origin https://chat.example.org. There is no wildcard.",
        )
    address = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{address}" + ("" if port in (None, _PORTS[parts.scheme]) else f":{port}")


class Origins:
    """ASGI middleware: answers CORS preflight requests and adds CORS headers for the configured origins."""

    def __init__(self, app: App, allowed: Iterable[str]) -> None:
        self._app = app
        self._allowed = frozenset(origin_of(url).encode() for url in allowed)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not str(scope["path"]).startswith(API_PATHS):
            await self._app(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        origin = headers.get(b"origin", b"")
        added = [(b"vary", b"origin")]
        if origin in self._allowed:
            scope[TRUSTED] = True
            added.append((b"access-control-allow-origin", origin))
            if scope["method"] == "OPTIONS" and b"access-control-request-method" in headers:
                await _answer([*added, *_permission(headers)], send)
                return
            added.append((b"access-control-expose-headers", b"retry-after"))

        async def shared(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *added]
            await send(message)

        await self._app(scope, receive, shared)


def _permission(headers: dict[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    """The preflight answer. Any request header is allowed: client libraries add their own, which are ignored."""
    requested = headers.get(b"access-control-request-headers", b"")
    response_headers = [
        (b"access-control-allow-methods", _METHODS),
        (b"access-control-allow-headers", requested if requested and len(requested) <= _LONGEST else _HEADERS),
        (b"access-control-max-age", _SECONDS),
    ]
    if headers.get(b"access-control-request-private-network") == b"true":
        response_headers.append((b"access-control-allow-private-network", b"true"))
    return response_headers


async def _answer(headers: list[tuple[bytes, bytes]], send: Send) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
