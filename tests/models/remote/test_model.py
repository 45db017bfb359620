from __future__ import annotations

import contextlib
import json
import logging
import math
import threading
import time
from dataclasses import replace

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import ConfigError, EndpointError
from dragoman.core.values import Draft, Prompt, Sampling
from dragoman.models.remote.answers import AnswerToken
from dragoman.models.remote.choosing import by_counting, by_tokens, names_of
from dragoman.models.remote.endpoint import _retry_after
from dragoman.models.remote.model import RemoteModel
from dragoman.testing import LanguageModelConformance

pytestmark = pytest.mark.trust

URL = "http://models.test/v1"
PROMPT = Prompt.user("Is the sky blue?", system="Answer yes or no.")


def answer(text="Yes.", logprobs=None, **more):
    content = None if logprobs is None else {"content": [{"token": "t", "logprob": value} for value in logprobs]}
    choice = {"message": {"role": "assistant", "content": text}, "logprobs": content, "finish_reason": "stop"}
    return {"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 2}} | more


def alternatives(**shares):
    top = [{"token": token, "logprob": math.log(share)} for token, share in shares.items()]
    return {"choices": [{"message": {"content": "x"}, "logprobs": {"content": [{"top_logprobs": top}]}}]}


class Served:
    """An endpoint that gives the listed answers in turn, the last one ever after."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []
        self.waits = []

    def __call__(self, request):
        if request.method == "GET":
            return httpx.Response(404)  # no list of models
        self.requests.append(request)
        told = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(told, Exception):
            raise told
        if callable(told):
            told = told(json.loads(request.content))
        return told if isinstance(told, httpx.Response) else httpx.Response(200, json=told)

    def body(self, index=-1):
        return json.loads(self.requests[index].content)

    def model(self, **options):
        transport = httpx.MockTransport(self)
        return RemoteModel(**{"url": URL, "model": "m", "transport": transport, "sleep": self.waits.append} | options)


def failed(served, **options):
    with pytest.raises(EndpointError) as caught:
        served.model(**options).generate([PROMPT], max_tokens=5)
    assert caught.value.fields["url"] == URL
    assert caught.value.remedy
    return caught.value


def test_the_sampling_of_a_prompt_is_sent():
    served = Served(answer())
    model = served.model(temperature=0.2)
    model.generate([PROMPT], max_tokens=5)
    assert served.body()["temperature"] == pytest.approx(0.2) and "seed" not in served.body()
    model.generate([replace(PROMPT, sampling=Sampling(0.9, 7))], max_tokens=5)
    assert served.body()["temperature"] == pytest.approx(0.9) and served.body()["seed"] == 7
    assert model.takes_sampling and not served.model(profile="plain").takes_sampling


def test_generate_sends_a_chat_and_reads_text_confidence_and_usage():
    served = Served(answer("Yes, it is.", logprobs=[math.log(0.9), math.log(0.4)]))
    draft = served.model().generate([PROMPT], max_tokens=5, stop=("\n",))[0]
    assert draft.text == "Yes, it is."
    assert draft.confidence == pytest.approx(0.6)
    assert (draft.usage.prompt_tokens, draft.usage.completion_tokens) == (7, 2)
    assert str(served.requests[0].url) == f"{URL}/chat/completions"
    assert served.body()["messages"][0] == {"role": "system", "content": "Answer yes or no."}
    assert (served.body()["max_tokens"], served.body()["stop"]) == (5, ["\n"])


def test_without_log_probabilities_the_confidence_is_unknown():
    draft = Served(answer()).model().generate([PROMPT], max_tokens=5)[0]
    assert draft.confidence == 0.5
    assert "confidence" in draft.notes


def test_an_endpoint_that_refuses_log_probabilities_is_asked_without():
    served = Served(httpx.Response(400, json={"error": {"message": "logprobs unsupported"}}), answer("Yes."))
    model = served.model()
    assert model.generate([PROMPT], max_tokens=5)[0].text == "Yes."
    model.generate([PROMPT], max_tokens=5)
    assert [("logprobs" in served.body(i)) for i in range(3)] == [True, False, False]


def test_the_key_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("MY_KEY", "s3cret")
    served = Served(answer())
    served.model(key_env="MY_KEY").generate([PROMPT], max_tokens=5)
    assert served.requests[0].headers["authorization"] == "Bearer s3cret"


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("https://api.openai.com/v1/", True),
        ("https://proxy.test/v1", False),
        ("http://api.openai.com.evil.test/v1", False),
    ],
)
def test_a_vendors_own_key_goes_to_the_vendor_alone(monkeypatch, url, sent):
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret")
    for profile in ("auto", "openai"):
        served = Served(answer())
        served.model(url=url, model="gpt-4.1-mini", profile=profile).generate([PROMPT], max_tokens=5)
        assert ("authorization" in served.requests[0].headers) == sent


def test_a_missing_key_is_named_and_nothing_is_sent(monkeypatch):
    monkeypatch.delenv("MY_KEY", raising=False)
    served = Served(answer())
    assert "Set MY_KEY" in failed(served, key_env="MY_KEY").remedy
    assert served.requests == []


def test_credentials_in_the_address_are_not_shown():
    error = failed(Served(httpx.Response(401)), url="http://me:s3cret@models.test/v1")
    assert "s3cret" not in str(error)


@pytest.mark.parametrize(
    ("status", "remedy"), [(401, "key_env"), (403, "key_env"), (404, "url"), (400, "request"), (301, "url")]
)
def test_a_refusal_is_told_at_once(status, remedy):
    served = Served(httpx.Response(status, json={"error": {"message": "no such thing"}}))
    error = failed(served)
    assert str(status) in str(error)
    assert "no such thing" in str(error)
    assert remedy in error.remedy
    assert served.waits == []


@pytest.mark.parametrize("trouble", [httpx.Response(503), httpx.Response(500, text="<html>"), httpx.ConnectError("no")])
def test_passing_trouble_is_tried_again(trouble):
    served = Served(trouble, trouble, answer("Yes."))
    assert served.model().generate([PROMPT], max_tokens=5)[0].text == "Yes."
    assert len(served.waits) == 2
    assert 0.25 <= served.waits[0] <= 0.5 <= served.waits[1] <= 1.0


def test_lasting_trouble_is_an_error_after_the_retries():
    served = Served(httpx.Response(503))
    assert "503" in str(failed(served, retries=2))
    assert len(served.requests) == 3


def test_a_limit_says_how_long_to_wait():
    served = Served(httpx.Response(429, headers={"retry-after": "7"}), answer())
    served.model().generate([PROMPT], max_tokens=5)
    assert served.waits == [7.0]


def test_a_limit_that_stays_names_the_remedy():
    assert "concurrency" in failed(Served(httpx.Response(429)), retries=0).remedy


def test_a_limit_by_the_minute_is_waited_out_as_the_endpoint_asks():
    served = Served(httpx.Response(429, headers={"retry-after": "60"}), answer())
    served.model().generate([PROMPT], max_tokens=5)
    assert served.waits == [60.0]


@pytest.mark.parametrize(("header", "seconds"), [("", None), ("3", 3.0), ("-1", 0.0), ("soon", None)])
def test_the_wish_to_wait_is_read(header, seconds):
    assert _retry_after(header) == seconds


def test_the_wish_to_wait_may_be_a_date():
    assert _retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0


def test_a_time_out_names_the_limit():
    error = failed(Served(httpx.ReadTimeout("late")), retries=1, timeout=3)
    assert "within 3 s" in str(error)


def test_a_refused_connection_says_to_start_it():
    assert "Start it" in failed(Served(httpx.ConnectError("Connection refused")), retries=0).remedy


@pytest.mark.parametrize(
    ("nonsense", "words"),
    [
        (httpx.Response(200, text="<html>hi</html>"), "a web page"),
        (httpx.Response(200, text="hello"), "not JSON"),
        (httpx.Response(200, content=b"\xff\xfe\x00"), "not JSON"),
        (httpx.Response(200, text="[" * 100_000), "nested too deeply"),
        (httpx.Response(200, content=b"x" * (9 << 20)), "more than 8 MB"),
        ([1, 2], "not an object"),
        ({}, "without any choice"),
        ({"choices": []}, "without any choice"),
        ({"choices": ["x"]}, "without any choice"),
        ({"choices": [{"message": {"content": None}}]}, "without any text"),
        ({"choices": [{}]}, "without any text"),
        ({"error": {"message": "out of memory"}}, "out of memory"),
    ],
)
def test_nonsense_is_called_so(nonsense, words):
    assert words in str(failed(Served(nonsense)))


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "message", "content", "logprobs", "top_logprobs", "token", "logprob", "usage", "delta"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(
    st.fixed_dictionaries({"choices": st.lists(st.dictionaries(st.sampled_from(["message", "logprobs"]), junk))}) | junk
)
def test_whatever_json_comes_only_endpoint_errors_escape(told):
    body = json.dumps(told)
    model = Served(lambda _: httpx.Response(200, text=body)).model(samples=1)
    with contextlib.suppress(EndpointError):
        assert 0 <= model.generate([PROMPT], max_tokens=5)[0].confidence <= 1
    with contextlib.suppress(EndpointError):
        assert sum(model.choose([PROMPT], ["Yes", "No"])[0].values()) == pytest.approx(1)
    streamed = Served(lambda _: events(told)).model()
    with contextlib.suppress(EndpointError):
        assert isinstance(list(streamed.stream(PROMPT, max_tokens=5))[-1], Draft)


def test_answers_keep_the_order_of_the_prompts():
    served = Served(lambda body: answer(body["messages"][-1]["content"]))
    prompts = [Prompt.user(str(n)) for n in range(9)]
    assert [draft.text for draft in served.model().generate(prompts, max_tokens=5)] == [str(n) for n in range(9)]


def test_no_more_requests_run_at_once_than_allowed():
    running, most, lock = [0], [0], threading.Lock()

    def slow(body):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.02)
        with lock:
            running[0] -= 1
        return answer()

    Served(slow).model(concurrency=2).generate([PROMPT] * 8, max_tokens=5)
    assert most[0] == 2


def events(*chunks, end="data: [DONE]\n\n"):
    lines = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    return httpx.Response(200, text=": ping\n\n" + lines + end)


def delta(text, logprob=None):
    told = None if logprob is None else {"content": [{"token": text, "logprob": logprob}]}
    return {"choices": [{"delta": {"content": text}, "logprobs": told}]}


def test_stream_gives_pieces_and_then_the_draft():
    usage = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
    served = Served(events(delta("Yes", math.log(0.5)), delta(", sure", math.log(0.5)), usage))
    *pieces, draft = served.model().stream(PROMPT, max_tokens=5)
    assert pieces == ["Yes", ", sure"]
    assert isinstance(draft, Draft)
    assert (draft.text, draft.usage.prompt_tokens) == ("Yes, sure", 3)
    assert draft.confidence == pytest.approx(0.5)
    assert served.body()["stream"] is True


@pytest.mark.parametrize(
    "nonsense",
    [
        httpx.Response(200, text="<html>"),
        events(end="data: {half\n\n"),
        events({"choices": "x"}),
        events({"choices": []}),
        httpx.Response(401),
    ],
)
def test_a_stream_of_nonsense_is_an_error(nonsense):
    with pytest.raises(EndpointError):
        list(Served(nonsense).model().stream(PROMPT, max_tokens=5))


def test_a_model_that_declines_in_a_field_of_its_own_is_an_error():
    declined = {"content": None, "refusal": "I can't help with that."}
    assert "declined to reply" in failed(Served({"choices": [{"message": declined, "finish_reason": "stop"}]})).message
    ended = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    pieces = ({"choices": [{"delta": {"refusal": word}}]} for word in ("I ", "can't"))
    with pytest.raises(EndpointError, match="declined to reply"):
        list(Served(events(*pieces, ended)).model().stream(PROMPT, max_tokens=5))
    both = {"content": "Yes.", "refusal": None}
    (draft,) = (
        Served({"choices": [{"message": both, "finish_reason": "stop"}]}).model().generate([PROMPT], max_tokens=5)
    )
    assert draft.text == "Yes."


def test_an_empty_text_is_never_sure_of_itself():
    empty = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    (streamed,) = Served(events(empty)).model().stream(PROMPT, max_tokens=5)
    whole = {"choices": [{"message": {"content": None}, "finish_reason": "stop"}]}
    (draft,) = Served(whole).model().generate([PROMPT], max_tokens=5)
    assert isinstance(streamed, Draft)
    assert (streamed.text, streamed.confidence) == (draft.text, draft.confidence) == ("", 0.0)


def test_closing_a_stream_closes_the_connection():
    response = events(*[delta("x")] * 50)
    stream = Served(response).model().stream(PROMPT, max_tokens=50)
    next(stream)
    stream.close()
    assert response.is_closed


def test_choose_reads_the_first_token():
    served = Served(alternatives(**{"Yes": 0.3, " yes": 0.1, "No": 0.1, "Perhaps": 0.5}))
    model = served.model()
    assert model.choice_method == "untried"
    assert model.choose([PROMPT], ["Yes", "No"])[0] == pytest.approx({"Yes": 0.8, "No": 0.2})
    assert model.choice_method == "logprobs"
    assert served.body()["top_logprobs"] == 20
    assert len(served.requests) == 1


def test_choose_counts_at_most_three_samples_where_there_is_nothing_better(caplog):
    said = iter(["Yes.", "yes", "**No**"] + ["Yes."] * 30)
    served = Served(lambda body: answer(next(said)))
    model = served.model(concurrency=1)
    with caplog.at_level(logging.WARNING):
        first, second = model.choose([PROMPT] * 2, ["Yes", "No"])
    assert first == pytest.approx({"Yes": 2.5 / 4, "No": 1.5 / 4})
    assert second == pytest.approx({"Yes": 3.5 / 4, "No": 0.5 / 4})
    assert model.choice_method == "sampling"
    assert len(caplog.records) == 1
    assert len(served.requests) == 6, "three calls each"
    assert served.body()["temperature"] == 1.0


def test_choose_asks_for_json_where_log_probabilities_are_refused():
    def reply(body):
        if "logprobs" in body:
            return httpx.Response(400, json={"error": {"message": "logprobs is not supported", "param": "logprobs"}})
        return answer(json.dumps({"answer": "No", "confidence": 80}))

    served = Served(reply)
    model = served.model()
    chosen = model.choose([PROMPT], ["Yes", "No"])[0]
    assert chosen["No"] > 0.5
    model.choose([PROMPT], ["Yes", "No"])
    assert model.choice_method == "schema"
    assert model.choose([PROMPT], ["Yes", "No"])[0] == pytest.approx({"Yes": 0.2, "No": 0.8})
    schema = served.body()["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["answer"]["enum"] == ["Yes", "No"]
    before = len(served.requests)
    model.choose([PROMPT], ["Yes", "No"])
    assert len(served.requests) == before + 1, "a choice by schema costs one call"


def test_choose_passes_on_other_failures():
    with pytest.raises(EndpointError, match="401"):
        Served(httpx.Response(401)).model().choose([PROMPT], ["Yes", "No"])


def token(text, **shares):
    return AnswerToken(
        text, math.log(shares[text]) if text in shares else -0.01, tuple((k, math.log(v)) for k, v in shares.items())
    )


def test_options_that_begin_alike_are_told_apart_further_on():
    scores = names_of([f"{tenth / 10:.1f}" for tenth in range(11)])
    reply = [token("0", **{"0": 0.8, "1": 0.2}), AnswerToken(".", -0.0), token("7", **{"7": 0.5, "3": 0.5})]
    shares = by_tokens(reply, scores)
    assert shares["0.7"] == pytest.approx(0.4)
    assert shares["0.3"] == pytest.approx(0.4)
    assert shares["1.0"] == pytest.approx(0.2)
    assert sum(shares.values()) == pytest.approx(1)


def test_an_option_that_is_the_beginning_of_another_is_chosen_where_the_reply_ends():
    names = names_of(["PERSON", "PERSONA", "DOCUMENTS"])
    ended = [token("PERSON", PERSON=0.9, DOC=0.1)]
    assert by_tokens(ended, names) == pytest.approx({"PERSON": 0.9, "PERSONA": 0.0, "DOCUMENTS": 0.1})
    longer = [token("PERSON", PERSON=0.9, DOC=0.1), token("A", A=0.7)]
    assert by_tokens(longer, names)["PERSONA"] == pytest.approx(0.63)
    assert by_tokens([AnswerToken("Hm", -0.1)], names_of(["Yes", "No"])) is None


def test_an_answer_after_some_words_and_thoughts_is_found():
    reply = [
        AnswerToken("<think>", 0),
        AnswerToken("Yes? No.", 0),
        AnswerToken("</think>", 0),
        AnswerToken("I say", 0),
        token(" No", **{" No": 0.75, " Yes": 0.25}),
    ]
    assert by_tokens(reply, names_of(["Yes", "No"])) == pytest.approx({"Yes": 0.25, "No": 0.75})


def test_what_one_thread_learns_is_not_forgotten_by_another():
    started, learned = threading.Event(), threading.Event()

    def reply(body):
        if body["messages"][-1]["content"] == "slow":
            started.set()
            learned.wait(60)
        elif "logprobs" in body:
            return httpx.Response(400, json={"error": {"message": "logprobs is not supported"}})
        return answer("Hi")

    model = Served(reply).model()
    assert model.knowledge.profile.logprobs
    slow = threading.Thread(target=lambda: model.generate([Prompt.user("slow")], max_tokens=5))
    slow.start()
    started.wait(60)
    model.generate([Prompt.user("quick")], max_tokens=5)
    assert not model.knowledge.profile.logprobs
    learned.set()
    slow.join(60)
    assert not model.knowledge.profile.logprobs


def test_sentences_go_by_letters():
    options = ["It leaves at nine.", "It leaves at ten."]
    assert list(names_of(options).values()) == ["A", "B"]
    served = Served(alternatives(A=0.6, B=0.2))
    assert served.model().choose([PROMPT], options)[0] == pytest.approx({options[0]: 0.75, options[1]: 0.25})
    assert "B: It leaves at ten." in served.body()["messages"][-1]["content"]


def test_counting_prefers_the_longest_option_and_leaves_none_impossible():
    assert by_counting(["PERSONA", "PERSONA!"], names_of(["PERSON", "PERSONA"])) == pytest.approx(
        {"PERSON": 1 / 6, "PERSONA": 5 / 6}
    )
    assert by_counting(["?"], names_of(["a", "b"])) == {"a": 0.5, "b": 0.5}


@pytest.mark.parametrize("options", [{"url": "models.test"}, {"timeout": 0}, {"concurrency": 0}, {"retries": -1}])
def test_impossible_options_are_refused(options):
    with pytest.raises(ConfigError):
        Served(answer()).model(**options)


def conforming(body):
    text = "Hello there."
    for mark in body.get("stop", ()):
        text = text.partition(mark)[0]
    if body.get("stream"):
        return events(delta("Hello"), delta(" there."))
    if "top_logprobs" in body:
        return alternatives(True_=0.1)
    return answer(text)


class TestRemoteConforms(LanguageModelConformance):
    repeats = False

    @pytest.fixture
    def language_model(self):
        return Served(conforming).model(samples=2)


def test_a_stream_that_is_refused_is_asked_again_without_log_probabilities():
    def stream(body):
        if "logprobs" in body:
            return httpx.Response(400, json={"error": {"message": "logprobs unsupported"}})
        event = {"choices": [{"delta": {"content": "Yes."}}]}
        return httpx.Response(200, text=f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n")

    served = Served(stream)
    with contextlib.closing(served.model()) as model:
        for _ in range(2):
            *pieces, draft = model.stream(PROMPT, max_tokens=8)
            assert (pieces, draft.text) == (["Yes."], "Yes.")
    assert [("logprobs" in served.body(i)) for i in range(3)] == [True, False, False]


def test_a_stream_that_is_refused_for_another_reason_says_so():
    served = Served(httpx.Response(400, json={"error": {"message": "no such model"}}))
    with contextlib.closing(served.model()) as model, pytest.raises(EndpointError, match="no such model"):
        list(model.stream(PROMPT, max_tokens=8))
