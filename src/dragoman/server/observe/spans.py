"""OpenTelemetry spans of turns by the GenAI conventions: one per turn, with one per role below it.

Off by default. Spans hold no user data unless `content` is on. They are created when a turn ends, with the recorded
times, so that turns do not wait for them.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, TypeAlias

from opentelemetry import context as otel_context
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter
from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from dragoman import __version__
from dragoman.core.errors import ConfigError
from dragoman.core.trace import Note, Refinement, Retrieval
from dragoman.core.values import Draft, Learned, Plan, Verdict

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import SpanProcessor
    from opentelemetry.trace import Tracer

    from dragoman.server.hosted_agent import Hosted
    from dragoman.server.http.request_limits import App, Receive, Send
    from dragoman.server.turns.events import TurnDone
    from dragoman.server.turns.turn_runner import CallerTurn

Attributes: TypeAlias = dict[str, str | int | float | bool | tuple[str, ...]]
PROVIDER = "dragoman"
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_CALLED_OFF: tuple[str | None, ...] = ("GeneratorExit", "CancelledError")


def wanted(environment: Mapping[str, str]) -> bool:
    """Whether the standard OTEL_* variables enable spans."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    named = environment.get("OTEL_TRACES_EXPORTER", "").strip()
    return named not in ("", "none") or (not named and any(environment.get(name) for name in _ENDPOINTS))


def exporter_of(environment: Mapping[str, str]) -> SpanExporter:
    """The exporter of OTEL_TRACES_EXPORTER: `otlp` over HTTP, or `console`, which is standard error."""
    named = environment.get("OTEL_TRACES_EXPORTER", "").strip() or "otlp"
    if named == "console":
        return ConsoleSpanExporter(out=sys.stderr)
    if named != "otlp":
        raise ConfigError(f"OTEL_TRACES_EXPORTER is '{named}'.", remedy="Use otlp or console.")
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter()


class Spans:
    """Creates spans of turns, with a tracer provider of its own, separate from other packages' traces."""

    def __init__(self, processor: SpanProcessor, *, content: bool = False) -> None:
        named = {} if os.environ.get("OTEL_SERVICE_NAME") else {SERVICE_NAME: PROVIDER}
        resource = Resource.create({**named, SERVICE_VERSION: __version__})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("dragoman.server", __version__)
        self._content = content

    @classmethod
    def exporting(cls, environment: Mapping[str, str], *, content: bool = False) -> Spans:
        """Spans exported in batches in the background, as the environment configures."""
        return cls(BatchSpanProcessor(exporter_of(environment)), content=content)

    def __call__(self, hosted: Hosted, ask: CallerTurn) -> TurnSpan:
        """Start to follow a turn, as a child of its request's trace."""
        model = str(hosted.assistant.config.get("models", {}).get("language", {}).get("weights", ""))
        parent = otel_context.get_current()
        content = self._content and ask.control.keep  # a private turn leaves no words anywhere
        return TurnSpan(self._tracer, ask, parent=parent, agent=hosted.name, model=model, content=content)

    def around(self, app: App) -> App:
        """Wrap an application to read the W3C trace context of its requests."""
        propagator = TraceContextTextMapPropagator()

        async def traced(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            names = (b"traceparent", b"tracestate")
            carried = {name.decode(): value.decode("latin-1") for name, value in scope["headers"] if name in names}
            token = otel_context.attach(propagator.extract(carried))
            try:
                await app(scope, receive, send)
            finally:
                otel_context.detach(token)

        return traced

    def close(self) -> None:
        """Export the remaining spans."""
        self._provider.shutdown()


class TurnSpan:
    """Collects the data of one turn's span."""

    def __init__(
        self, tracer: Tracer, ask: CallerTurn, *, parent: Context, agent: str, model: str, content: bool
    ) -> None:
        self._tracer = tracer
        self._parent = parent
        self._agent = agent
        self._model = model
        self._ask = ask
        self._content = content
        self._began = time.time_ns()
        self._notes: list[tuple[Note, int]] = []

    def noted(self, note: Note) -> None:
        self._notes.append((note, time.time_ns()))

    def ended(self, done: TurnDone | None, error: BaseException | None) -> None:
        ended = time.time_ns()
        span = self._tracer.start_span(
            f"invoke_agent {self._agent}",
            self._parent,
            SpanKind.INTERNAL,
            self._attributes(done),
            start_time=self._began,
        )
        if error is not None and (done is None or not isinstance(error, GeneratorExit)):
            kind = type(error).__name__
            span.set_attribute("error.type", "cancelled" if kind in _CALLED_OFF else kind)
            if kind not in _CALLED_OFF:
                # The words of an error may repeat what was said.
                span.set_status(Status(StatusCode.ERROR, str(error) if self._content else None))
        below = set_span_in_context(span, self._parent)
        for note, at in self._notes:
            self._child(note, at, below)
        span.end(ended)

    def _child(self, note: Note, ended: int, below: Context) -> None:
        name, attributes = role_attributes(note, self._model, content=self._content)
        began = max(self._began, ended - round(note.seconds * 1e9))
        self._tracer.start_span(name, below, SpanKind.INTERNAL, attributes, start_time=began).end(ended)

    def _attributes(self, done: TurnDone | None) -> Attributes:
        attributes: Attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": PROVIDER,
            "gen_ai.agent.name": self._agent,
            # A client may name its dialogues as it likes: the name itself is theirs, its digest tells them apart.
            "gen_ai.conversation.id": self._ask.dialogue if self._content else _digest(self._ask.dialogue),
            "gen_ai.output.type": "text",
        }
        if self._model:
            attributes["gen_ai.request.model"] = self._model
        if self._content:
            attributes["gen_ai.input.messages"] = _messages("user", self._ask.text)
            attributes["input.value"] = self._ask.text  # by OpenInference, as Phoenix and Langfuse list it
        if done is not None:
            attributes["gen_ai.usage.input_tokens"] = done.usage.prompt_tokens
            attributes["gen_ai.usage.output_tokens"] = done.usage.completion_tokens
            attributes["gen_ai.response.finish_reasons"] = ("stop",)
            attributes["dragoman.confidence"] = done.reply.confidence
            attributes["dragoman.gate.retrieve"] = done.reply.verdict.retrieve
            attributes["dragoman.plan.sources"] = done.reply.plan.sources
            attributes["dragoman.evidence.count"] = len(done.reply.evidence)
            if self._content:
                attributes["gen_ai.output.messages"] = _messages("assistant", done.reply.text)
                attributes["output.value"] = done.reply.text
        return attributes


def role_attributes(note: Note, model: str, *, content: bool) -> tuple[str, Attributes]:
    """The name and attributes of a role's span: figures and configured names only."""
    attributes: Attributes = {"dragoman.role": note.role, "dragoman.component": note.component}
    name: str = note.role
    if not isinstance(note.value, Retrieval | Draft | Refinement):
        attributes["openinference.span.kind"] = "CHAIN"  # those have kinds by their operation
    match note.value:
        case Verdict() as verdict:
            attributes |= {"dragoman.gate.retrieve": verdict.retrieve, "dragoman.gate.probability": verdict.probability}
        case Plan() as plan:
            attributes["dragoman.plan.sources"] = plan.sources
        case Retrieval() as retrieval:
            sources = ",".join(retrieval.sources)
            name = f"retrieval {sources}"
            attributes |= {"gen_ai.operation.name": "retrieval", "gen_ai.data_source.id": sources}
            attributes["dragoman.evidence.count"] = len(retrieval.evidence)
            attributes["dragoman.warnings.count"] = len(retrieval.warnings)
            if retrieval.evidence:
                attributes["dragoman.relevance.max"] = max(piece.relevance for piece in retrieval.evidence)
            if content:
                if retrieval.query:
                    attributes["gen_ai.retrieval.query.text"] = retrieval.query
                pieces = [{"id": p.id, "score": p.relevance, "content": p.text} for p in retrieval.evidence]
                attributes["gen_ai.retrieval.documents"] = json.dumps(pieces, ensure_ascii=False)
        case Draft() as draft:
            name = f"chat {model}".rstrip() if draft.usage.calls else name
            attributes |= _draft(draft, model)
        case Refinement() as refinement:
            attributes["dragoman.refiner.replaced"] = len(refinement.replaced)
            attributes |= _draft(refinement.draft, model)
        case Learned() as learned:
            attributes["dragoman.memory.added"] = len(learned.added)
            attributes["dragoman.memory.superseded"] = len(learned.superseded)
            attributes["dragoman.memory.forgotten"] = len(learned.forgotten)
    return name, attributes


def _draft(draft: Draft, model: str) -> Attributes:
    attributes: Attributes = {"dragoman.confidence": draft.confidence, "dragoman.method": draft.method}
    if not draft.usage.calls:
        attributes["openinference.span.kind"] = "CHAIN"
    else:
        attributes |= {"gen_ai.operation.name": "chat", "gen_ai.provider.name": PROVIDER}
        attributes["gen_ai.usage.input_tokens"] = draft.usage.prompt_tokens
        attributes["gen_ai.usage.output_tokens"] = draft.usage.completion_tokens
        if model:
            attributes["gen_ai.request.model"] = model
    return attributes


def _messages(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}], ensure_ascii=False)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
