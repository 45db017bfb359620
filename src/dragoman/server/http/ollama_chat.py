"""Ollama's chat API on top of chat turns, so that its clients see agents as models."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from dragoman.server.http.chat_parameters import checked_request, refused
from dragoman.server.http.ollama_schemas import (
    OllamaChatRequest,
    OllamaGenerateRequest,
    OllamaMessage,
    OllamaToolCall,
)
from dragoman.server.http.openai_chat import ChatTurn
from dragoman.server.http.problems import problem_of
from dragoman.server.http.schemas import ChatRequest
from dragoman.server.http.streams import LINES
from dragoman.server.http.views import View, dumps
from dragoman.server.turns.events import Decided, Event, Text, TurnDone

LATEST = ":latest"
CHAT_NAMES = {
    "response_format": "format",
    "max_tokens": "options.num_predict",
    "stop": "options.stop",
    "temperature": "options.temperature",
    "seed": "options.seed",
}
"""Parameters of chat requests by the names that they have here."""
_REFUSED = {
    "images": "Messages are text only.",
    "suffix": "Agents answer messages; they do not fill gaps in texts.",
    "raw": "The agent's configuration has the prompts.",
    "template": "The agent's configuration has the prompts.",
    "context": "Use /api/chat, and send the earlier messages.",
}
_WRITING = ("reader", "refiner")


def agent_name(model: str) -> str:
    """The agent that a model name means: Ollama's clients add a tag."""
    return model.removesuffix(LATEST)


def chat_request(request: OllamaChatRequest | OllamaGenerateRequest) -> ChatRequest:
    """Convert a request of Ollama's API into a chat request."""
    extra = dict(request.model_extra or {})
    for name, note in _REFUSED.items():
        if extra.pop(name, None):
            raise refused(name, note)
    fields: dict[str, Any] = {
        **extra,
        "model": agent_name(request.model),
        "messages": _messages(request),
        "stream": request.stream,
        "dragoman": request.dragoman,
    }
    if (options := request.options) is not None:
        predict = options.num_predict
        fields["max_tokens"] = predict if predict is not None and predict > 0 else None
        fields["stop"] = options.stop
        fields["temperature"], fields["seed"] = options.temperature, options.seed
        fields["dragoman"] = request.dragoman or options.dragoman
        fields |= {f"options.{name}": value for name, value in (options.model_extra or {}).items()}
    if request.format == "json":
        fields["response_format"] = {"type": "json_object"}
    elif isinstance(request.format, dict):
        fields["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "schema": request.format}}
    return checked_request(fields)


def _messages(request: OllamaChatRequest | OllamaGenerateRequest) -> list[View]:
    if isinstance(request, OllamaChatRequest):
        ids = _CallIds()
        return [_message(place, message, ids) for place, message in enumerate(request.messages)]
    system = [{"role": "system", "content": request.system}] if request.system else []
    return [*system, {"role": "user", "content": request.prompt}]


class _CallIds:
    """Ids of calls, which not every client sends: results belong to the calls in their order."""

    def __init__(self) -> None:
        self._count = 0
        self._waiting: list[str] = []

    def called(self, calls: Sequence[OllamaToolCall]) -> list[View]:
        self._waiting = []
        views: list[View] = []
        for call in calls:
            self._count += 1
            call_id = call.id or f"call_{self._count}"
            self._waiting.append(call_id)
            arguments = dumps(call.function.arguments).decode()
            views.append({"id": call_id, "function": {"name": call.function.name, "arguments": arguments}})
        return views

    def answered(self, id: str | None) -> str | None:
        if id is None and self._waiting:
            return self._waiting.pop(0)
        if id in self._waiting:
            self._waiting.remove(id)
        return id


def _message(place: int, message: OllamaMessage, ids: _CallIds) -> View:
    extra = message.model_extra or {}
    if extra.get("images"):
        raise refused(f"messages.{place}.images", "Messages are text only.")
    row: View = {"role": message.role, "content": message.content}
    if message.tool_calls:
        row["tool_calls"] = ids.called(message.tool_calls)
    if message.role == "tool":
        row["tool_call_id"] = ids.answered(message.tool_call_id)
    return row


class OllamaTurn:
    """Writes the object or the lines of one reply."""

    media_type = LINES

    def __init__(self, request: OllamaChatRequest | OllamaGenerateRequest, chat: ChatTurn) -> None:
        self._model = request.model
        self._is_chat = isinstance(request, OllamaChatRequest)
        self._chat = chat

    def whole(self, done: TurnDone) -> View:
        """The finished reply."""
        return self._reply(done)

    def _reply(self, done: TurnDone, *, text: str | None = None) -> View:
        """The finished reply; in a stream its text was sent before."""
        content, refusal = self._chat.content(done)
        usage = self._chat.usage(done, content or refusal or "")
        line = self._line(content or refusal or "" if text is None else text, done=True)
        if done.calls and text is None:
            line["message"]["tool_calls"] = _calls(done)
        return {
            **line,
            "done_reason": "stop" if done.calls else self._chat.finish(done),
            "total_duration": _nanoseconds(done.seconds),
            "load_duration": 0,
            "prompt_eval_count": usage["prompt_tokens"],
            "prompt_eval_duration": _nanoseconds(
                sum(note.seconds for note in done.reply.trace if note.role not in _WRITING)
            ),
            "eval_count": usage["completion_tokens"],
            "eval_duration": _nanoseconds(sum(note.seconds for note in done.reply.trace if note.role in _WRITING)),
            "dragoman": self._chat.extension(done),
        }

    def pieces(self, event: Event) -> Iterator[bytes]:
        """The lines that an event adds to the stream."""
        match event:
            case Decided():
                return
            case Text(text):
                if piece := self._chat.feed(text):
                    yield dumps(self._line(piece, done=False)) + b"\n"
            case TurnDone():
                rest = self._chat.close(event) or self._chat.content(event)[1] or ""
                if rest:
                    yield dumps(self._line(rest, done=False)) + b"\n"
                if event.calls:
                    line = self._line("", done=False)
                    line["message"]["tool_calls"] = _calls(event)
                    yield dumps(line) + b"\n"
                yield dumps(self._reply(event, text="")) + b"\n"

    def failed(self, error: BaseException) -> bytes:
        """The error line of a stream."""
        return dumps({"error": problem_of(error).view(ollama=True)["error"]}) + b"\n"

    def _line(self, text: str, *, done: bool) -> View:
        return reply_line(self._model, text, is_chat=self._is_chat, done=done)


def reply_line(model: str, text: str, *, is_chat: bool, done: bool) -> View:
    """Return the fields that every object of a reply has."""
    now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    body: View = {"message": {"role": "assistant", "content": text}} if is_chat else {"response": text}
    return {"model": model, "created_at": now, **body, "done": done}


def _calls(done: TurnDone) -> list[View]:
    """Calls as Ollama shows them: with arguments as an object."""
    calls = []
    for call in done.calls:
        try:
            arguments = json.loads(call.arguments)
        except (ValueError, RecursionError):
            arguments = None
        arguments = arguments if isinstance(arguments, dict) else {}
        calls.append({"id": call.id, "function": {"name": call.name, "arguments": arguments}})
    return calls


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1e9)
