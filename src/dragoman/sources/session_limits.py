"""Limits on what an MCP server sends: one message has so many bytes at most, from a program and over HTTP alike.

The MCP library keeps a message whole in memory, however long, and joins the pieces of a program's anew with each piece.
"""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import AsyncIterator
from contextvars import ContextVar
from typing import TYPE_CHECKING

from dragoman.core.errors import EndpointError

if TYPE_CHECKING:
    import httpx2

MOST_BYTES = 8 << 20
"""Most bytes of one message; of an answer, much less is read."""
_ENCODING = "dragoman_limited_utf8"
_SECONDS = 30.0
_READ_SECONDS = 300.0
"""As the MCP library has it: a server may hold a stream of events open."""
EXCEEDED: ContextVar[asyncio.Event | None] = ContextVar("EXCEEDED", default=None)
"""Set when a program's line is too long: the library reads on, so the caller must disconnect."""


def limited_encoding() -> str:
    """The name of UTF-8 that drops what follows a line beyond the limit, and sets `EXCEEDED` of the connection."""
    try:
        codecs.lookup(_ENCODING)
    except LookupError:
        codecs.register(_find)
    return _ENCODING


def limited_http(authorization: str | None) -> httpx2.AsyncClient:
    """A client that reads no body beyond the limit, and no packed one, which could unfold to anything."""
    import httpx2

    class Limited(httpx2.AsyncByteStream):
        def __init__(self, stream: httpx2.AsyncByteStream, *, is_stream_of_events: bool) -> None:
            self._stream = stream
            self._is_stream_of_events = is_stream_of_events  # each event is limited, and there may be many

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for piece in self._stream:
                size += len(piece)
                if size > MOST_BYTES and not self._is_stream_of_events:
                    raise too_long()
                yield piece

        async def aclose(self) -> None:
            await self._stream.aclose()

    class Transport(httpx2.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            response = await super().handle_async_request(request)
            if response.headers.get("content-encoding", "identity") != "identity":
                await response.aclose()
                raise EndpointError("The answer is packed.", remedy="Let the MCP server send it as it is.")
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            events = response.headers.get("content-type", "").startswith("text/event-stream")
            response.stream = Limited(response.stream, is_stream_of_events=events)
            return response

    headers = {"accept-encoding": "identity"}
    if authorization is not None:
        headers["authorization"] = authorization
    timeout = httpx2.Timeout(_SECONDS, read=_READ_SECONDS)
    return httpx2.AsyncClient(headers=headers, timeout=timeout, transport=Transport())


class _Decoder(codecs.IncrementalDecoder):
    def __init__(self, errors: str = "strict") -> None:
        super().__init__(errors)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)
        self._length = 0
        self._exceeded = EXCEEDED.get()
        self._is_exceeded = False

    def decode(self, data: bytes, final: bool = False) -> str:  # type: ignore[override]  # what the library sends
        if self._is_exceeded:  # the end of such a line would be taken for a message, and logged
            return ""
        newline = data.rfind(b"\n")
        longest = self._length + (len(data) if newline < 0 else data.find(b"\n"))
        self._length = longest if newline < 0 else len(data) - newline - 1
        if longest > MOST_BYTES:
            self._is_exceeded = True
            if self._exceeded is not None:
                self._exceeded.set()
            return ""
        return self._decoder.decode(data, final)


def too_long() -> EndpointError:
    return EndpointError(f"A message of more than {MOST_BYTES >> 20} MB came.", remedy="Let the tool answer with less.")


def _find(name: str) -> codecs.CodecInfo | None:
    if name != _ENCODING:
        return None
    plain = codecs.lookup("utf-8")
    return codecs.CodecInfo(plain.encode, plain.decode, incrementaldecoder=_Decoder, name=_ENCODING)
