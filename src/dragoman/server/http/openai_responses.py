"""OpenAI's Responses API on top of chat turns.

The id of a response names its dialogue and place, so that `previous_response_id` needs no memory of its own: any server
of the agent's store can continue it. A caller can continue only their own dialogues.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.core.errors import AbsentError, InputError
from dragoman.core.trace import Retrieval
from dragoman.server.hosted_agent import Seat
from dragoman.server.http import views
from dragoman.server.http.caller_tools import call_views
from dragoman.server.http.chat_parameters import RESPONSE_PARAMETERS, checked_request, refused
from dragoman.server.http.openai_chat import ChatTurn
from dragoman.server.http.problems import absent, problem_of
from dragoman.server.http.response_tools import (
    FileSearch,
    ResponseTools,
    call_items,
    citations,
    message_of,
    response_tools,
    search_item,
)
from dragoman.server.http.schemas import ChatRequest, ResponsesRequest
from dragoman.server.http.streams import EVENTS
from dragoman.server.http.views import View, dumps
from dragoman.server.turns.events import Decided, Event, Text, TurnDone
from dragoman.server.turns.pending_responses import PendingResponse

_PREFIX = "resp_"
CHAT_NAMES = {"response_format": "text.format", "max_tokens": "max_output_tokens"}
"""Parameters of chat requests by the names that they have here."""
_REFUSED = ("background", "conversation", "prompt", "top_logprobs")
_PASSED_ON = ("user", "metadata", "temperature", "top_p", "stream")


def response_id(dialogue: str, place: int, step: int = 0) -> str:
    """The id of the reply at a place of a dialogue; `step` counts the calls of tools on the way to it."""
    parts = [dialogue, place, step] if step else [dialogue, place]
    name = base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")
    return f"{_PREFIX}{name}"


def parse_response_id(id: str) -> tuple[str, int]:
    """The dialogue and place of a response; a malformed id counts as unknown."""
    try:
        name = id.removeprefix(_PREFIX)
        dialogue, place, *_ = json.loads(base64.urlsafe_b64decode(name + "=" * (-len(name) % 4)))
        if not id.startswith(_PREFIX) or not isinstance(dialogue, str) or not isinstance(place, int):
            raise ValueError
    except (ValueError, TypeError, RecursionError):  # of base64, UTF-8 and JSON too
        raise absent("response") from None
    return dialogue, place


def turns_until(seat: Seat, id: str) -> tuple[str, list[View], bool]:
    """The dialogue of a response, its messages up to the response, and whether the dialogue ends there."""
    dialogue, place = parse_response_id(id)
    turns = seat.assistant.history(user=seat.user, dialogue=dialogue)
    if place == len(turns) + 1:
        raise AbsentError(
            "This response is not stored: it was private, or asked for a tool more than an hour ago.",
            remedy="Send the messages, the calls and their results with `input`.",
        )
    if not 0 < place < len(turns) or turns[place].speaker != "agent":
        raise absent("response")
    messages = [
        {"role": "user" if turn.speaker == "user" else "assistant", "content": turn.text} for turn in turns[: place + 1]
    ]
    return dialogue, messages, place == len(turns) - 1


@dataclass(frozen=True, slots=True)
class ResponseInput:
    """A request for a response as the chat API would have it, and its tools."""

    fields: Mapping[str, Any]
    tools: ResponseTools
    first_call: int | None = None
    """The place of the first item of the input that is a call, or the result of one."""

    def check_calls(self, why_not: str) -> None:
        """Raise an error if there are calls, and a reason why the agent cannot use tools."""
        if self.first_call is not None and why_not:
            raise refused(f"input.{self.first_call}", why_not)

    def chat_request(self, sources: Sequence[str] | None = None) -> ChatRequest:
        """The chat request; `sources` are those that a `file_search` names."""
        fields = dict(self.fields)
        extension = fields.get("dragoman")
        control = dict(extension) if isinstance(extension, dict) else {}
        if sources is not None:
            if control.get("sources") is not None:
                raise refused("tools", "Give `file_search` or `dragoman.sources`, not both.")
            control["sources"] = list(sources)
        if self.tools.retrieve is not None:
            control["retrieve"] = self.tools.retrieve
        return checked_request({**fields, **({"dragoman": control} if control else {})})


def response_input(request: ResponsesRequest, earlier: list[View]) -> ResponseInput:
    """Parse the input of a response; `earlier` are the messages before it."""
    fields: dict[str, Any] = dict(request.model_extra or {})
    for name in _REFUSED:
        if fields.pop(name, None):
            raise refused(name, RESPONSE_PARAMETERS[name].note)
    fields.pop("stream_options", None)  # without meaning for an agent, but with one in a chat request
    if request.text is not None and (verbosity := (request.text.model_extra or {}).get("verbosity")) is not None:
        fields["text.verbosity"] = verbosity
    tools = response_tools(fields)
    messages = list(earlier)
    items = [{"content": request.input}] if isinstance(request.input, str) else [i.model_dump() for i in request.input]
    for place, item in enumerate(items):
        message_of(place, item, messages)
    calls = [place for place, item in enumerate(items) if str(item.get("type")).startswith("function_call")]
    if request.instructions:
        messages.insert(0, {"role": "system", "content": request.instructions})
    for name in _PASSED_ON:
        if getattr(request, name) is not None:
            fields[name] = getattr(request, name)
    form = request.text.format if request.text else None
    if form is not None and form.get("type", "text") != "text":
        schema = {"name": str(form.get("name", "reply"))[:200], "schema": form.get("schema") or {}}
        fields["response_format"] = {"type": form["type"], "json_schema": schema}
    limits = {"max_tokens": request.max_output_tokens}
    fields = {**fields, **tools.fields, "model": request.model, "messages": messages, **limits}
    return ResponseInput(fields, tools, calls[0] if calls else None)


class ResponseTurn:
    """Writes the object or the events of one response."""

    media_type = EVENTS

    def __init__(
        self,
        request: ResponsesRequest,
        chat: ChatTurn,
        id: str,
        *,
        search: FileSearch | None = None,
        documents: frozenset[str] = frozenset(),
    ) -> None:
        """`documents` are the sources of documents, which a reply may cite and a `search` looks into."""
        self._request = request
        self._chat = chat
        self._search = search
        self._documents = documents
        self.id = id
        self._name = self.id.removeprefix(_PREFIX)
        self._item = f"msg_{self._name}"
        self._created = int(time.time())
        self._number = 0
        self._index = 0
        self._found: list[Retrieval] = []
        self._searched: View | None = None
        self._is_open = False

    def whole(self, done: TurnDone) -> View:
        """The finished response."""
        text, refusal = self._chat.content(done)
        usage = self._chat.usage(done, text or refusal or "")
        is_cut = self._chat.finish(done) == "length"
        return {
            **self._head("incomplete" if is_cut else "completed"),
            "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
            "output": self._output(done, is_cut=is_cut),
            "usage": {
                "input_tokens": usage["prompt_tokens"],
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": usage["completion_tokens"],
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": usage["total_tokens"],
            },
            "dragoman": self._chat.extension(done),
        }

    def _output(self, done: TurnDone, *, is_cut: bool) -> list[View]:
        """The items of the response: the search, if there was one, then the calls or the message."""
        if self._searched is None:
            self._found = [note.value for note in done.reply.trace if isinstance(note.value, Retrieval)]
        searched = self._searched or self._search_item()
        before = [searched] if searched else []
        if done.calls:
            return [*before, *call_items(done.calls, self._name)]
        text, refusal = self._chat.content(done)
        quoted = set(views.after(done)["quoted"])
        pieces = [piece for piece in done.reply.evidence if piece.id in quoted]
        cited = citations(self._agent, text or "", pieces, self._documents)
        return [*before, self._message(text, refusal, cited, status="incomplete" if is_cut else "completed")]

    @property
    def _agent(self) -> str:
        return self._chat.model

    def _search_item(self) -> View | None:
        if self._search is None or not any(self._documents & set(each.sources) for each in self._found):
            return None
        return search_item(
            f"fs_{self._name}",
            self._agent,
            self._search,
            self._found,
            question=self._chat.ask.text,
            documents=self._documents,
        )

    def pieces(self, event: Event) -> Iterator[bytes]:
        """The server-sent events that an event of the turn becomes."""
        if not self._number:
            for name in ("created", "in_progress"):
                yield self._event(f"response.{name}", response=self._head("in_progress"))
        match event:
            case Decided(note=note):
                if isinstance(note.value, Retrieval):
                    self._found.append(note.value)
            case Text(text):
                yield from self._open()
                yield from self._delta(self._chat.feed(text))
            case TurnDone():
                if event.calls:
                    yield from self._tell_search()
                else:
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
        if done.calls:
            for index, item in enumerate(response["output"][self._index :], start=self._index):
                yield from self._call(index, item)
        else:
            yield from self._end_message(response["output"][-1])
        yield self._event(f"response.{response['status']}", response=response)

    def _end_message(self, item: View) -> Iterator[bytes]:
        (part,) = item["content"]
        place = self._place
        for index, annotation in enumerate(part.get("annotations", ())):
            yield self._event(
                "response.output_text.annotation.added", **place, annotation_index=index, annotation=annotation
            )
        if part["type"] == "refusal":
            yield self._event("response.refusal.done", **place, refusal=part["refusal"])
        else:
            yield self._event("response.output_text.done", **place, text=part["text"], logprobs=[])
        yield self._event("response.content_part.done", **place, part=part)
        yield self._event("response.output_item.done", output_index=self._index, item=item)

    def _call(self, index: int, item: View) -> Iterator[bytes]:
        place = {"item_id": item["id"], "output_index": index}
        begun = {**item, "arguments": "", "status": "in_progress"}
        yield self._event("response.output_item.added", output_index=index, item=begun)
        yield self._event("response.function_call_arguments.delta", **place, delta=item["arguments"])
        yield self._event(
            "response.function_call_arguments.done", **place, name=item["name"], arguments=item["arguments"]
        )
        yield self._event("response.output_item.done", output_index=index, item=item)

    def _tell_search(self) -> Iterator[bytes]:
        """Send the events of the search after it, since only then is it known whether one was made."""
        item = self._search_item() if self._searched is None else None
        if item is None:
            return
        self._searched = item
        place = {"item_id": item["id"], "output_index": self._index}
        begun = {**item, "status": "in_progress", "queries": [], "results": None}
        yield self._event("response.output_item.added", output_index=self._index, item=begun)
        for state in ("in_progress", "searching", "completed"):
            yield self._event(f"response.file_search_call.{state}", **place)
        yield self._event("response.output_item.done", output_index=self._index, item=item)
        self._index += 1

    @property
    def _place(self) -> View:
        return {"item_id": self._item, "output_index": self._index, "content_index": 0}

    def _open(self) -> Iterator[bytes]:
        if not self._is_open:
            self._is_open = True
            yield from self._tell_search()
            item = {**self._message("", None, (), status="in_progress"), "content": []}
            yield self._event("response.output_item.added", output_index=self._index, item=item)
            part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
            yield self._event("response.content_part.added", **self._place, part=part)

    def _delta(self, piece: str) -> Iterator[bytes]:
        if piece:
            yield self._event("response.output_text.delta", **self._place, delta=piece, logprobs=[])

    def _head(self, status: str) -> View:
        request = self._request
        extra = request.model_extra or {}
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
            "parallel_tool_calls": extra.get("parallel_tool_calls") is not False,
            "previous_response_id": request.previous_response_id,
            "temperature": request.temperature,
            "text": {"format": (request.text and request.text.format) or {"type": "text"}},
            "tool_choice": extra.get("tool_choice") or "auto",
            "tools": extra.get("tools") or [],
            "top_p": request.top_p,
            "truncation": "disabled",
            "usage": None,
            "user": request.user,
            "metadata": dict(request.metadata or {}),
        }

    def _message(self, text: str | None, refusal: str | None, cited: Sequence[View], *, status: str) -> View:
        part: View = {"type": "output_text", "text": text or "", "annotations": list(cited), "logprobs": []}
        if refusal is not None:
            part = {"type": "refusal", "refusal": refusal}
        return {"type": "message", "id": self._item, "status": status, "role": "assistant", "content": [part]}

    def _event(self, name: str, /, **members: object) -> bytes:
        body = {"type": name, "sequence_number": self._number, **members}
        self._number += 1
        return b"event: " + name.encode() + b"\ndata: " + dumps(body) + b"\n\n"


def steps_of(request: ChatRequest) -> int:
    """How often tools were called since the user's last message."""
    calls = 0
    for message in request.messages:
        calls = 0 if message.role == "user" else calls + bool(message.tool_calls)
    return calls


def pending_response(request: ChatRequest, done: TurnDone, dialogue: str, place: int) -> PendingResponse:
    """A response that asked for calls, to be continued with their results; instructions do not go on."""
    spoken = [message for message in request.messages if message.role not in ("system", "developer")]
    messages = [message.model_dump(mode="json", exclude_none=True) for message in spoken]
    called = {"role": "assistant", "content": None, "tool_calls": call_views(done.calls)}
    return PendingResponse((*messages, called), dialogue, place)


def check_input(request: ResponsesRequest) -> None:
    """Raise an error for an empty input."""
    if isinstance(request.input, str) and not request.input.strip():
        raise InputError("The input is empty.", remedy="Send a message.")
