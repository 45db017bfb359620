"""Chat turns for the APIs that share them: OpenAI's chat and responses, and Ollama's chat."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from starlette.responses import Response

from dragoman.server.data.chat_settings import keep_metadata
from dragoman.server.http.openai_chat import ReaderTraits
from dragoman.server.http.streams import EVENTS, LINES, EventStream, whole
from dragoman.server.http.views import View
from dragoman.server.routes.common import ONCE, answer, responds_with
from dragoman.server.turns.events import Event, TurnDone
from dragoman.server.turns.tool_reader import why_no_tools

if TYPE_CHECKING:
    from fastapi import Request
    from pydantic import BaseModel

    from dragoman.server.access.caller import Caller
    from dragoman.server.http.openai_chat import ChatTurn
    from dragoman.server.http.schemas import ChatRequest
    from dragoman.server.service import Service
    from dragoman.server.turns.turn_queue import RunningTurn


class ChatFormat(Protocol):
    """The format of an API's replies, as one object or as a stream."""

    @property
    def media_type(self) -> str: ...

    def whole(self, done: TurnDone) -> View:
        """The object of a finished turn."""
        ...

    def pieces(self, event: Event) -> Iterator[bytes]:
        """The parts of the stream that an event adds."""
        ...

    def failed(self, error: BaseException) -> bytes:
        """The last part of the stream of a turn that failed."""
        ...


def route_options(model: type[BaseModel], description: str, stream: str) -> dict[str, Any]:
    """Options of a route whose answer is a `model`, or a stream of the media type `stream`."""
    content = {stream: {"schema": _STREAMED[stream]}}
    return responds_with(model, description, content=content) | {"openapi_extra": ONCE}


_STREAMED: dict[str, dict[str, Any]] = {
    LINES: {"type": "object"},
    EVENTS: {
        "type": "object",
        "description": "One chunk; `data` is JSON, or [DONE].",
        "properties": {"data": {"type": "string"}},
        "required": ["data"],
    },
}


def reader_traits(service: Service, request: ChatRequest) -> ReaderTraits:
    """Return which parameters the agent's reader obeys, with the language model that the request chooses."""
    hosted = service.hosted(request.model)
    model = request.dragoman.model if request.dragoman else ""
    assistant = hosted.models.get(model, hosted.assistant)
    reader = assistant.agent.reader
    return ReaderTraits(
        bool(getattr(reader, "follows_instructions", False)),
        bool(getattr(reader, "takes_sampling", False)),
        why_no_tools(assistant),
    )


@dataclass(frozen=True, slots=True)
class BegunChat:
    """A chat turn that runs; `failed` restores the dialogue if the turn or its client fails."""

    run: RunningTurn
    failed: Callable[[], None]

    async def respond(self, request: Request, form: ChatFormat, *, stream: bool) -> Response:
        """The reply in an API's format, whole or streamed."""
        try:
            if stream:
                streamed = EventStream(
                    self.run, form.pieces, form.failed, closed=self.failed, media_type=form.media_type
                )
                return await streamed.begin(request.receive)
            done = await whole(self.run, request.receive)
        except BaseException:
            self.failed()
            raise
        return answer(form.whole(done))


async def begin_chat(
    service: Service,
    caller: Caller,
    request: ChatRequest,
    talk: ChatTurn,
    *,
    asking: Callable[[TurnDone], None] | None = None,
) -> BegunChat:
    """Find the dialogue of a turn and start it; `asking` is called if it ends by asking for calls of tools."""

    def failed() -> None:
        service.later(talk.restore)

    def ended(done: TurnDone) -> None:
        talk.ended(done)
        if done.calls and asking is not None and talk.ask.control.keep:
            asking(done)
        if (request.user or request.metadata) and not done.replayed and not done.calls and talk.ask.control.keep:
            seat = service.hosted(request.model).seat(caller)
            keep_metadata(seat, done.dialogue, user=request.user or "", metadata=request.metadata or {})

    if talk.repeats:
        await service.near_or_far(request.model, lambda: talk.find(service.ends))
    else:
        talk.find(service.ends)
    try:
        return BegunChat(await service.begin(caller, talk.ask, eager=bool(request.stream), after=ended), failed)
    except BaseException:
        failed()
        raise
