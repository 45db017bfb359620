"""JSON bodies: their values are counted without parsing, and costly ones are parsed one at a time, callers in turn."""

from __future__ import annotations

import asyncio
import json
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.server.http.body_pace import (
    MOST_VALUES,
    MOST_WAITING,
    BodyPace,
    outside_strings,
    parsing_seconds,
    values_in,
    without_escapes,
)
from dragoman.server.http.request_limits import PacedMessages

pytestmark = pytest.mark.trust

NASTY = st.text(alphabet='",[]{}\\:a\n嗯', max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | NASTY,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(NASTY, inner, max_size=6),
    max_leaves=40,
)


def marks_of(value) -> int:
    """What opens or separates the values of a JSON value."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inside is None else max(1, len(inside)) + sum(map(marks_of, inside))


@given(VALUES, st.booleans())
def test_what_stands_outside_of_strings_is_what_a_parser_reads_there(value, escapes):
    outside = outside_strings(without_escapes(json.dumps(value, ensure_ascii=escapes).encode()))
    assert sum(outside.count(mark) for mark in (b",", b"[", b"{")) == marks_of(value)
    assert b'"' not in outside and b"\\" not in outside


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
@pytest.mark.parametrize("hiding", ['["\\"",', '["\\\\",', '{"a":"\\\\\\"","b":[', "[", '["x",'])
def test_values_cannot_hide_behind_quotation_marks_or_encodings(hiding, encoding):
    assert values_in((hiding + "{}," * 2 * MOST_VALUES).encode(encoding)) > MOST_VALUES


def test_a_text_full_of_commas_is_one_value():
    assert values_in(json.dumps({"text": "1," * 300_000}).encode()) < 10


@pytest.mark.parametrize("piece", ["{},", '"a",', '"\\"",', "\\", '"', "1,", '{"a":[],'])
def test_counting_takes_little_time(piece):
    body = (piece * (2**20 // len(piece))).encode()
    began = time.process_time()
    values_in(body)
    assert time.process_time() - began < 0.2  # 5 ms as a rule


def test_cheap_bodies_never_wait():
    async def scene():
        pace = BodyPace()
        await asyncio.wait_for(pace.turn(b"a", 0.1), 1)
        await asyncio.wait_for(pace.turn(b"a", parsing_seconds(5_000, 100)), 0.1)

    asyncio.run(scene())


def test_costly_bodies_of_one_caller_let_anothers_through_first():
    async def scene():
        pace, order = BodyPace(), []

        async def body(whose):
            await pace.turn(whose, 0.002)
            order.append(whose)

        flood = [asyncio.create_task(body(b"ana")) for _ in range(8)]
        await asyncio.sleep(0)
        other = asyncio.create_task(body(b"ben"))
        await asyncio.gather(*flood, other)
        return order

    order = asyncio.run(scene())
    assert len(order) == 9 and b"ben" in order[:3]


def test_the_loop_is_free_between_two_costly_bodies():
    async def scene():
        pace, moments = BodyPace(), []
        for _ in range(3):
            await pace.turn(b"a", 0.01)
            moments.append(time.monotonic())
        return [after - before for before, after in pairwise(moments)]

    assert min(asyncio.run(scene())) > 0.02


def test_whoever_leaves_the_line_holds_nobody_up():
    async def scene():
        pace = BodyPace()
        await pace.turn(b"ana", 0.002)
        left = [asyncio.create_task(pace.turn(b"ana", 0.002)) for _ in range(MOST_WAITING)]
        await asyncio.sleep(0)
        assert pace.is_full(b"ana") and not pace.is_full(b"ben")
        for task in left:
            task.cancel()
        await asyncio.wait_for(pace.turn(b"ben", 0.002), 5)
        assert not pace.is_full(b"ana")
        await asyncio.wait_for(pace.turn(b"ana", 0.002), 5)

    asyncio.run(scene())


def test_a_body_of_too_many_values_is_refused_before_it_is_parsed(client, monkeypatch):
    monkeypatch.setattr(json, "loads", lambda *_, **__: pytest.fail("parsed"))
    body = b'{"text": "x", "more": [' + b"{}," * MOST_VALUES + b"{}]}"
    refused = client.post("/v1/turns", content=body, headers={"content-type": "application/json"})
    assert refused.status_code == 413
    monkeypatch.undo()
    assert refused.json()["code"] == "too-large" and "20,000 values" in refused.json()["detail"]


def test_a_socket_that_sends_very_many_messages_waits_for_its_turn():
    async def scene():
        async def receive():
            return {"type": "websocket.receive", "text": "x"}

        paced = PacedMessages(receive, BodyPace(), b"ana")
        began = time.monotonic()
        for _ in range(200):
            await paced()
        return time.monotonic() - began

    assert asyncio.run(scene()) > 0.05  # 200 messages take 60 ms of the loop by their price, and rest in between


@pytest.mark.parametrize("message", [{"type": "websocket.connect"}, {"type": "websocket.receive", "bytes": b"x"}])
def test_what_a_socket_receives_is_passed_on_as_it_is(message):
    async def receive():
        return message

    assert asyncio.run(PacedMessages(receive, BodyPace(), b"ana")()) is message
