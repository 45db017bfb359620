"""What an agent knows about the user: see it, add to it, correct it, take it along, make it forget."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from dragoman.server.data import user_data
from dragoman.server.http import views
from dragoman.server.http.schemas import ExportView, FactList, FactRequest, LearnedView, RemovedView
from dragoman.server.routes.common import AgentName, Who, answer, service_of, told

router = APIRouter(prefix="/v1/memory", tags=["Memory"])
FactId = Annotated[str, Path(min_length=1, max_length=200)]


@router.get("", operation_id="facts", response_class=Response, responses={200: told(FactList)})
async def facts(
    request: Request,
    caller: Who,
    agent: AgentName = "",
    query: Annotated[str | None, Query(min_length=1, max_length=2000, description="Only what fits this.")] = None,
) -> Response:
    """What is remembered about the user, and from which words."""
    return answer(views.listing(await service_of(request).do(caller, agent, user_data.facts, query)))


@router.post("", operation_id="remember", response_class=Response, responses={200: told(LearnedView)})
async def remember(body: FactRequest, request: Request, caller: Who, agent: AgentName = "") -> Response:
    """Remember a fact; a newer one takes the place of what it contradicts. It counts as a turn."""
    service = service_of(request)
    await service.admit(caller)
    return answer(await service.do(caller, agent, user_data.remember, body.text))


@router.delete("", operation_id="forget_me", response_class=Response, responses={200: told(RemovedView)})
async def forget_me(
    request: Request,
    caller: Who,
    everything: Annotated[Literal["true"], Query(description="Say so: all of the user's facts, dialogues and files.")],
    agent: AgentName = "",
) -> Response:
    """Forget everything of the user: no byte of it is left in any file. Turns that run are ended."""
    return answer({"removed": await service_of(request).forget_everything(caller, agent)})


@router.get("/export", operation_id="export", response_class=Response, responses={200: told(ExportView)})
async def export(request: Request, caller: Who, agent: AgentName = "") -> Response:
    """All that is kept about the user."""
    return answer(await service_of(request).do(caller, agent, user_data.export))


@router.put("/{id}", operation_id="correct", response_class=Response, responses={200: told(LearnedView)})
async def correct(id: FactId, body: FactRequest, request: Request, caller: Who, agent: AgentName = "") -> Response:
    """Put another fact in the place of one. It counts as a turn; turns that run are ended."""
    service = service_of(request)
    await service.admit(caller)
    return answer(await service.forgetting(caller, agent, user_data.correct, id, body.text))


@router.delete("/{id}", operation_id="forget", response_class=Response, responses={200: told(RemovedView)})
async def forget(id: FactId, request: Request, caller: Who, agent: AgentName = "") -> Response:
    """Forget one fact, with the turns that tell of it. Turns that run are ended."""
    return answer({"removed": await service_of(request).forgetting(caller, agent, user_data.forget, id)})
