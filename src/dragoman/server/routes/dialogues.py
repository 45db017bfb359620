"""Dialogues with their traces, and feedback on replies."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from dragoman.server.data import chats, user_data
from dragoman.server.hosted_agent import Seat
from dragoman.server.http import views
from dragoman.server.http.resource_schemas import ChatExport, DialogueList, DialogueView, RemovedView
from dragoman.server.http.schemas import DialogueChange, FeedbackRequest
from dragoman.server.page.reply.shared_file import shared_html
from dragoman.server.page.texts import language_of, words
from dragoman.server.routes.common import AgentName, Who, answer, responds_with, service_of

router = APIRouter(prefix="/v1", tags=["Dialogues"])
_LINES = {"application/x-ndjson": {"schema": {"type": "string"}}}


@router.get("/dialogues", operation_id="dialogues", **responds_with(DialogueList))
async def dialogues(
    request: Request,
    caller: Who,
    agent: AgentName = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[str | None, Query(min_length=1, max_length=200, description="Older than this one.")] = None,
) -> Response:
    """The user's dialogues, newest first."""
    rows, more = await service_of(request).do(caller, agent, user_data.dialogues, limit=limit, before=before)
    return answer(views.listing(rows, more=more))


@router.get("/dialogues/{id}", operation_id="dialogue", **responds_with(DialogueView))
async def dialogue(
    id: Annotated[str, Path(min_length=1, max_length=200)], request: Request, caller: Who, agent: AgentName = ""
) -> Response:
    """The turns of a dialogue, the agent's with their explanations."""
    return answer({"id": id, "turns": await service_of(request).do(caller, agent, user_data.dialogue, id)})


@router.get(
    "/dialogues/{id}/export",
    operation_id="export_dialogue",
    **responds_with(
        ChatExport, content={kind: {"schema": {"type": "string"}} for kind in ("text/markdown", "text/html")}
    ),
)
async def export_dialogue(
    id: Annotated[str, Path(min_length=1, max_length=200)],
    request: Request,
    caller: Who,
    agent: AgentName = "",
    format: Annotated[Literal["json", "markdown", "html"], Query(description="The form of the file.")] = "json",
) -> Response:
    """A dialogue as a file: JSON with title, settings and explanations, or Markdown with its citations.

    HTML is a page to share: without scripts, with the cited passages and dates. The labels of Markdown and HTML are in
    the language of `Accept-Language`.
    """
    service = service_of(request)
    language = language_of(request.headers.get("accept-language", ""))
    if format == "html":
        lang = "zh-CN" if language == "zh" else "en"
        page = await service.do(caller, agent, shared_html, id, words(language), lang=lang)
        headers = {
            "cache-control": "no-store",
            "content-security-policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
        }
        return Response(page, headers=headers, media_type="text/html; charset=utf-8")
    if format == "markdown":
        labels = words(language)
        text = await service.do(
            caller, agent, chats.export_markdown, id, you=labels["share.you"], fact=labels["why.fact"]
        )
        return Response(text, headers={"cache-control": "no-store"}, media_type="text/markdown; charset=utf-8")
    return answer(await service.do(caller, agent, chats.export_json, id))


@router.patch("/dialogues/{id}", operation_id="change_dialogue", status_code=204, response_class=Response)
async def change_dialogue(
    id: Annotated[str, Path(min_length=1, max_length=200)],
    body: DialogueChange,
    request: Request,
    caller: Who,
    agent: AgentName = "",
) -> Response:
    """Rename a dialogue, pin it or unpin it. An empty title brings its first words back."""
    service = service_of(request)
    if body.title is not None:
        await service.do(caller, agent, chats.rename, id, body.title)
    if body.pinned is not None:
        await service.do(caller, agent, chats.pin, id, pinned=body.pinned)
    return Response(status_code=204)


@router.delete("/dialogues/{id}", operation_id="forget_dialogue", **responds_with(RemovedView))
async def forget_dialogue(
    id: Annotated[str, Path(min_length=1, max_length=200)], request: Request, caller: Who, agent: AgentName = ""
) -> Response:
    """Delete a dialogue: its turns, traces and thumbs. Its running turn is cancelled; facts learned from it stay."""
    return answer({"removed": await service_of(request).forget_dialogue(caller, agent, id)})


@router.post("/feedback", operation_id="rate", status_code=204, response_class=Response)
async def rate(body: FeedbackRequest, request: Request, caller: Who, agent: AgentName = "") -> Response:
    """Rate a reply with a thumb and, optionally, a better answer, or say whether it needed a search.

    Replaces an earlier rating of the same kind. Both are labels for training a gate.
    """
    service = service_of(request)
    hosted = service.hosted(agent)
    async with service.alone(hosted.name, caller.tenant, caller.user):
        await service.do(
            caller,
            agent,
            user_data.rate,
            body.dialogue,
            body.thumb,
            turn=body.turn,
            better=body.better,
            needed=body.needed,
        )
    return Response(status_code=204)


@router.get(
    "/feedback",
    operation_id="feedback",
    response_class=Response,
    responses={200: {"description": "Lines that `dragoman label thumbs FILE` reads", "content": _LINES}},
)
async def feedback(request: Request, caller: Who, agent: AgentName = "") -> Response:
    """The user's thumbs as training data for gates and readers, one JSON object per line."""
    lines = await service_of(request).do(caller, agent, _lines)
    return Response("".join(f"{line}\n" for line in lines), media_type="application/x-ndjson")


def _lines(seat: Seat) -> list[str]:
    return list(user_data.thumbs(seat))
