"""Streaming responses: a client that disconnects cancels its turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Send

from dragoman.server.http.problems import problem_of
from dragoman.server.turns.events import Event, TurnDone
from dragoman.server.turns.turn_queue import RunningTurn

EVENTS = "text/event-stream"
LINES = "application/x-ndjson"
_HEADERS = [
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]
_BREATH = 15.0
"""Seconds of silence after which a comment is sent, so that proxies do not close the connection."""


async def whole(run: RunningTurn, receive: Receive) -> TurnDone:
    """Wait for the end of a turn; cancels it if the client disconnects."""
    leaving = asyncio.ensure_future(receive())
    leaving.add_done_callback(lambda _: run.cancel())
    try:
        return await run.outcome()
    finally:
        leaving.cancel()


class EventStream(Response):
    """A turn as server-sent events. Starts with the first event, so that an error before it has an HTTP status."""

    def __init__(
        self,
        run: RunningTurn,
        encode: Callable[[Event], Iterator[bytes]],
        failed: Callable[[BaseException], bytes],
        closed: Callable[[], None] | None = None,
        *,
        media_type: str = EVENTS,
    ) -> None:
        self.status_code = 200
        self.background = None
        is_sse = media_type == EVENTS
        self.raw_headers = [
            (b"content-type", (f"{EVENTS}; charset=utf-8" if is_sse else media_type).encode()),
            *_HEADERS,
        ]
        self._silence = b": waiting\n\n" if is_sse else b""
        self._run = run
        self._encode = encode
        self._failed = failed
        self._closed = closed
        self._leaving: asyncio.Future[Any] | None = None

    async def begin(self, receive: Receive) -> EventStream:
        """Wait for the first event; raises errors that occur before it."""
        self._leaving = asyncio.ensure_future(receive())
        self._leaving.add_done_callback(lambda _: self._run.cancel())
        try:
            await self._run.wait()
            if self._run.error is not None and not self._run.pending:
                raise self._run.error
        except BaseException:
            self._close()
            raise
        return self

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        run = self._run
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            ended = False
            while not ended:
                ended = run.ended  # asked first: what is put before the end is drained after it
                events = run.drain()
                if events and not ended and isinstance(events[-1], TurnDone):
                    await run.wait(_BREATH)  # the end is near: both are sent as one
                    ended = run.ended
                body = b"".join(piece for event in events for piece in self._encode(event))
                if ended and run.error is not None:
                    body += self._failed(run.error)
                if body or ended:
                    await send({"type": "http.response.body", "body": body, "more_body": not ended})
                if not ended and not await run.wait(_BREATH):
                    await send({"type": "http.response.body", "body": self._silence, "more_body": True})
        finally:
            self._close()

    def _close(self) -> None:
        if self._leaving is not None:
            self._leaving.cancel()
        self._run.cancel()
        if self._closed is not None:
            self._closed()


def failed_event(error: BaseException) -> bytes:
    """The error event of our own streams."""
    return problem_of(error).event()
