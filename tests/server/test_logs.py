"""What users say is in no log, also where things go wrong."""

from __future__ import annotations

import logging

import pytest

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
    assert SECRET not in failed.text


def test_a_request_that_fails_outside_of_turns_leaves_no_words_either(logged, make_house, serve):
    house = make_house()
    started = serve(house)

    def breaks(*_args, **_options):
        raise RuntimeError(f"wires crossed at: {SECRET}")

    house.agents["robin"].assistant.recall = breaks
    failed = started.client().get("/v1/memory")
    assert (failed.status_code, failed.json()["code"]) == (500, "internal")
    assert SECRET not in failed.text
