"""Turns as event streams, and the list of agents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from dragoman.server.data import source_search
from dragoman.server.data.user_data import check_dialogue
from dragoman.server.http import views
from dragoman.server.http.openai_chat import new_dialogue
from dragoman.server.http.resource_schemas import AgentList
from dragoman.server.http.schemas import TurnRequest
from dragoman.server.http.streams import EventStream, failed_event
from dragoman.server.routes.common import ONCE, Swift, Who, answer, request_id, responds_with, service_of
from dragoman.server.turns.events import Event
from dragoman.server.turns.turn_runner import CallerTurn

router = APIRouter(tags=["Turns"])
swift = APIRouter(tags=["Turns"], route_class=Swift)
_EVENTS = ("memory", "gate", "plan", "evidence", "refined", "text", "done", "error")
_STREAM: dict[str, Any] = {
    "text/event-stream": {
        "schema": {
            "type": "object",
            "description": "One event. `data` is JSON: a NoteView; of text {text}, of done a TurnView, of error a "
            "ProblemDetails.",
            "properties": {"event": {"enum": list(_EVENTS)}, "data": {"type": "string"}},
            "required": ["event", "data"],
        }
    }
}


@swift.post(
    "/v1/turns",
    operation_id="turn",
    response_class=Response,
    openapi_extra=ONCE,
    responses={200: {"description": "The turn as server-sent events", "content": _STREAM}},
)
async def turn(body: TurnRequest, request: Request, caller: Who) -> Response:
    """Send a message to an agent; streams its decisions and the text of the reply."""
    once = request_id(request)
    dialogue = body.dialogue or new_dialogue(once)
    check_dialogue(dialogue)
    ask = CallerTurn(body.text, body.agent, dialogue, request=once, control=body.control, model=body.model)
    run = await service_of(request).begin(caller, ask)
    return await EventStream(run, _encode, failed_event).begin(request.receive)


def _encode(event: Event) -> Iterator[bytes]:
    yield views.sse(event)


@router.get("/v1/agents", operation_id="agents", **responds_with(AgentList))
async def agents(request: Request, caller: Who) -> Response:
    """The agents with their greetings and sources, and the caller."""
    service = service_of(request)
    rows = [await service.do(caller, name, source_search.describe) for name in service.agents]
    who = {"tenant": caller.tenant, "user": caller.user, "admin": caller.admin, "key": caller.key}
    return answer(views.listing(rows, caller=who))
