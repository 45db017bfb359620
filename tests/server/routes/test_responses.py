"""OpenAI's Responses API, driven by the official client."""

from __future__ import annotations

import httpx2
import openai
import pytest
from pydantic import BaseModel

from dragoman.core.errors import AbsentError
from dragoman.server.http.openai_responses import parse_response_id, response_id

TICKET = "What does a day ticket cost?"


@pytest.fixture
def api(server):
    http = httpx2.Client(transport=httpx2.HTTPTransport(uds=server.path, verify=False))
    with openai.OpenAI(base_url="http://localhost/v1", api_key="none", http_client=http, max_retries=0) as made:
        yield made


def test_a_response_is_answered_with_its_reasons(api):
    response = api.responses.create(model="robin", input=TICKET, instructions="Be brief.")
    assert "6 francs" in response.output_text and response.status == "completed"
    assert response.usage.output_tokens > 0 and response.dragoman["instructions"] == "unused"


def test_a_response_is_continued_without_its_messages(api, server):
    first = api.responses.create(model="robin", input=TICKET)
    second = api.responses.create(model="robin", input="And else?", previous_response_id=first.id)
    assert second.dragoman["dialogue"] == first.dragoman["dialogue"] and second.dragoman["turn"] == 3
    assert parse_response_id(second.id) == (second.dragoman["dialogue"], 3)
    # From an earlier response on, a branch begins, and the first line of it is kept.
    other = api.responses.create(model="robin", input="Or else?", previous_response_id=first.id)
    assert other.dragoman["dialogue"] != first.dragoman["dialogue"] and parse_response_id(other.id)[1] == 3
    turns = server.client().get(f"/v1/dialogues/{other.dragoman['dialogue']}").json()["turns"]
    assert [turn["text"] for turn in turns][0::2] == [TICKET, "Or else?"]


def test_messages_may_be_repeated_instead(api):
    first = api.responses.create(model="robin", input=[{"role": "user", "content": TICKET}])
    said = [{"role": "user", "content": TICKET}, *first.output, {"role": "user", "content": "And else?"}]
    second = api.responses.create(model="robin", input=said)
    assert second.dragoman["dialogue"] == first.dragoman["dialogue"]
    assert parse_response_id(second.id) == (first.dragoman["dialogue"], 3)


def test_a_stream_ends_with_the_whole_response(api):
    events = list(api.responses.create(model="robin", input=TICKET, stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert events[0].type == "response.created" and events[-1].type == "response.completed"
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == events[-1].response.output_text and "6 francs" in text
    assert events[0].response.id == events[-1].response.id


class Price(BaseModel):
    answer: str
    price: float


def test_a_schema_is_parsed(api):
    parsed = api.responses.parse(model="robin", input=TICKET, text_format=Price).output_parsed
    assert parsed.price == 6.0


def test_a_response_that_is_cut_is_incomplete(api):
    response = api.responses.create(model="robin", input=TICKET, max_output_tokens=3)
    assert response.status == "incomplete" and response.incomplete_details.reason == "max_output_tokens"


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"tools": [{"type": "web_search"}]}, "tools"),
        ({"background": True}, "background"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"input": [{"type": "function_call_output", "call_id": "1", "output": "x"}]}, "input.0"),
        ({"text": {"format": {"type": "grammar"}}}, "response_format.type"),
    ],
)
def test_what_an_agent_does_not_do_is_refused_by_name(api, given, param):
    with pytest.raises(openai.BadRequestError) as caught:
        api.responses.create(**{"model": "robin", "input": TICKET, **given})
    assert (caught.value.code, caught.value.param) == ("unsupported-parameter", param)


@pytest.mark.parametrize("id", ["resp_", "resp_xx", "nothing", "resp_e30", response_id("unknown", 1)])
def test_an_unknown_response_is_not_found(api, id):
    with pytest.raises(openai.NotFoundError):
        api.responses.create(model="robin", input=TICKET, previous_response_id=id)


def test_ids_name_the_dialogue_and_the_place():
    assert parse_response_id(response_id("a-名", 3)) == ("a-名", 3)
    with pytest.raises(AbsentError):
        parse_response_id("resp_\ud800".encode("utf-8", "replace").decode())


def test_the_old_completions_name_the_others(api):
    with pytest.raises(openai.NotFoundError) as caught:
        api.completions.create(model="robin", prompt="Once upon")
    assert "/v1/responses" in str(caught.value) and caught.value.code == "gone-api"
