"""A stream has a status of its own only as long as nothing has happened."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.core.errors import ServiceError
from dragoman.server.http.streams import EventStream, failed_event
from dragoman.server.turns.events import Text
from dragoman.server.turns.turn_queue import TurnQueue


def streamed(work):
    """What is sent where the listener looks only after the turn's end."""

    async def serve():
        turn_queue = TurnQueue(workers=1, queue=1, turn_seconds=10.0)
        run = turn_queue.submit(("a line",), work, eager=True)
        while not run.ended:
            await asyncio.sleep(0.001)
        sent = []

        async def receive():
            await asyncio.sleep(60)

        async def send(message):
            sent.append(message)

        stream = EventStream(run, lambda event: iter((event.text.encode(),)), failed_event)
        try:
            await (await stream.begin(receive))({}, receive, send)
        finally:
            await turn_queue.close(1.0)
        return b"".join(message.get("body", b"") for message in sent)

    return asyncio.run(serve())


def broken():
    raise ServiceError("The wires crossed.")
    yield Text("")


def broken_late():
    yield Text("You said: ")
    yield from broken()


def test_what_was_said_before_a_failure_is_sent_before_it():
    body = streamed(broken_late)
    assert body.startswith(b"You said: event: error") and b"The wires crossed." in body


def test_a_turn_that_fails_before_anything_is_raised():
    with pytest.raises(ServiceError, match="wires"):
        streamed(broken)
