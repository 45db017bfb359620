"""Ollama's chat API on top of chat turns, so that its clients see agents as models."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from dragoman.server.http.chat_parameters import checked_request, refused
from dragoman.server.http.ollama_schemas import OllamaChatRequest, OllamaMessage
from dragoman.server.http.openai_chat import ChatTurn
from dragoman.server.http.problems import problem_of
from dragoman.server.http.schemas import ChatRequest
from dragoman.server.http.streams import LINES
from dragoman.server.http.views import View, dumps
from dragoman.server.turns.events import Decided, Event, Text, TurnDone

LATEST = ":latest"


def agent_name(model: str) -> str:
    """The agent that a model name means: Ollama's clients add a tag."""
    return model.removesuffix(LATEST)


def chat_request(request: OllamaChatRequest) -> ChatRequest:
    """The chat request that a request of Ollama's API stands for."""
    extra = request.model_extra or {}
    options = request.options
    given: dict[str, Any] = {
        "model": agent_name(request.model),
        "messages": [_message(place, message) for place, message in enumerate(request.messages)],
        "tools": extra.get("tools"),
        "stream": request.stream,
    }
    if options is not None:
        predict = options.num_predict
        given["max_tokens"] = predict if predict is not None and predict > 0 else None
        given["stop"] = options.stop
        given["temperature"], given["seed"] = options.temperature, options.seed
    if request.format == "json":
        given["response_format"] = {"type": "json_object"}
    elif isinstance(request.format, dict):
        given["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "schema": request.format}}
    return checked_request(given)


def _message(place: int, message: OllamaMessage) -> View:
    extra = message.model_extra or {}
    if extra.get("images"):
        raise refused(f"messages.{place}.images", "Messages are text only.")
    return {**extra, "role": message.role, "content": message.content}


class OllamaTurn:
    """Writes the object or the lines of one reply."""

    media_type = LINES

    def __init__(self, request: OllamaChatRequest, chat: ChatTurn) -> None:
        self._model = request.model
        self._chat = chat

    def whole(self, done: TurnDone) -> View:
        """The finished reply."""
        return self._reply(done)

    def _reply(self, done: TurnDone, *, text: str | None = None) -> View:
        """The finished reply; in a stream its text was sent before."""
        content, refusal = self._chat.content(done)
        usage = self._chat.usage(done, content or refusal or "")
        return {
            **self._line(content or refusal or "" if text is None else text, done=True),
            "done_reason": self._chat.finish(done),
            "total_duration": int(done.seconds * 1e9),
            "prompt_eval_count": usage["prompt_tokens"],
            "eval_count": usage["completion_tokens"],
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
                yield dumps(self._reply(event, text="")) + b"\n"

    def failed(self, error: BaseException) -> bytes:
        """The error line of a stream."""
        return dumps({"error": problem_of(error).view(ollama=True)["error"]}) + b"\n"

    def _line(self, text: str, *, done: bool) -> View:
        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        return {
            "model": self._model,
            "created_at": now,
            "message": {"role": "assistant", "content": text},
            "done": done,
        }
