from __future__ import annotations

import gzip
import json
import socket
import ssl
import threading
import time
from contextlib import suppress

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_socket import enable_socket, socket_allow_hosts
from tests.effort import assert_linear

from dragoman.core.errors import ConfigError, EndpointError, LimitError
from dragoman.core.values import Draft, Prompt
from dragoman.models.metering import metered
from dragoman.models.remote.answers import AnswerToken, Delta, join_deltas
from dragoman.models.remote.endpoint import is_url
from dragoman.models.remote.model import RemoteModel

pytestmark = pytest.mark.trust

URL = "http://models.test/v1"
PROMPT = Prompt.user("Say hello.")


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Pieces(httpx.SyncByteStream):
    """A body in pieces, with time passing before each."""

    def __init__(self, pieces, clock=None, seconds=0.0):
        self.pieces, self.clock, self.seconds = pieces, clock, seconds
        self.given = 0

    def __iter__(self):
        for piece in self.pieces:
            if self.clock:
                self.clock.now += self.seconds
            self.given += len(piece)
            yield piece


def model_of(handle, **options):
    def answer(request):
        return httpx.Response(404) if request.method == "GET" else handle(request)

    defaults = {"url": URL, "model": "m", "transport": httpx.MockTransport(answer), "sleep": lambda _: None}
    return RemoteModel(**defaults | options)


def event(text, finish=None):
    return f"data: {json.dumps({'choices': [{'delta': {'content': text}, 'finish_reason': finish}]})}\n\n".encode()


def endless(piece):
    while True:
        yield piece


def test_a_body_that_drips_is_given_up_at_the_deadline():
    clock = Clock()
    body = Pieces(endless(b" "), clock, 5.0)
    model = model_of(lambda request: httpx.Response(200, stream=body), deadline=60, clock=clock)
    with pytest.raises(EndpointError, match="within 60 s"):
        model.generate([PROMPT], max_tokens=5)
    assert body.given <= 14


def test_a_stream_that_drips_is_given_up_at_the_deadline():
    clock = Clock()
    model = model_of(
        lambda request: httpx.Response(200, stream=Pieces(endless(event("a")), clock, 5.0)), deadline=60, clock=clock
    )
    with pytest.raises(EndpointError, match="within 60 s"):
        list(model.stream(PROMPT, max_tokens=5))


@pytest.mark.parametrize(("headers", "words"), [({}, "within 60 s"), ({"retry-after": "25"}, "429.*wait 25 s")])
def test_retries_end_at_the_deadline_too(headers, words):
    clock = Clock()

    def sleep(seconds):
        clock.now += seconds

    model = model_of(
        lambda request: httpx.Response(429, headers=headers), deadline=60, retries=50, clock=clock, sleep=sleep
    )
    with pytest.raises(EndpointError, match=words):
        model.generate([PROMPT], max_tokens=5)
    assert clock.now <= 60


def test_a_wait_that_is_too_long_is_told_at_once():
    waits = []
    model = model_of(lambda request: httpx.Response(429, headers={"retry-after": "9999"}), sleep=waits.append)
    with pytest.raises(EndpointError, match="429 Too Many Requests; it asks to wait 9999 s") as caught:
        model.generate([PROMPT], max_tokens=5)
    assert "lower concurrency" in caught.value.remedy
    assert waits == []


def test_a_stream_of_very_many_events_is_joined_in_linear_time():
    deltas = [Delta("la " * 200, tokens=(AnswerToken("la", -0.1),)) for _ in range(12_000)]
    assert_linear(lambda count: join_deltas(deltas[:count]), len(deltas))
    whole = join_deltas(deltas)
    assert (len(whole.text), len(whole.tokens)) == (12_000 * 600, 12_000)


def test_a_whole_reply_in_place_of_a_stream_is_taken():
    body = {"choices": [{"message": {"content": "Hello!"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 7}}
    text = json.dumps(body, indent=1)
    *pieces, draft = model_of(lambda request: httpx.Response(200, text=text)).stream(PROMPT, max_tokens=5)
    assert pieces == [draft.text] == ["Hello!"]
    assert draft.usage.prompt_tokens == 7


@pytest.mark.parametrize("streamed", [True, False])
def test_a_body_without_end_is_not_kept_in_memory(streamed):
    body = Pieces(endless(event("a" * 10_000) if streamed else b"x" * 65_536))
    model = model_of(lambda request: httpx.Response(200, stream=body))
    with pytest.raises(EndpointError, match="more than 8 MB"):
        list(model.stream(PROMPT, max_tokens=5)) if streamed else model.generate([PROMPT], max_tokens=5)
    assert body.given < 10 << 20


def test_a_long_refusal_is_not_read_to_its_end():
    body = Pieces(endless(b"x" * 65_536))
    with pytest.raises(EndpointError, match="400"):
        model_of(lambda request: httpx.Response(400, stream=body)).generate([PROMPT], max_tokens=5)
    assert body.given < 1 << 20


@pytest.mark.parametrize("number", [10**30, -5, 1e300, float("inf"), float("nan"), "many", None, True, [1], 10**400])
def test_absurd_numbers_are_kept_within_reason(number):
    usage = {
        "prompt_tokens": number,
        "completion_tokens": number,
        "completion_tokens_details": {"reasoning_tokens": number},
        "prompt_tokens_details": {"cached_tokens": number},
    }
    content = [{"token": "Hi", "logprob": number, "top_logprobs": [{"token": "Yes", "logprob": number}]}]
    choice = {"message": {"content": "Yes"}, "finish_reason": "stop", "logprobs": {"content": content}}
    text = json.dumps({"choices": [choice], "usage": usage})
    model = model_of(lambda request: httpx.Response(200, text=text))
    draft = model.generate([PROMPT], max_tokens=5)[0]
    assert 0 <= draft.confidence <= 1
    assert 0 <= draft.usage.total_tokens <= 10**10
    assert sum(model.choose([PROMPT], ["Yes", "No"])[0].values()) == pytest.approx(1)


def test_a_number_with_a_million_digits_is_an_error():
    text = '{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": ' + "9" * 1_000_000 + "}}"
    with pytest.raises(EndpointError, match="not JSON"):
        model_of(lambda request: httpx.Response(200, text=text)).generate([PROMPT], max_tokens=5)


@pytest.mark.parametrize(
    "text", ["[" * 200_000, '{"choices":' * 50_000, '{"error":' + '{"a":' * 50_000, '{"error": "' + "a" * 60_000 + '"}']
)
@pytest.mark.parametrize("status", [200, 400, 500])
def test_deep_and_long_json_is_an_error_with_a_remedy(text, status):
    with pytest.raises(EndpointError) as caught:
        model_of(lambda request: httpx.Response(status, text=text), retries=0).generate([PROMPT], max_tokens=5)
    assert caught.value.remedy
    assert len(str(caught.value)) < 1000


def test_a_stream_that_stops_in_the_middle_is_an_error_after_its_pieces():
    stream = model_of(lambda request: httpx.Response(200, content=event("Hello"))).stream(PROMPT, max_tokens=5)
    assert next(stream) == "Hello"
    with pytest.raises(EndpointError, match="broke off in the middle"):
        next(stream)


def test_a_stream_without_its_last_mark_is_whole_once_it_says_why_it_ended():
    body = event("Hello") + event("", "stop")
    *pieces, draft = model_of(lambda request: httpx.Response(200, content=body)).stream(PROMPT, max_tokens=5)
    assert pieces == ["Hello"]
    assert isinstance(draft, Draft)


def test_invalid_utf_8_and_halves_of_surrogate_pairs_are_replaced():
    body = b'data: {"choices": [{"delta": {"content": "a\xff\\ud800b"}, "finish_reason": "stop"}]}\n\n'
    *pieces, draft = model_of(lambda request: httpx.Response(200, content=body)).stream(PROMPT, max_tokens=5)
    assert draft.text == "".join(pieces)
    draft.text.encode("utf-8")
    assert draft.text.startswith("a") and draft.text.endswith("b")


def test_ten_megabytes_of_prompt_are_cut_to_the_window():
    sizes = []

    def handle(request):
        sizes.append(len(request.content))
        return httpx.Response(200, json={"choices": [{"message": {"content": "Hi"}}]})

    draft = model_of(handle).generate([Prompt.user("word " * 2_000_000)], max_tokens=5)[0]
    assert sizes[0] < 200_000
    assert "cut" in draft.notes


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_to_another_host_gets_neither_key_nor_text(status, monkeypatch):
    monkeypatch.setenv("MY_KEY", "s3cret")
    hosts = []

    def handle(request):
        hosts.append(request.url.host)
        return httpx.Response(status, headers={"location": "http://evil.test/v1/chat/completions"})

    with pytest.raises(EndpointError, match=r"redirects to another host, http://evil\.test") as caught:
        model_of(handle, key_env="MY_KEY").generate([PROMPT], max_tokens=5)
    assert hosts == ["models.test"]
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("place", ["/login", "http://[", "http://models.test:99999999/"])
def test_a_redirect_that_would_drop_the_request_is_an_error_with_a_remedy(place):
    with pytest.raises(EndpointError, match="redirects to") as caught:
        model_of(lambda request: httpx.Response(302, headers={"location": place})).generate([PROMPT], max_tokens=5)
    assert "url" in caught.value.remedy


def test_a_redirect_on_the_same_host_is_followed():
    def handle(request):
        if request.url.path == "/v1/chat/completions":
            return httpx.Response(308, headers={"location": "/api/v1/chat/completions"})
        return httpx.Response(200, json={"choices": [{"message": {"content": "Hi"}}]})

    assert model_of(handle).generate([PROMPT], max_tokens=5)[0].text == "Hi"


def test_a_certificate_that_fails_is_told_at_once():
    tries = []

    def handle(request):
        tries.append(request)
        cause = ssl.SSLCertVerificationError("certificate verify failed: self-signed certificate (_ssl.c:1000)")
        raise httpx.ConnectError(f"[SSL: CERTIFICATE_VERIFY_FAILED] {cause}") from cause

    with pytest.raises(EndpointError, match="self-signed certificate") as caught:
        model_of(handle).generate([PROMPT], max_tokens=5)
    assert "SSL_CERT_FILE" in caught.value.remedy
    assert len(tries) == 1


def test_a_limit_without_a_time_is_waited_out():
    answers = [
        httpx.Response(429),
        httpx.Response(529),
        httpx.Response(200, json={"choices": [{"message": {"content": "Hi"}}]}),
    ]
    waits = []
    model = model_of(lambda request: answers.pop(0), sleep=waits.append)
    assert model.generate([PROMPT], max_tokens=5)[0].text == "Hi"
    assert len(waits) == 2


def test_a_used_up_quota_is_not_waited_for():
    body = {
        "error": {
            "message": "You exceeded your current quota, please check your plan and billing details.",
            "code": "insufficient_quota",
        }
    }
    waits = []
    with pytest.raises(EndpointError) as caught:
        model_of(lambda request: httpx.Response(429, json=body), sleep=waits.append).generate([PROMPT], max_tokens=5)
    assert "credit" in caught.value.remedy
    assert waits == []


def test_a_model_without_a_chat_template_says_what_to_choose():
    message = (
        "As of transformers v4.44, default chat template is no longer allowed, so you must provide a chat template"
    )
    with pytest.raises(EndpointError) as caught:
        model_of(lambda request: httpx.Response(400, json={"message": message})).generate([PROMPT], max_tokens=5)
    assert "instruct model" in caught.value.remedy


def test_a_budget_stops_before_it_is_passed():
    usage = {"prompt_tokens": 60, "completion_tokens": 40}
    answer = {"choices": [{"message": {"content": "Hi"}}], "usage": usage}
    sent = []

    def handle(request):
        sent.append(request)
        return httpx.Response(200, json=answer)

    model = model_of(handle, prices={"input": 1.0, "output": 10.0}, budget={"tokens": 200})
    model.generate([PROMPT], max_tokens=5)
    with pytest.raises(LimitError, match="200 tokens a day"):
        model.generate([PROMPT], max_tokens=120)  # 100 are used, and this call may use 120 more
    assert len(sent) == 1
    model.generate([PROMPT], max_tokens=5)
    with pytest.raises(LimitError, match="200 tokens a day"):
        model.generate([PROMPT], max_tokens=5)
    assert len(sent) == 2
    assert model.spending.price(model.spent) == pytest.approx(2 * (60 * 1 + 40 * 10) / 1e6)


@pytest.mark.parametrize("budget", ["budget", "turn_budget"])
def test_calls_at_once_pass_no_budget_together(budget):
    sent = []

    def handle(request):
        sent.append(request)
        time.sleep(0.05)  # so that the others are asked for meanwhile
        return httpx.Response(200, json={"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]})

    model = model_of(handle, concurrency=4, **{budget: {"calls": 2}})
    with metered(turns=1), pytest.raises(LimitError, match="2 calls"):
        model.generate([PROMPT] * 4, max_tokens=5)
    assert len(sent) <= 2


def test_a_call_that_fails_gives_its_share_of_the_budget_back():
    answers = [httpx.Response(401, text="no"), httpx.Response(200, json={"choices": [{"message": {"content": "Hi"}}]})]
    model = model_of(lambda request: answers.pop(0), budget={"calls": 1})
    with pytest.raises(EndpointError, match="401"):
        model.generate([PROMPT], max_tokens=5)
    assert model.generate([PROMPT], max_tokens=5)[0].text == "Hi"


def test_a_budget_for_a_turn_counts_the_calls_of_the_turn_alone():
    usage = {"prompt_tokens": 60, "completion_tokens": 40}
    answer = {"choices": [{"message": {"content": "Hi"}}], "usage": usage}
    model = model_of(
        lambda request: httpx.Response(200, json=answer),
        prices={"input": 1.0, "output": 10.0},
        turn_budget={"calls": 2},
    )
    for _ in range(2):
        with metered(turns=1) as meter:
            model.generate([PROMPT, PROMPT], max_tokens=5)  # in worker threads, which the meter follows
            with pytest.raises(LimitError, match="2 calls a turn"):
                model.generate([PROMPT], max_tokens=5)
        assert meter.usage.calls == 2
        assert meter.price == pytest.approx(2 * (60 * 1 + 40 * 10) / 1e6)
    model.generate([PROMPT], max_tokens=5)  # outside of any turn


@pytest.fixture
def listening():
    """A server of one connection after the other that answers with what a test writes."""
    enable_socket()
    socket_allow_hosts(["127.0.0.1", "localhost"], allow_unix_socket=True)
    opened = socket.create_server(("127.0.0.1", 0))

    def serve(answer):
        def run():
            with suppress(OSError):
                while True:
                    connection, _ = opened.accept()
                    with connection, suppress(OSError):
                        connection.recv(65_536)
                        answer(connection)

        threading.Thread(target=run, daemon=True).start()
        return f"http://127.0.0.1:{opened.getsockname()[1]}/v1"

    yield serve
    opened.close()


def test_headers_that_drip_are_given_up_at_the_deadline(listening):
    """The client's own timeout starts anew with every byte: 100 kB of headers could hold a worker for days."""

    waited_for = []

    def drip(connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
        for _ in range(600):
            connection.sendall(b"a")  # an error, once the client has hung up
            time.sleep(0.1)
        waited_for.append("drip")

    model = RemoteModel(url=listening(drip), model="m", deadline=1.0, timeout=30.0, profile="plain")
    with pytest.raises(EndpointError, match="did not answer"):
        model.generate([PROMPT], max_tokens=5)
    assert waited_for == []


@pytest.mark.parametrize("coding", ["gzip", "gzip, gzip", "br", "deflate"])
def test_a_packed_body_is_refused_before_it_is_unpacked(coding):
    packed = gzip.compress(gzip.compress(b" " * 2**24))
    model = model_of(
        lambda request: httpx.Response(200, headers={"content-encoding": coding}, stream=Pieces([packed])), retries=0
    )
    with pytest.raises(EndpointError, match="content encoding"):
        model.generate([PROMPT], max_tokens=5)


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("http://localhost:11434/v1", True),
        ("https://[::1]:8000/v1", True),
        ("http://", False),
        ("http://[::1", False),
        ("http://host:port/v1", False),
        ("http://host:99999", False),
        ("ftp://host/v1", False),
        ("host/v1", False),
    ],
)
def test_an_address_has_a_scheme_a_host_and_a_port_that_there_can_be(text, good):
    assert is_url(text) == good
    if not good:
        with pytest.raises(ConfigError, match="not an address"):
            RemoteModel(url=text, model="m")


@given(st.text())
def test_whatever_is_given_as_an_address_is_taken_or_refused_in_words(text):
    with suppress(ConfigError):
        RemoteModel(url=f"http://{text}", model="m").close()
