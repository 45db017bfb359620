"""The paths of OpenAI's API, driven by the official client."""

from __future__ import annotations

import httpx2
import openai
import pytest


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
    assert "6 francs" in answer.choices[0].message.content and answer.dragoman["ignored"] == ["messages.system"]


@pytest.mark.parametrize("form", ["float", "base64"])
def test_embeddings_are_unit_vectors_of_the_encoder(api, form):
    answer = api.embeddings.create(model="robin", input=["a boat", "a boat", "a museum"], encoding_format=form)
    first, second, third = (row.embedding for row in answer.data)
    if form == "float":
        assert first == second != third and abs(sum(x * x for x in first) - 1) < 1e-5
    assert answer.usage.prompt_tokens == 6


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
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}],
        [{"role": "user", "content": "x" * 40_000}],
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_messages_that_cannot_be_answered_are_refused(api, messages, stream):
    with pytest.raises(openai.BadRequestError) as caught:
        api.chat.completions.create(model="robin", messages=messages, stream=stream)
    assert caught.value.code == "bad-request"


def test_several_answers_at_once_are_refused(api):
    with pytest.raises(openai.UnprocessableEntityError):
        api.chat.completions.create(model="robin", messages=ASKED, n=2)


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
