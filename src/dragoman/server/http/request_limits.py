"""Request limits: body size, sender speed and, without keys, the origin of the request."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from functools import lru_cache
from time import monotonic
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect

from dragoman.server.http.body_pace import MESSAGE_SECONDS, MOST_VALUES, BodyPace, parsing_seconds, values_in
from dragoman.server.http.problems import MEDIA_TYPE, ApiProblem

_log = logging.getLogger("dragoman.server")

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

_SPENT = 0.005
"""Seconds of the event loop that a socket may spend before it waits for its turn."""
_OUR_COOKIES = b"dragoman_"
"""How the names of the page's cookies begin."""
_LONGEST_COOKIE, _MOST_COOKIES = 4096, 16
_HERE = frozenset({"localhost", ""})
_UPLOADS = re.compile(r"/v1/sources/[^/]+/files|/v1/files|/page/_nicegui/client/[^/]+/upload/[^/]+")
_STREAMED = "/v1/memory/import"
"""The path whose body, sent with PUT, is written to a file piece by piece, and may be large."""
_SAFE = {b"x-content-type-options": b"nosniff", b"referrer-policy": b"no-referrer"}
TRUSTED = "dragoman.trusted"
"""In the scope of a request that a page of a named origin sends."""
API_PATHS = ("/v1/", "/api/", "/mcp", "/openapi.json", "/healthz", "/readyz", "/metrics")
OPENAI_PATHS = (
    "/v1/chat/",
    "/v1/models",
    "/v1/embeddings",
    "/v1/responses",
    "/v1/completions",
    "/v1/files",
    "/v1/vector_stores",
    # Not offered: answered as OpenAI's clients read it.
    "/v1/images",
    "/v1/audio",
    "/v1/moderations",
    "/v1/batches",
    "/v1/assistants",
    "/v1/threads",
    "/v1/uploads",
    "/v1/conversations",
    "/v1/fine_tuning",
)
OLLAMA_PATHS = ("/api/",)


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """Limits of a request body: size and time."""

    body_bytes: int = 1024 * 1024
    upload_bytes: int = 64 * 1024 * 1024
    import_bytes: int = 2 * 1024**3
    piece_seconds: float = 15.0
    body_seconds: float = 60.0
    upload_seconds: float = 600.0
    import_seconds: float = 3600.0


class _Meter:
    """Receives a body for the application within the limits of size and time."""

    def __init__(
        self, receive: Receive, measure: BodyLimits, most: int, seconds: float, *, pace: BodyPace | None, whose: bytes
    ) -> None:
        """With a `pace`, the body is taken for JSON: its values are counted, and costly ones wait for their turn."""
        self.problem: ApiProblem | None = None
        self._pace = pace
        self._whose = whose
        self._pieces: list[bytes] = []
        self._receive = receive
        self._most = most
        self._piece_seconds = measure.piece_seconds
        self._until = monotonic() + seconds
        self._size = 0
        self._ended = False

    async def __call__(self) -> Message:
        if self._ended:
            return await self._receive()  # from here on it only reports that the client disconnects
        try:
            async with asyncio.timeout(max(0.0, min(self._piece_seconds, self._until - monotonic()))):
                message = await self._receive()
        except TimeoutError:
            self.problem = ApiProblem("slow-sender", "The body did not come in time.", "Send it faster, or less of it.")
            raise BrokenOffError from None
        if message["type"] == "http.request":
            self._size += len(message.get("body", b""))
            self._ended = not message.get("more_body", False)
            if self._size > self._most:
                self.problem = _too_large(self._most)
                raise BrokenOffError
            if self._pace is not None:
                self._pieces.append(message.get("body", b""))
                if self._ended:
                    await self._wait_for_turn(self._pace)
        return message

    async def _wait_for_turn(self, pace: BodyPace) -> None:
        values = values_in(b"".join(self._pieces))
        self._pieces.clear()
        if values > MOST_VALUES:
            self.problem = ApiProblem("too-large", f"A body may hold {MOST_VALUES:,} values.", "Send fewer at once.")
            raise BrokenOffError
        if pace.is_full(self._whose):
            self.problem = ApiProblem(
                "too-many-waiting", "Many large bodies of this caller are waiting.", "Try again in a moment.", seconds=5
            )
            raise BrokenOffError
        await pace.turn(self._whose, parsing_seconds(self._size, values))


class PacedMessages:
    """Receives a socket's messages for the application; a sender who spends much of the event loop waits."""

    def __init__(self, receive: Receive, pace: BodyPace, whose: bytes) -> None:
        self._receive = receive
        self._pace = pace
        self._whose = whose
        self._spent = 0.0

    async def __call__(self) -> Message:
        message = await self._receive()
        content = message.get("text") or message.get("bytes") or ""
        body = content.encode() if isinstance(content, str) else content
        self._spent += MESSAGE_SECONDS + parsing_seconds(len(body), values_in(body))
        if self._spent > _SPENT:
            await self._pace.turn(self._whose, self._spent)
            self._spent = 0.0
        return message


class BrokenOffError(Exception):
    """Raised in an application that waits for a refused body."""


LEFT = (BrokenOffError, ClientDisconnect)
"""Errors of a request whose body will not come; its response is not sent."""


class RequestLimits:
    """ASGI middleware that rejects requests before they reach the application."""

    def __init__(self, app: App, *, measure: BodyLimits | None = None, only_here: bool = False) -> None:
        self._app = app
        self._measure = measure or BodyLimits()
        self._only_here = only_here
        self._pace = BodyPace()

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        scope["headers"] = _with_own_cookies(scope["headers"])
        headers: dict[bytes, bytes] = dict(scope["headers"])
        sender = str((scope.get("client") or ("",))[0]).encode()
        if scope["type"] == "websocket":
            if self._only_here and self._foreign(headers):
                await send({"type": "websocket.close", "code": 1008})
                return
            await self._app(scope, PacedMessages(receive, self._pace, headers.get(b"cookie") or sender), send)
            return
        form = headers.get(b"content-type", b"").lower().startswith(b"multipart/")
        most, seconds = self._measure.body_bytes, self._measure.body_seconds
        if form and _UPLOADS.fullmatch(str(scope["path"])):
            most, seconds = self._measure.upload_bytes, self._measure.upload_seconds
        elif scope["method"] == "PUT" and scope["path"] == _STREAMED:
            most, seconds = self._measure.import_bytes, self._measure.import_seconds
        problem = self._foreign(headers, trusted=TRUSTED in scope) if self._only_here else None
        announced = headers.get(b"content-length", b"")
        if problem is None and announced.isdigit() and int(announced[:20]) > most:
            problem = _too_large(most)
        if problem is not None:
            await refuse(problem, scope, send)
            return
        is_json = most == self._measure.body_bytes
        whose = headers.get(b"authorization") or sender
        meter = _Meter(receive, self._measure, most, seconds, pace=self._pace if is_json else None, whose=whose)
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            if meter.problem is not None and not begun:
                return  # the application only knows that the body broke off, so give the reason here
            if message["type"] == "http.response.start":
                begun = True
                message["headers"] = [*message["headers"], *_SAFE.items()]
            await send(message)

        try:
            await self._app(scope, meter, watched)
        except ClientDisconnect:
            return  # the client left in the middle of a body: no answer is possible, and it is no error of ours
        except Exception as error:  # noqa: BLE001 - a traceback in a log would hold what users said
            if meter.problem is None:
                _log.error("a request failed: %s", type(error).__name__)
                meter.problem = ApiProblem("internal", remedy="Try again.")
        if meter.problem is not None and not begun:
            await refuse(meter.problem, scope, send)

    def _foreign(self, headers: dict[bytes, bytes], *, trusted: bool = False) -> ApiProblem | None:
        """Whether a request comes from another site or a rebound host name, which must not act for the local user."""
        origin = headers.get(b"origin")
        is_ours = (origin is None or is_own(headers, origin)) and not _embeds(headers)
        if _is_here(headers.get(b"host", b"")) and (trusted or is_ours):
            return None
        return ApiProblem(
            "forbidden",
            "Without keys only this machine is answered, and no page of another site.",
            "Open the address that `dragoman serve` printed, create a key, or name that site with --allow-origin.",
        )


async def refuse(problem: ApiProblem, scope: MutableMapping[str, Any], send: Send) -> None:
    """Respond with a problem, bypassing the application."""
    path = str(scope.get("path", ""))
    body = problem.body(openai=path.startswith(OPENAI_PATHS), ollama=path.startswith(OLLAMA_PATHS))
    fields = {"content-type": MEDIA_TYPE, "content-length": str(len(body)), **problem.headers()}
    headers = [(name.encode(), value.encode()) for name, value in fields.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": [*headers, *_SAFE.items()]})
    await send({"type": "http.response.body", "body": body})


def _too_large(most: int) -> ApiProblem:
    return ApiProblem("too-large", f"A body may have {most // 2**20} MB here.", "Send less, or in several requests.")


def _with_own_cookies(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers with our own cookies alone.

    Some versions of Python take time quadratic in the length of a cookie with backslashes (CVE-2024-7592), and anybody
    may send one. None of ours has a backslash, and other programs on this host have cookies that concern nobody here.
    """
    kept: list[tuple[bytes, bytes]] = []
    cookies: list[bytes] = []
    for name, value in headers:
        if name == b"cookie":
            cookies += (each.strip() for each in value.split(b";"))
        else:
            kept.append((name, value))
    ours = [each for each in cookies if each.startswith(_OUR_COOKIES) and len(each) <= _LONGEST_COOKIE]
    ours = [each for each in ours if b"\\" not in each][:_MOST_COOKIES]
    return [*kept, (b"cookie", b"; ".join(ours))] if ours else kept


@lru_cache(maxsize=256)
def _is_here(host: bytes) -> bool:
    """Whether the Host header names this machine; False if it is invalid."""
    try:
        name = urlsplit(f"//{host.decode('latin-1')}").hostname or ""
        return name in _HERE or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def is_own(headers: Mapping[bytes, bytes], origin: bytes) -> bool:
    """Whether an origin belongs to the requested host; `null` (a file, a sandbox) does not."""
    scheme, _, host = origin.partition(b"://")
    return scheme in (b"http", b"https") and host != b"" and host == headers.get(b"host", b"")


def _embeds(headers: Mapping[bytes, bytes]) -> bool:
    """Whether another site embeds the address (image, script, frame: no Origin header); links are allowed."""
    site, mode = headers.get(b"sec-fetch-site", b""), headers.get(b"sec-fetch-mode", b"")
    return site in (b"cross-site", b"same-site") and mode != b"navigate"
