"""OpenAI's Responses API on top of chat turns.

The id of a response names its dialogue and place, so that `previous_response_id` needs no memory of its own: any server
of the agent's store can continue it. What a caller may continue is looked up among the caller's own dialogues.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from typing import Any

from dragoman.core.errors import InputError
from dragoman.server.hosted_agent import Seat
from dragoman.server.http.chat_parameters import checked_request, refused
from dragoman.server.http.openai_chat import ChatTurn
from dragoman.server.http.problems import absent, problem_of
from dragoman.server.http.schemas import ChatRequest, InputItem, ResponsesRequest
from dragoman.server.http.streams import EVENTS
from dragoman.server.http.views import View, dumps
from dragoman.server.turns.events import Decided, Event, Text, TurnDone

_PREFIX = "resp_"
_REFUSED = {
    "background": "Turns run while the request is open.",
    "conversation": "Use `previous_response_id`.",
    "prompt": "There are no stored prompts.",
    "include": "The field `dragoman` says everything about a reply.",
}
_PASSED_ON = ("user", "metadata", "temperature", "top_p", "stream")


def response_id(dialogue: str, place: int) -> str:
    """The id of the reply at a place of a dialogue."""
    name = base64.urlsafe_b64encode(json.dumps([dialogue, place]).encode()).decode().rstrip("=")
    return f"{_PREFIX}{name}"


def parse_response_id(id: str) -> tuple[str, int]:
    """The dialogue and place of a response; an id that is none is unknown."""
    try:
        name = id.removeprefix(_PREFIX)
        dialogue, place = json.loads(base64.urlsafe_b64decode(name + "=" * (-len(name) % 4)))
        if not id.startswith(_PREFIX) or not isinstance(dialogue, str) or not isinstance(place, int):
            raise ValueError
    except ValueError:  # of base64, UTF-8 and JSON too
        raise absent("response") from None
    return dialogue, place


def turns_until(seat: Seat, id: str) -> tuple[str, list[View], bool]:
    """The dialogue of a response, its messages up to the response, and whether the dialogue ends there."""
    dialogue, place = parse_response_id(id)
    turns = seat.assistant.history(user=seat.user, dialogue=dialogue)
    if not 0 < place < len(turns) or turns[place].speaker != "agent":
        raise absent("response")
    messages = [
        {"role": "user" if turn.speaker == "user" else "assistant", "content": turn.text} for turn in turns[: place + 1]
    ]
    return dialogue, messages, place == len(turns) - 1


def chat_request(request: ResponsesRequest, earlier: list[View]) -> ChatRequest:
    """The chat request that a request for a response stands for; `earlier` are the messages before it."""
    given: dict[str, Any] = dict(request.model_extra or {})
    for name, note in _REFUSED.items():
        if given.pop(name, None):
            raise refused(name, note)
    for name in ("max_tool_calls", "truncation", "reasoning", "context_management"):
        given.pop(name, None)  # without meaning for an agent
    items = [InputItem(content=request.input)] if isinstance(request.input, str) else request.input
    for place, item in enumerate(items):
        if item.type != "message":
            raise refused(f"input.{place}", f"Items of the type '{item.type[:40]}' are not understood; send messages.")
    messages = [*earlier, *(item.model_dump(include={"role", "content"}) for item in items)]
    if request.instructions:
        messages.insert(0, {"role": "system", "content": request.instructions})
    for name in _PASSED_ON:
        if getattr(request, name) is not None:
            given[name] = getattr(request, name)
    form = request.text.format if request.text else None
    if form is not None and form.get("type", "text") != "text":
        schema = {"name": str(form.get("name", "reply"))[:200], "schema": form.get("schema") or {}}
        given["response_format"] = {"type": form["type"], "json_schema": schema}
    return checked_request(
        {**given, "model": request.model, "messages": messages, "max_tokens": request.max_output_tokens}
    )


class ResponseTurn:
    """Writes the object or the events of one response."""

    media_type = EVENTS

    def __init__(self, request: ResponsesRequest, chat: ChatTurn, place: int) -> None:
        self._request = request
        self._chat = chat
        self.id = response_id(chat.ask.dialogue, place)
        self._item = f"msg_{self.id.removeprefix(_PREFIX)}"
        self._created = int(time.time())
        self._number = 0
        self._is_open = False
        self._sent = ""

    def whole(self, done: TurnDone) -> View:
        """The finished response."""
        text, refusal = self._chat.content(done)
        usage = self._chat.usage(done, text or refusal or "")
        is_cut = self._chat.finish(done) == "length"
        return {
            **self._head("incomplete" if is_cut else "completed"),
            "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
            "output": [self._message(text, refusal, status="incomplete" if is_cut else "completed")],
            "usage": {
                "input_tokens": usage["prompt_tokens"],
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": usage["completion_tokens"],
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": usage["total_tokens"],
            },
            "dragoman": self._chat.extension(done),
        }

    def pieces(self, event: Event) -> Iterator[bytes]:
        """The server-sent events that an event of the turn becomes."""
        if not self._number:
            for name in ("created", "in_progress"):
                yield self._event(f"response.{name}", response=self._head("in_progress"))
        match event:
            case Decided():
                return
            case Text(text):
                yield from self._open()
                yield from self._delta(self._chat.feed(text))
            case TurnDone():
                yield from self._open()
                yield from self._delta(self._chat.close(event))
                yield from self._end(event)

    def failed(self, error: BaseException) -> bytes:
        """The error event of the stream."""
        problem = problem_of(error).view(openai=True)["error"]
        body = {name: problem[name] for name in ("code", "message", "param")}
        return self._event("error", **body)

    def _end(self, done: TurnDone) -> Iterator[bytes]:
        response = self.whole(done)
        (item,) = response["output"]
        (part,) = item["content"]
        place = {"item_id": self._item, "output_index": 0, "content_index": 0}
        if part["type"] == "refusal":
            yield self._event("response.refusal.done", **place, refusal=part["refusal"])
        else:
            yield self._event("response.output_text.done", **place, text=part["text"], logprobs=[])
        yield self._event("response.content_part.done", **place, part=part)
        yield self._event("response.output_item.done", output_index=0, item=item)
        yield self._event(f"response.{response['status']}", response=response)

    def _open(self) -> Iterator[bytes]:
        if not self._is_open:
            self._is_open = True
            item = {**self._message("", None, status="in_progress"), "content": []}
            yield self._event("response.output_item.added", output_index=0, item=item)
            part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
            yield self._event(
                "response.content_part.added", item_id=self._item, output_index=0, content_index=0, part=part
            )

    def _delta(self, piece: str) -> Iterator[bytes]:
        if piece:
            yield self._event(
                "response.output_text.delta",
                item_id=self._item,
                output_index=0,
                content_index=0,
                delta=piece,
                logprobs=[],
            )

    def _head(self, status: str) -> View:
        request = self._request
        return {
            "id": self.id,
            "object": "response",
            "created_at": self._created,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": request.instructions,
            "max_output_tokens": request.max_output_tokens,
            "model": request.model,
            "output": [],
            "parallel_tool_calls": False,
            "previous_response_id": request.previous_response_id,
            "temperature": request.temperature,
            "text": {"format": (request.text and request.text.format) or {"type": "text"}},
            "tool_choice": "none",
            "tools": [],
            "top_p": request.top_p,
            "truncation": "disabled",
            "usage": None,
            "user": request.user,
            "metadata": dict(request.metadata or {}),
        }

    def _message(self, text: str | None, refusal: str | None, *, status: str) -> View:
        part: View = {"type": "output_text", "text": text or "", "annotations": [], "logprobs": []}
        if refusal is not None:
            part = {"type": "refusal", "refusal": refusal}
        return {"type": "message", "id": self._item, "status": status, "role": "assistant", "content": [part]}

    def _event(self, name: str, **members: object) -> bytes:
        body = {"type": name, "sequence_number": self._number, **members}
        self._number += 1
        return b"event: " + name.encode() + b"\ndata: " + dumps(body) + b"\n\n"


def check_input(request: ResponsesRequest) -> None:
    """Raise an error for an empty input."""
    if isinstance(request.input, str) and not request.input.strip():
        raise InputError("The input is empty.", remedy="Send a message.")
