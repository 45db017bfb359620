"""OpenAI's Responses API, driven by the official client."""

from __future__ import annotations

import base64
import inspect
import re
from pathlib import Path

import httpx2
import openai
import pytest
from openai.resources.responses import Responses
from pydantic import BaseModel

from dragoman.core.errors import AbsentError
from dragoman.server.http.chat_parameters import RESPONSE_PARAMETERS
from dragoman.server.http.openai_responses import parse_response_id, response_id
from dragoman.server.turns.pending_responses import PendingResponse, PendingResponses

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


@pytest.fixture
def uploaded(api):
    """A file in a source of the caller's, and the vector store that holds it."""
    file = api.files.create(file=("dogs.md", b"# Dogs\n\nA dog pays 3 francs.\n"), purpose="assistants")
    stores = {store.name: store for store in api.vector_stores.list()}
    yield file, stores
    api.files.delete(file.id)


def searching(*stores, **more):
    return {"type": "file_search", "vector_store_ids": [store.id for store in stores], **more}


def test_file_search_looks_into_the_sources_that_it_names(api, uploaded):
    file, stores = uploaded
    (own,) = [name for name, store in stores.items() if store.file_counts.total]
    question = "What does a dog pay?"
    response = api.responses.create(
        model="robin", input=question, tools=[searching(stores[own])], include=["file_search_call.results"]
    )
    search, message = response.output
    assert (search.type, search.status) == ("file_search_call", "completed") and search.queries
    assert search.results[0].file_id == file.id and "3 francs" in search.results[0].text
    assert "3 francs" in response.output_text
    (citation,) = message.content[0].annotations
    assert (citation.type, citation.file_id, citation.filename) == ("file_citation", file.id, "dogs.md")
    assert response.tools[0].vector_store_ids == [stores[own].id]
    others = [store for name, store in stores.items() if name != own]
    elsewhere = api.responses.create(model="robin", input=question, tools=[searching(*others)])
    assert {row["source"] for row in elsewhere.dragoman["sources"]} <= {store.name for store in others} | {"MEMORY"}
    assert elsewhere.output[0].results is None
    # What a response gave can be sent back as it is.
    said = [{"role": "user", "content": question}, *response.output, {"role": "user", "content": "And else?"}]
    assert api.responses.create(model="robin", input=said).dragoman["dialogue"] == response.dragoman["dialogue"]


def test_a_streamed_search_comes_before_the_text(api, uploaded):
    _, stores = uploaded
    given = {"model": "robin", "input": TICKET, "tools": [searching(*stores.values())]}
    events = list(api.responses.create(**given, stream=True))
    kinds = [event.type for event in events]
    assert kinds.index("response.file_search_call.completed") < kinds.index("response.output_text.delta")
    assert [event.sequence_number for event in events] == list(range(len(events)))
    whole = api.responses.create(**given)
    assert [item.type for item in events[-1].response.output] == [item.type for item in whole.output]
    assert "response.output_text.annotation.added" in kinds
    with api.responses.stream(**given) as stream:
        assert stream.get_final_response().output_text == whole.output_text


def test_a_search_is_made_or_left_out_as_chosen(api, uploaded):
    _, stores = uploaded
    tools = [searching(*stores.values())]
    made = api.responses.create(model="robin", input="Thanks!", tools=tools, tool_choice={"type": "file_search"})
    assert made.dragoman["gate"]["reason"] == "asked to search" and made.output[0].type == "file_search_call"
    left = api.responses.create(model="robin", input=TICKET, tools=tools, tool_choice="none")
    assert [item.type for item in left.output] == ["message"] and left.dragoman["sources"] == []


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
        ({"tools": [{"type": "function", "name": "book", "parameters": {}}]}, "tools"),
        ({"tools": [{"type": "file_search", "vector_store_ids": ["vs_x"], "filters": {}}]}, "tools.0.filters"),
        ({"tools": [{"type": "file_search", "vector_store_ids": []}]}, "tools.0.vector_store_ids"),
        ({"include": ["message.output_text.logprobs"]}, "include"),
        ({"background": True}, "background"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"input": [{"type": "function_call_output", "call_id": "1", "output": "x"}]}, "input.0"),
        ({"text": {"format": {"type": "grammar"}}}, "text.format.type"),
        ({"text": {"format": {"type": "json_object"}}}, "text.format"),
        ({"top_logprobs": 3}, "top_logprobs"),
    ],
)
def test_what_an_agent_does_not_do_is_refused_by_name(api, given, param):
    with pytest.raises(openai.BadRequestError) as caught:
        api.responses.create(**{"model": "robin", "input": TICKET, **given})
    assert (caught.value.code, caught.value.param) == ("unsupported-parameter", param)


def test_every_parameter_of_the_official_client_has_a_treatment():
    documented = set(inspect.signature(Responses.create).parameters) - {"self", "timeout", "text"}
    ours = {name for name in documented if not name.startswith("extra_")}
    assert ours - RESPONSE_PARAMETERS.keys() == set()


def test_the_table_of_parameters_is_in_the_documents():
    page = (Path(__file__).parents[3] / "docs" / "server.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (honoured|refused|no meaning) \| ([^|]+) \|", page, re.MULTILINE))
    listed = {treatment: set(re.findall("`([a-z_.]+)`", cell)) for treatment, cell in rows.items()}
    for name, (treatment, _) in RESPONSE_PARAMETERS.items():
        assert name in listed[treatment], name


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"reasoning": {"effort": "low"}}, "reasoning"),
        ({"truncation": "auto"}, "truncation"),
        ({"max_tool_calls": 2}, "max_tool_calls"),
        ({"text": {"verbosity": "low"}}, "text.verbosity"),
        ({"top_p": 0.5}, "top_p"),
    ],
)
def test_what_has_no_meaning_is_named(api, given, name):
    assert RESPONSE_PARAMETERS[name].treatment == "no meaning"
    response = api.responses.create(model="robin", input=TICKET, **given)
    assert response.dragoman["ignored"] == [name] and "6 francs" in response.output_text


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


def test_an_unknown_vector_store_is_not_found(api):
    with pytest.raises(openai.NotFoundError):
        api.responses.create(model="robin", input=TICKET, tools=[{"type": "file_search", "vector_store_ids": ["vs_x"]}])


@pytest.mark.trust
@pytest.mark.parametrize(
    "spelled", [b"5", b"null", b"{}", b'["d"]', b'["d", 1, 2' + b"[" * 600, b'[["d"], 1]', b"\xff"]
)
def test_an_id_that_is_none_is_unknown(spelled):
    name = base64.urlsafe_b64encode(spelled).decode().rstrip("=")
    with pytest.raises(AbsentError):
        parse_response_id(f"resp_{name}")


@pytest.mark.trust
def test_responses_that_wait_for_tools_are_bounded_by_owner():
    responses = PendingResponses()
    ana, ben = ("robin", "local", "ana"), ("robin", "local", "ben")
    responses.put(ben, "first", PendingResponse(({"content": "Hello"},)))
    for number in range(300):
        responses.put(ana, f"r{number}", PendingResponse(({"content": f"{number}" + "x" * 10**6},)))
    assert responses.get(ben, "first") is not None, "another owner's stays"
    held = [number for number in range(300) if responses.get(ana, f"r{number}") is not None]
    assert held == list(range(300 - len(held), 300)) and 10 <= len(held) <= 16
    for number in range(300):
        responses.put(ana, f"s{number}", PendingResponse(({"content": "short"},)))
    assert sum(responses.get(ana, f"s{number}") is not None for number in range(300)) == 100
