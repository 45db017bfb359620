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
from dragoman.server.page.texts import Language, language_of, words
from dragoman.server.routes.common import AgentName, Pieces, Who, answer, answer_of, responds_with, service_of

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
    rows, more = await service_of(request).do(caller, agent, chats.summaries, limit=limit, before=before)
    return answer(views.listing(rows, more=more))


@router.get("/dialogues/{id}", operation_id="dialogue", **responds_with(DialogueView))
async def dialogue(
    id: Annotated[str, Path(min_length=1, max_length=200)], request: Request, caller: Who, agent: AgentName = ""
) -> Response:
    """The turns of a dialogue, the agent's with their explanations."""
    return await answer_of(service_of(request), caller, agent, _dialogue, id)


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
        page = await service.do(caller, agent, _html, id, language, lang)
        policy = {"content-security-policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'"}
        return Pieces(page, "text/html; charset=utf-8", policy)
    if format == "markdown":
        return Pieces(await service.do(caller, agent, _markdown, id, language), "text/markdown; charset=utf-8")
    return await answer_of(service, caller, agent, chats.export_json, id)


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
    return Pieces(await service_of(request).do(caller, agent, _lines), "application/x-ndjson")


def _dialogue(seat: Seat, id: str) -> views.View:
    return {"id": id, "turns": user_data.dialogue(seat, id)}


def _html(seat: Seat, id: str, language: Language, lang: str) -> list[bytes]:
    return views.text_pieces(shared_html(seat, id, words(language), lang=lang))


def _markdown(seat: Seat, id: str, language: Language) -> list[bytes]:
    labels = words(language)
    return views.text_pieces(chats.export_markdown(seat, id, you=labels["share.you"], fact=labels["why.fact"]))


def _lines(seat: Seat) -> list[bytes]:
    return [f"{line}\n".encode() for line in user_data.thumbs(seat)]
