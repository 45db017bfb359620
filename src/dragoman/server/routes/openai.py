"""OpenAI-compatible routes; agents are the models."""

from __future__ import annotations

import base64
import struct
from typing import Annotated

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from dragoman.core.errors import AbsentError
from dragoman.server.access.caller import Caller
from dragoman.server.data.file_objects import document_sources, sources_of
from dragoman.server.http.chat_parameters import named_as
from dragoman.server.http.openai_chat import ChatTurn
from dragoman.server.http.openai_responses import (
    CHAT_NAMES,
    ResponseTurn,
    check_input,
    pending_response,
    response_id,
    response_input,
    steps_of,
    turns_until,
)
from dragoman.server.http.reply_schemas import ChatCompletion, ResponseObject
from dragoman.server.http.resource_schemas import EmbeddingList, ModelList, ModelView
from dragoman.server.http.schemas import ChatRequest, EmbeddingsRequest, ResponsesRequest
from dragoman.server.http.streams import EVENTS
from dragoman.server.http.views import View
from dragoman.server.routes.chat_turns import begin_chat, reader_traits, route_options
from dragoman.server.routes.common import Swift, Who, answer, embedded, request_id, responds_with, service_of
from dragoman.server.service import Service
from dragoman.server.turns.events import TurnDone
from dragoman.server.turns.pending_responses import Owner, PendingResponse

router = APIRouter(tags=["OpenAI"])
swift = APIRouter(tags=["OpenAI"], route_class=Swift)


@swift.post(
    "/v1/chat/completions",
    operation_id="chat",
    **route_options(ChatCompletion, "The answer, whole or as chunks", EVENTS),
)
async def chat(body: ChatRequest, request: Request, caller: Who) -> Response:
    """Answer the last message. The field `dragoman` explains the reply; streams send it before and after the text."""
    service = service_of(request)
    talk = ChatTurn(body, caller, request_id(request), reader=reader_traits(service, body))
    begun = await begin_chat(service, caller, body, talk)
    return await begun.respond(request, talk, stream=bool(body.stream))


@swift.post(
    "/v1/responses",
    operation_id="respond",
    **route_options(ResponseObject, "The response, whole or as events", EVENTS),
)
async def respond(body: ResponsesRequest, request: Request, caller: Who) -> Response:
    """Answer the input; `previous_response_id` continues a dialogue from that response on."""
    service = service_of(request)
    check_input(body)
    owner = (service.hosted(body.model).name, caller.tenant, caller.user)
    before = await _before(service, caller, owner, body)
    response_request = response_input(body, list(before.messages))
    search = response_request.tools.search
    sources = None if search is None else await service.do(caller, body.model, sources_of, search.stores)
    with named_as(CHAT_NAMES):
        chat_request = response_request.chat_request(sources)
        traits = reader_traits(service, chat_request)
        response_request.check_calls(traits.why_no_tools)
        talk = ChatTurn(
            chat_request,
            caller,
            request_id(request),
            reader=traits,
            dialogue=before.dialogue,
            continues=not body.previous_response_id or bool(before.messages and before.messages[-1].get("tool_calls")),
        )

    def id_now() -> str:  # known once the turn has begun
        return response_id(talk.ask.dialogue, before.place or talk.place, steps_of(chat_request))

    def asking(done: TurnDone) -> None:
        pending = pending_response(chat_request, done, before.dialogue, before.place)
        service.pending_responses.put(owner, id_now(), pending)

    begun = await begin_chat(service, caller, chat_request, talk, asking=asking)
    documents = document_sources(service.hosted(body.model).assistant)
    response = ResponseTurn(body, talk, id_now(), search=search, documents=documents)
    return await begun.respond(request, response, stream=bool(body.stream))


async def _before(service: Service, caller: Caller, owner: Owner, body: ResponsesRequest) -> PendingResponse:
    """Return what precedes the input: messages, or their dialogue and the position of the reply."""
    if not body.previous_response_id:
        return PendingResponse(())
    pending = service.pending_responses.get(owner, body.previous_response_id)
    if pending is not None:
        return pending
    dialogue, earlier, is_end = await service.do(caller, body.model, turns_until, body.previous_response_id)
    return PendingResponse((), dialogue, len(earlier) + 1) if is_end else PendingResponse(tuple(earlier))


@router.post("/v1/completions", operation_id="completions", response_class=Response)
async def completions(request: Request, caller: Who) -> Response:
    """Refuse the old completions API: agents answer turns, and do not continue texts."""
    raise AbsentError(
        "Agents answer messages; they do not continue texts.",
        remedy="Use /v1/chat/completions or /v1/responses.",
        code="gone-api",
    )


@router.get("/v1/models", operation_id="models", **responds_with(ModelList))
async def models(request: Request, caller: Who) -> Response:
    """The agents, as models."""
    service = service_of(request)
    return answer({"object": "list", "data": [_model(service, name) for name in service.agents]})


@router.get("/v1/models/{model}", operation_id="model", **responds_with(ModelView))
async def model(model: Annotated[str, Path(max_length=200)], request: Request, caller: Who) -> Response:
    """One agent, as a model."""
    service = service_of(request)
    return answer(_model(service, service.hosted(model).name))


@router.post("/v1/embeddings", operation_id="embeddings", **responds_with(EmbeddingList))
async def embeddings(body: EmbeddingsRequest, request: Request, caller: Who) -> Response:
    """Encode texts as unit vectors with an agent's encoder. Counts as a turn."""
    service = service_of(request)
    texts = [body.input] if isinstance(body.input, str) else list(body.input)

    def view(vectors: list[list[float]]) -> View:
        words = sum(len(text.split()) for text in texts)
        rows = [
            {
                "object": "embedding",
                "index": index,
                "embedding": vector if body.encoding_format != "base64" else _packed(vector),
            }
            for index, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": words, "total_tokens": words}
        return {"object": "list", "data": rows, "model": body.model, "usage": usage}

    return await embedded(service, caller, body.model, texts, dimensions=body.dimensions, view=view)


def _packed(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode("ascii")


def _model(service: Service, name: str) -> View:
    return {"id": name, "object": "model", "created": 0, "owned_by": "dragoman"}
