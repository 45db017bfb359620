"""The paths of OpenAI's API, driven by the official client."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import httpx
import httpx2
import openai
import pytest
from openai.resources.chat.completions import Completions
from pydantic import BaseModel

from dragoman.models.remote.model import RemoteModel
from dragoman.reader.prompted import PromptedReader
from dragoman.server.http.chat_parameters import CHAT_PARAMETERS
from dragoman.server.http.reply_limits import count_tokens


@pytest.fixture
def api(server):
    """The official client, on the server's socket."""
    http = httpx2.Client(transport=httpx2.HTTPTransport(uds=server.path, verify=False))
    with openai.OpenAI(base_url="http://localhost/v1", api_key="none", http_client=http, max_retries=0) as made:
        yield made


ASKED = [{"role": "user", "content": "What does a day ticket cost?"}]


def test_agents_are_the_models(api):
    assert [model.id for model in api.models.list()] == ["robin"]
    assert api.models.retrieve("robin").owned_by == "dragoman"


def test_an_answer_carries_its_reasons(api):
    answer = api.chat.completions.create(model="robin", messages=ASKED, temperature=0.3)
    assert "6 francs" in answer.choices[0].message.content and answer.choices[0].finish_reason == "stop"
    why = answer.dragoman
    assert why["gate"]["retrieve"] is True and ["DOCUMENTS"] in why["plan"]["steps"]
    assert why["sources"][0]["origin"] == "documents/prices.md" and 0 <= why["sources"][0]["relevance"] <= 1
    assert 0 <= why["confidence"] <= 1 and why["trace"][0]["role"] == "gate"
    assert why["ignored"] == ["temperature"]


def halves(chunks):
    """The extension field of a stream's chunks, with their places among those that hold text."""
    text = [i for i, chunk in enumerate(chunks) if chunk.choices and chunk.choices[0].delta.content]
    told = [(i, chunk.dragoman) for i, chunk in enumerate(chunks) if (chunk.model_extra or {}).get("dragoman")]
    return text, told


def test_a_stream_tells_its_reasons_once_before_and_once_after_and_equals_the_whole_answer(api):
    whole = api.chat.completions.create(model="robin", messages=ASKED)
    options = {"stream": True, "stream_options": {"include_usage": True}}
    chunks = list(api.chat.completions.create(model="robin", messages=ASKED, **options))
    text, told = halves(chunks)
    assert len(told) == 2 and told[0][0] < text[0] <= text[-1] < told[1][0]
    assert "".join(chunks[i].choices[0].delta.content for i in text) == whole.choices[0].message.content
    assert chunks[told[1][0]].choices[0].finish_reason == "stop"
    assert chunks[-1].choices == [] and chunks[-1].usage == whole.usage
    streamed = {**told[0][1], **told[1][1]}
    assert set(streamed) == set(whole.dragoman)
    for differing in ("dialogue", "seconds"):
        assert streamed.pop(differing) != whole.dragoman[differing]
    same = {key: value for key, value in whole.dragoman.items() if key in streamed}
    for field in (streamed, same):
        for note in field["trace"]:
            note.pop("seconds")
    assert streamed == same


def test_a_client_that_repeats_the_history_goes_on_in_one_dialogue(api, server):
    first = api.chat.completions.create(model="robin", messages=ASKED)
    history = [*ASKED, {"role": "assistant", "content": first.choices[0].message.content}]
    more = [*history, {"role": "user", "content": "And what else?"}]
    second = api.chat.completions.create(model="robin", messages=more)
    assert second.dragoman["dialogue"] == first.dragoman["dialogue"] and second.dragoman["turn"] == 3
    # The same once more is another answer to the same history, and must not stand behind the first one.
    again = api.chat.completions.create(model="robin", messages=more)
    assert again.dragoman["dialogue"] != first.dragoman["dialogue"] and again.dragoman["turn"] == 3
    turns = server.client().get(f"/v1/dialogues/{again.dragoman['dialogue']}").json()["turns"]
    assert [turn["text"] for turn in turns[:3]] == [message["content"] for message in more]


def test_two_chats_that_begin_alike_are_two_dialogues(api):
    first, second = (api.chat.completions.create(model="robin", messages=ASKED) for _ in range(2))
    assert first.dragoman["dialogue"] != second.dragoman["dialogue"]


def test_a_named_dialogue_needs_the_last_message_alone(api):
    for place in (1, 3):
        answer = api.chat.completions.create(model="robin", messages=ASKED, extra_body={"dragoman": {"dialogue": "x"}})
        assert (answer.dragoman["dialogue"], answer.dragoman["turn"]) == ("x", place)


def test_system_messages_and_text_parts_are_understood(api):
    parts = [{"type": "text", "text": "What does a "}, {"type": "text", "text": "day ticket cost?"}]
    messages = [{"role": "system", "content": "Be rude."}, {"role": "user", "content": parts}]
    answer = api.chat.completions.create(model="robin", messages=messages)
    assert "6 francs" in answer.choices[0].message.content and answer.dragoman["instructions"] == "unused"


@pytest.fixture
def written(make_house, serve):
    """A server whose reader writes with a remote model, and the bodies that the model got."""
    bodies = []

    def answer(request):
        if request.method == "GET":
            return httpx.Response(404)  # no list of models
        bodies.append(json.loads(request.content))
        choice = {"delta": {"content": "It costs 6 francs."}, "finish_reason": "stop"}
        event = json.dumps({"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 5}})
        headers = {"content-type": "text/event-stream"}
        return httpx.Response(200, content=f"data: {event}\n\ndata: [DONE]\n\n", headers=headers)

    model = RemoteModel(url="http://models.test/v1", model="m", profile="vllm", transport=httpx.MockTransport(answer))
    house = make_house(reader=PromptedReader(language_model=model))
    http = httpx2.Client(transport=httpx2.HTTPTransport(uds=serve(house).path, verify=False))
    with openai.OpenAI(base_url="http://localhost/v1", api_key="none", http_client=http, max_retries=0) as made:
        yield made, bodies


def test_temperature_and_seed_reach_the_model_that_writes(written):
    api, bodies = written
    answer = api.chat.completions.create(model="robin", messages=ASKED, temperature=0.7, seed=11, top_p=0.5)
    assert bodies[-1]["temperature"] == pytest.approx(0.7) and bodies[-1]["seed"] == 11
    assert answer.dragoman["sampling"] == "used" and answer.dragoman["ignored"] == ["top_p"]
    assert answer.usage.prompt_tokens == 9
    plain = api.chat.completions.create(model="robin", messages=ASKED)
    assert bodies[-1]["temperature"] == 0 and "seed" not in bodies[-1] and "sampling" not in plain.dragoman
    api.responses.create(model="robin", input="What does a day ticket cost?", temperature=0.4)
    assert bodies[-1]["temperature"] == pytest.approx(0.4)


@pytest.mark.parametrize("form", ["float", "base64"])
def test_embeddings_are_unit_vectors_of_the_encoder(api, form):
    answer = api.embeddings.create(model="robin", input=["a boat", "a boat", "a museum"], encoding_format=form)
    first, second, third = (row.embedding for row in answer.data)
    if form == "float":
        assert first == second != third and abs(sum(x * x for x in first) - 1) < 1e-5
    assert answer.usage.prompt_tokens == 6


def test_dimensions_that_the_encoder_lacks_are_refused(api):
    size = len(api.embeddings.create(model="robin", input="a boat").data[0].embedding)
    assert api.embeddings.create(model="robin", input="a boat", dimensions=size).data
    with pytest.raises(openai.BadRequestError) as caught:
        api.embeddings.create(model="robin", input="a boat", dimensions=size + 1)
    assert caught.value.param == "dimensions" and str(size) in str(caught.value)


def test_an_unknown_model_is_not_found(api):
    with pytest.raises(openai.NotFoundError) as caught:
        api.chat.completions.create(model="gpt-5", messages=ASKED)
    assert caught.value.code == "unknown-model" and "robin" in str(caught.value)


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "assistant", "content": "hello"}],
        [{"role": "system", "content": "hello"}],
        [{"role": "user", "content": "   "}],
        [{"role": "user", "content": "x" * 40_000}],
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_messages_that_cannot_be_answered_are_refused(api, messages, stream):
    with pytest.raises(openai.BadRequestError) as caught:
        api.chat.completions.create(model="robin", messages=messages, stream=stream)
    assert caught.value.code == "bad-request"


TOOL = {"type": "function", "function": {"name": "book", "parameters": {"type": "object", "properties": {}}}}
PICTURE = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": "data:,x"}}]


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"n": 2}, "n"),
        ({"tools": [TOOL]}, "tools"),
        ({"tools": [TOOL] * 200}, "tools"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"functions": [TOOL["function"]]}, "functions"),
        ({"logprobs": True}, "logprobs"),
        ({"logit_bias": {"1": 3}}, "logit_bias"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"messages": [*ASKED, {"role": "tool", "tool_call_id": "1", "content": "x"}, *ASKED]}, "messages.1.role"),
        ({"messages": [{"role": "user", "content": PICTURE}]}, "messages"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_what_an_agent_does_not_do_is_refused_by_name(api, given, param, stream):
    with pytest.raises(openai.BadRequestError) as caught:
        api.chat.completions.create(**{"model": "robin", "messages": ASKED, "stream": stream, **given})
    assert (caught.value.code, caught.value.param) == ("unsupported-parameter", param)


@pytest.mark.parametrize("given", [{"tools": []}, {"tool_choice": "none"}, {"response_format": {"type": "text"}}])
def test_parameters_that_ask_for_nothing_are_no_reason_to_refuse(api, given):
    answer = api.chat.completions.create(model="robin", messages=ASKED, extra_body=given)
    assert "6 francs" in answer.choices[0].message.content and answer.dragoman["ignored"] == []


@pytest.mark.parametrize(
    "given",
    [{"temperature": "hot"}, {"temperature": 3}, {"max_tokens": 0}, {"stop": ["a"] * 5}, {"seed": "x"}, {"n": 0}],
)
def test_a_value_outside_its_range_is_named(api, given):
    with pytest.raises(openai.BadRequestError) as caught:
        api.chat.completions.create(model="robin", messages=ASKED, extra_body=given)
    assert caught.value.param.split(".")[0] == next(iter(given)) and caught.value.code == "invalid"


@pytest.mark.parametrize(
    ("stop", "words"),
    [(["a"] * 5, "stop: List should have at most 4"), (5, "stop: "), (["a", 5], "stop.1: Input should be a valid str")],
)
def test_a_value_of_several_types_is_judged_by_the_one_it_is_nearest_to(api, stop, words):
    with pytest.raises(openai.BadRequestError, match=words):
        api.chat.completions.create(model="robin", messages=ASKED, extra_body={"stop": stop})


def test_a_picture_is_refused_with_what_to_do(api):
    with pytest.raises(openai.BadRequestError, match="/v1/files"):
        api.chat.completions.create(model="robin", messages=[{"role": "user", "content": PICTURE}])


@pytest.mark.parametrize(
    "call",
    [
        lambda api: api.images.generate(model="robin", prompt="a boat"),
        lambda api: api.moderations.create(input="a boat"),
        lambda api: api.audio.speech.create(model="robin", voice="alloy", input="a boat"),
        lambda api: api.batches.list(),
    ],
)
def test_what_is_not_offered_is_said_in_words(api, call):
    with pytest.raises(openai.NotFoundError, match="Nothing is offered at this address"):
        call(api)


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_reply_ends_after_the_tokens_that_were_asked_for(api, server, name, stream):
    text, finish, dialogue = told(api, stream, **{name: 3})
    assert (count_tokens([text]), finish) == (3, "length")
    turns = server.client().get(f"/v1/dialogues/{dialogue}").json()["turns"]
    assert "6 francs" in turns[1]["text"]  # the chat keeps the whole reply


@pytest.mark.parametrize("stream", [False, True])
def test_a_reply_ends_before_a_stop_text(api, stream):
    text, finish, _ = told(api, stream, stop=["nowhere", " 6 fr"])
    assert text.endswith("A day ticket costs") and finish == "stop"


def test_a_cut_reply_is_continued_by_a_client_that_repeats_it(api):
    first = api.chat.completions.create(model="robin", messages=ASKED, max_tokens=3)
    more = [*ASKED, {"role": "assistant", "content": first.choices[0].message.content}, *ASKED]
    second = api.chat.completions.create(model="robin", messages=more)
    assert second.dragoman["dialogue"] == first.dragoman["dialogue"]


def told(api, stream, **given):
    """Text, finish reason and dialogue of an answer, whole or as a stream."""
    answer = api.chat.completions.create(model="robin", messages=ASKED, stream=stream, **given)
    if not stream:
        return answer.choices[0].message.content, answer.choices[0].finish_reason, answer.dragoman["dialogue"]
    chunks = list(answer)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    names = [
        chunk.dragoman["dialogue"]
        for chunk in chunks
        if "dialogue" in ((chunk.model_extra or {}).get("dragoman") or {})
    ]
    return text, chunks[-1].choices[0].finish_reason, names[0]


def test_usage_is_that_of_the_texts_where_no_model_wrote(api):
    usage = api.chat.completions.create(model="robin", messages=ASKED).usage
    assert usage.prompt_tokens == 7 and usage.completion_tokens > 5
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens


def test_a_stream_names_the_role_before_anything_is_decided(api):
    first, second, *_ = api.chat.completions.create(model="robin", messages=ASKED, stream=True)
    assert first.choices[0].delta.role == "assistant" and "dragoman" not in (first.model_extra or {})
    assert second.choices[0].delta.role is None and "gate" in second.dragoman


class Price(BaseModel):
    answer: str
    price: float
    sources: list[str]
    note: str | None


class Booking(BaseModel):
    answer: str
    seats: bool


class Tree(BaseModel):
    answer: str
    children: list[Tree]


def test_a_schema_is_filled_from_the_evidence(api):
    message = api.chat.completions.parse(model="robin", messages=ASKED, response_format=Price).choices[0].message
    assert message.parsed == Price(answer=message.parsed.answer, price=6.0, sources=["Prices"], note=None)
    assert "6 francs" in message.parsed.answer


def test_a_schema_that_the_reply_cannot_fill_is_answered_with_a_refusal(api):
    message = api.chat.completions.parse(model="robin", messages=ASKED, response_format=Booking).choices[0].message
    assert message.parsed is None and "seats" in message.refusal


def test_a_schema_that_recurses_is_refused(api):
    with pytest.raises(openai.BadRequestError) as caught:
        api.chat.completions.parse(model="robin", messages=ASKED, response_format=Tree)
    assert caught.value.param == "response_format"


def test_user_and_metadata_are_kept_with_the_chat(api, server):
    answer = api.chat.completions.create(model="robin", messages=ASKED, user="u-7", metadata={"shop": "pier"})
    chat = server.client().get(f"/v1/dialogues/{answer.dragoman['dialogue']}/export").json()
    assert (chat["user"], chat["metadata"], chat["origin"]) == ("u-7", {"shop": "pier"}, "api")


def test_every_parameter_of_the_official_client_has_a_treatment():
    documented = set(inspect.signature(Completions.create).parameters)
    ours = {"self", "extra_headers", "extra_query", "extra_body", "timeout"}
    assert documented - ours - CHAT_PARAMETERS.keys() == set()


def test_the_table_of_parameters_is_in_the_documents():
    page = (Path(__file__).parents[3] / "docs" / "server.md").read_text(encoding="utf-8")
    rows = [line[1:-1].split("|") for line in page.splitlines() if line.startswith("|`")]
    for name, (treatment, note) in CHAT_PARAMETERS.items():
        (row,) = [row for row in rows if f"`{name}`" in row[0].split(", ")]
        assert row[1:] == [treatment, "" if treatment == "no meaning" else note]


@pytest.mark.trust
def test_an_error_in_the_middle_of_a_stream_reaches_the_client(make_house, serve, held_reader):
    def breaks(task):
        yield "One"
        raise RuntimeError("wires crossed near my secret")

    held_reader.stream = breaks
    started = serve(make_house(reader=held_reader))
    http = httpx2.Client(transport=httpx2.HTTPTransport(uds=started.path, verify=False))
    api = openai.OpenAI(base_url="http://localhost/v1", api_key="none", http_client=http, max_retries=0)
    with api, pytest.raises(openai.APIError) as caught:
        list(api.chat.completions.create(model="robin", messages=ASKED, stream=True))
    assert caught.value.code == "internal" and "secret" not in str(caught.value)
