"""Spans of turns: their shape after the GenAI conventions, and that nobody's words are in them."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from dragoman.core.errors import ConfigError
from dragoman.core.values import Draft, Usage
from dragoman.server.http.app import make_app, with_request_limits
from dragoman.server.observe.spans import Spans, exporter_of, wanted
from dragoman.server.turns.turn_runner import CallerTurn

pytestmark = pytest.mark.trust

SECRET = "My secret illness is lupus and what does a day ticket cost?"
WORDS = ("secret", "lupus", "francs", "ticket", "my-private-dialogue", "Wilhelmina")
TRACE = "0af7651916cd43dd8448eb211c80319c"


class ModelReader:
    """Answers as one that asked a model would, or fails with what was said."""

    def __init__(self, *, fails=False):
        self._fails = fails

    def read(self, tasks):
        if self._fails:
            raise ValueError(f"cannot read {tasks[0].context.last}")
        return [Draft(f"You said: {task.context.last}", 0.5, "generated", usage=Usage(7, 5, 1)) for task in tasks]

    def stream(self, task):
        draft = self.read([task])[0]
        yield draft.text
        yield draft


@pytest.fixture
def trace(make_house):
    """Hold a turn in a house that is watched; the spans that come of it, the turn's own last."""

    def run(text=SECRET, *, content=False, headers=None, keep=True, **options):
        service = make_house(**options)
        exporter = InMemorySpanExporter()
        spans = Spans(SimpleSpanProcessor(exporter), content=content)
        service.watchers.append(spans)
        app = spans.around(with_request_limits(make_app(service, warm=False), service))

        async def main():
            transport = httpx.ASGITransport(app=app)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                body = {"text": text, "dialogue": "my-private-dialogue", "keep": keep}
                await client.post("/v1/turns", json=body, headers=headers or {})
            await service.close()

        asyncio.run(main())
        spans.close()
        return exporter.get_finished_spans()

    return run


def everything(spans):
    """Every word in any of the spans."""
    return json.dumps([json.loads(span.to_json()) for span in spans], ensure_ascii=False)


def test_a_turn_is_a_span_with_one_below_it_for_each_role(trace):
    *roles, turn = trace(reader=ModelReader())
    assert turn.name == "invoke_agent robin" and turn.parent is None
    assert turn.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert turn.attributes["gen_ai.agent.name"] == "robin" and turn.attributes["gen_ai.provider.name"] == "dragoman"
    assert turn.attributes["gen_ai.usage.input_tokens"] == 7 and turn.attributes["gen_ai.usage.output_tokens"] == 5
    assert turn.attributes["dragoman.gate.retrieve"] is True
    assert turn.status.status_code is StatusCode.UNSET
    assert [span.attributes["dragoman.role"] for span in roles][-3:] == ["retriever", "retriever", "reader"]
    by_name = {span.name: span for span in roles}
    retrieval = by_name["retrieval DOCUMENTS"]
    assert retrieval.attributes["gen_ai.operation.name"] == "retrieval"
    assert retrieval.attributes["gen_ai.data_source.id"] == "DOCUMENTS"
    assert retrieval.attributes["dragoman.evidence.count"] == 1
    assert by_name["chat"].attributes["gen_ai.usage.output_tokens"] == 5
    assert by_name["gate"].attributes["dragoman.gate.probability"] == 1.0
    for span in roles:
        assert span.parent.span_id == turn.context.span_id
        assert turn.start_time <= span.start_time <= span.end_time <= turn.end_time


def test_no_words_of_users_documents_or_replies_are_in_any_span(trace):
    spans = trace(f"My name is Wilhelmina. {SECRET}", reader=ModelReader())
    assert len(spans) >= 5 and "memory" in {span.name for span in spans}
    told = everything(spans)
    assert not [word for word in WORDS if word.lower() in told.lower()]


def test_a_private_turn_leaves_no_words_even_with_content(trace):
    told = everything(trace(content=True, keep=False, reader=ModelReader()))
    assert not [word for word in WORDS if word.lower() in told.lower()]


def test_an_error_goes_by_its_kind_alone(trace):
    *_, turn = spans = trace(reader=ModelReader(fails=True))
    assert turn.status.status_code is StatusCode.ERROR and turn.attributes["error.type"] == "ValueError"
    assert not turn.events and not [word for word in WORDS if word in everything(spans)]


def test_with_content_the_words_stand_where_the_conventions_put_them(trace):
    *roles, turn = trace(content=True, reader=ModelReader())
    (asked,) = json.loads(turn.attributes["gen_ai.input.messages"])
    (said,) = json.loads(turn.attributes["gen_ai.output.messages"])
    assert asked == {"role": "user", "parts": [{"type": "text", "content": SECRET}]}
    assert said["parts"][0]["content"] == f"You said: {SECRET}"
    assert turn.attributes["gen_ai.conversation.id"] == "my-private-dialogue"
    assert (turn.attributes["input.value"], turn.attributes["output.value"]) == (SECRET, f"You said: {SECRET}")
    documents = next(span for span in roles if span.name == "retrieval DOCUMENTS").attributes
    assert "6 francs" in documents["gen_ai.retrieval.documents"]


def test_a_turn_belongs_to_the_trace_that_its_request_carries(trace):
    *_, turn = trace(headers={"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}, reader=ModelReader())
    assert f"{turn.context.trace_id:032x}" == TRACE and f"{turn.parent.span_id:016x}" == "b7ad6b7169203331"
    *_, other = trace(headers={"traceparent": "nonsense"}, reader=ModelReader())
    assert other.parent is None


def test_a_listener_who_leaves_is_no_error(make_house, held_reader):
    service = make_house(reader=held_reader)
    exporter = InMemorySpanExporter()
    service.watchers.append(Spans(SimpleSpanProcessor(exporter)))
    held_reader.held = True

    async def main():
        caller = await service.caller(None)
        run = await service.begin(caller, CallerTurn("hello there", dialogue="d"))
        while not held_reader.begun.is_set():
            await asyncio.sleep(0.01)
        run.cancel()
        held_reader.go.set()
        await service.close()

    asyncio.run(main())
    *_, turn = exporter.get_finished_spans()
    assert turn.attributes["error.type"] == "cancelled" and turn.status.status_code is StatusCode.UNSET


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, True),
        ({"OTEL_TRACES_EXPORTER": "console"}, True),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, False),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "true"}, False),
    ],
)
def test_the_standard_variables_switch_spans_on(environment, expected):
    assert wanted(environment) is expected


def test_an_exporter_that_is_not_known_is_refused():
    assert type(exporter_of({"OTEL_TRACES_EXPORTER": "console"})).__name__ == "ConsoleSpanExporter"
    assert type(exporter_of({})).__name__ == "OTLPSpanExporter"
    with pytest.raises(ConfigError, match="zipkin"):
        exporter_of({"OTEL_TRACES_EXPORTER": "zipkin"})
