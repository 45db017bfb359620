"""What users say is in no log, also where things go wrong."""

from __future__ import annotations

import json
import logging
import socket
import time

import pytest

from dragoman.server.http.request_limits import BodyLimits

pytestmark = pytest.mark.trust

SECRET = "Zanzibarian badger"


@pytest.fixture
def logged(caplog):
    caplog.set_level(logging.DEBUG)
    yield caplog
    whole = "\n".join(f"{record.getMessage()} {record.exc_text or ''}" for record in caplog.records)
    assert SECRET not in whole and "badger" not in whole


def test_turns_that_succeed_are_refused_or_fail_leave_no_words_in_the_log(logged, make_house, serve, held_reader):
    started = serve(make_house(reader=held_reader))
    client = started.client()
    assert client.post("/v1/turns", json={"text": f"I keep a {SECRET}.", "dialogue": "d"}).status_code == 200
    assert client.post("/v1/turns", json={"text": [SECRET]}).status_code == 422
    assert client.post("/v1/turns", content=f'{{"text": "{SECRET}'.encode()).status_code == 422

    def breaks(task):
        raise RuntimeError(f"wires crossed at: {task.context.last}")
        yield ""

    held_reader.stream = breaks
    failed = client.post("/v1/turns", json={"text": f"Again the {SECRET}."})
    assert [(name, data.get("code")) for name, data in started.events(failed.text)][-1] == ("error", "internal")
    assert "a turn failed: RuntimeError" in [record.getMessage() for record in logged.records]
    # The user's own facts may come back to the user as evidence; the error itself repeats nothing.
    assert SECRET not in json.dumps(started.events(failed.text)[-1])


def test_a_request_that_fails_outside_of_turns_leaves_no_words_either(logged, make_house, serve):
    service = make_house()
    started = serve(service)

    def breaks(*_args, **_options):
        raise RuntimeError(f"wires crossed at: {SECRET}")

    service.agents["robin"].assistant.recall = breaks
    failed = started.client().get("/v1/memory")
    assert (failed.status_code, failed.json()["code"]) == (500, "internal")
    assert SECRET not in failed.text


def test_a_sender_that_is_too_slow_is_no_error(caplog, make_house, serve):
    started = serve(make_house(), measure=BodyLimits(piece_seconds=0.1))

    def dribble():
        yield b'{"text": '
        time.sleep(0.4)
        yield b'"x"}'

    sent = started.client().post("/v1/turns", content=dribble(), headers={"content-type": "application/json"})
    assert sent.status_code == 408
    assert not [record.getMessage() for record in caplog.records if record.name == "dragoman.server"]


def test_a_client_that_leaves_in_the_middle_of_a_body_is_no_error(caplog, server):
    head = (
        b"POST /v1/turns HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n"
    )
    with socket.socket(socket.AF_UNIX) as leaving:
        leaving.settimeout(5)
        leaving.connect(server.path)
        leaving.sendall(head + b'{"text": ')
        leaving.shutdown(socket.SHUT_WR)
        assert leaving.recv(100) == b""
    assert server.client().get("/healthz").status_code == 200
    assert not [record.getMessage() for record in caplog.records if record.name == "dragoman.server"]
