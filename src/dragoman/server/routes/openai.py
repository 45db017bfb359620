"""OpenAI-compatible routes; agents are the models."""

from __future__ import annotations

import base64
import struct
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from dragoman.server.data import chats, source_search
from dragoman.server.http.openai_chat import ChatTurn
from dragoman.server.http.schemas import (
    ChatCompletion,
    ChatRequest,
    EmbeddingList,
    EmbeddingsRequest,
    ModelList,
    ModelView,
)
from dragoman.server.http.streams import EventStream, failed_chunk, whole
from dragoman.server.http.views import View
from dragoman.server.routes.common import ONCE, Swift, Who, answer, request_id, service_of, told
from dragoman.server.service import Service
from dragoman.server.turns.events import TurnDone

router = APIRouter(tags=["OpenAI"])
swift = APIRouter(tags=["OpenAI"], route_class=Swift)
_STREAM: dict[str, Any] = {
    "text/event-stream": {
        "schema": {
            "type": "object",
            "description": "One chunk; `data` is JSON, or [DONE].",
            "properties": {"data": {"type": "string"}},
            "required": ["data"],
        }
    }
}


@swift.post(
    "/v1/chat/completions",
    operation_id="chat",
    response_class=Response,
    openapi_extra=ONCE,
    responses={200: {**told(ChatCompletion, "The answer, whole or as chunks"), "content": _STREAM}},
)
async def chat(body: ChatRequest, request: Request, caller: Who) -> Response:
    """Answer the last message. The field `dragoman` explains the reply; streams send it before and after the text."""
    service = service_of(request)
    reader = service.hosted(body.model).assistant.agent.reader
    follows = bool(getattr(reader, "follows_instructions", False))
    talk = ChatTurn(body, caller, request_id(request), follows_instructions=follows)

    def failed() -> None:
        service.later(talk.failed)

    def ended(done: TurnDone) -> None:
        talk.ended(done)
        if (body.user or body.metadata) and not done.replayed:
            seat = service.hosted(body.model).seat(caller)
            chats.keep_metadata(seat, done.dialogue, user=body.user or "", metadata=body.metadata or {})

    if talk.repeats:
        await service.near_or_far(body.model, lambda: talk.find(service.ends))
    else:
        talk.find(service.ends)
    try:
        run = await service.begin(caller, talk.ask, eager=bool(body.stream), after=ended)
        if body.stream:
            return await EventStream(run, talk.chunks, failed_chunk, closed=failed).begin(request.receive)
        done = await whole(run, request.receive)
    except BaseException:
        failed()
        raise
    return answer(talk.completion(done))


@router.get("/v1/models", operation_id="models", response_class=Response, responses={200: told(ModelList)})
async def models(request: Request, caller: Who) -> Response:
    """The agents, as models."""
    service = service_of(request)
    return answer({"object": "list", "data": [_model(service, name) for name in service.agents]})


@router.get("/v1/models/{model}", operation_id="model", response_class=Response, responses={200: told(ModelView)})
async def model(model: Annotated[str, Path(max_length=200)], request: Request, caller: Who) -> Response:
    """One agent, as a model."""
    service = service_of(request)
    return answer(_model(service, service.hosted(model).name))


@router.post("/v1/embeddings", operation_id="embeddings", response_class=Response, responses={200: told(EmbeddingList)})
async def embeddings(body: EmbeddingsRequest, request: Request, caller: Who) -> Response:
    """Encode texts as unit vectors with an agent's encoder. Counts as a turn."""
    service = service_of(request)
    texts = [body.input] if isinstance(body.input, str) else list(body.input)
    await service.admit(caller)
    vectors = await service.do(caller, body.model, source_search.embed, texts)
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
    return answer({"object": "list", "data": rows, "model": body.model, "usage": usage})


def _packed(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode("ascii")


def _model(service: Service, name: str) -> View:
    return {"id": name, "object": "model", "created": 0, "owned_by": "dragoman"}
